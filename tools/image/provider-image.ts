/**
 * What our own image holds: a small Debian with what price scripts call, Node, the packages that production needs, and our
 * program. The same sources, packages and Debian packages give the same image, byte for byte.
 */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { baseLayer, user, withFolders } from "./base-layer.ts";
import { debianRoot } from "./debian.ts";
import type { Image } from "./image.ts";
import { strippedFiles } from "./stripped.ts";
import type { Entry } from "./tar.ts";

const root = join(import.meta.dirname, "../..");
const node = join(root, "node_modules/node/bin/node");

export interface ProviderImageOptions {
  readonly name: string;
  /** Whether to download newer package lists from Debian. */
  readonly refresh: boolean;
  say(line: string): void;
}

/** Rarely changed layers come first: registries and nodes cache layers. */
export function providerImage({ name, ...debian }: ProviderImageOptions): Image {
  // Maps for debuggers are half of the packages' size and not needed in there.
  const packages = productionPackages().flatMap((folder) => below(folder).filter((path) => !path.endsWith(".map")));
  const inApp = (path: string) => fileOf(join(root, path), `app/${path}`);
  const program: Entry[] = [
    ...ourFiles().map(inApp),
    ...strippedFiles({ root, node, app: "app" }),
    { path: "usr/bin/akash-provider", link: "/app/bin/akash-provider" },
  ];
  return {
    name,
    // As PID 1 Node would not reap zombies of price scripts.
    entrypoint: ["/usr/bin/tini", "--", "/app/bin/akash-provider"],
    user: `${user.id}:${user.id}`,
    environment: { PATH: "/usr/sbin:/usr/bin", HOME: user.home },
    layers: [
      baseLayer(debianRoot(debian)),
      withFolders([fileOf(node, "usr/bin/node")]),
      withFolders(packages.map(inApp)),
      withFolders(program),
    ],
  };
}

function ourFiles(): string[] {
  const sources = below("src").filter((path) => !path.endsWith(".test.ts"));
  return ["package.json", "LICENSE", ...below("bin"), ...below("deploy"), ...sources];
}

/** Relative to the checkout. Packages inside packages are listed on their own. */
function below(folder: string): string[] {
  return globSync(`${folder}/**/*`, { cwd: root, exclude: (path) => path === `${folder}/node_modules` })
    .filter((path) => statSync(join(root, path)).isFile())
    .sort();
}

/** The lock file knows which packages only development needs, and may name some of other platforms. */
function productionPackages(): string[] {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path.startsWith("node_modules/") && !dev && existsSync(join(root, path)))
    .map(([path]) => path);
}

function fileOf(from: string, path: string): Entry {
  // Independent of the builder's user and umask: in a pod every user may read it, and none write.
  return { path, from, mode: statSync(from).mode & 0o100 ? 0o755 : 0o644 };
}
