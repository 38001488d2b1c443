/** Checks whether this machine can run the lab; every message names a fix. */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs the lab calls, with the Debian package that brings each. */
const packages: Record<string, string> = {
  "apt-get": "apt",
  "dpkg-deb": "dpkg",
  containerd: "containerd",
  ctr: "containerd",
  runc: "runc",
  ip: "iproute2",
  nft: "nftables",
  busybox: "busybox-static",
  openssl: "openssl",
  "redis-server": "redis-server",
};

/** Debian's folder first, then the one most other installers use. */
const cniFolders = ["/usr/lib/cni", "/opt/cni/bin"];

export function findCniPlugins(): string | undefined {
  return cniFolders.find((folder) => existsSync(join(folder, "ptp")) && existsSync(join(folder, "host-local")));
}

/** A shell that is not root's own may lack the sbin folders, where half of these live. */
export const programFolders: readonly string[] = [
  ...(process.env["PATH"] ?? "").split(delimiter),
  ...["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/go/bin"],
];

export function findProgram(name: string): string | undefined {
  return programFolders.map((folder) => join(folder, name)).find(isExecutable);
}

export function needProgram(name: string): string {
  const path = findProgram(name);
  if (!path) throw new Error(`${name} is not installed (Debian package ${packages[name] ?? name})`);
  return path;
}

/** Empty when the lab can run. */
export function obstacles(allIsBuilt: boolean): string[] {
  if (process.platform !== "linux") return ["the lab needs Linux: it runs containers"];
  const found: string[] = [];
  if (process.getuid?.() !== 0) found.push("the lab needs root: it makes network links, mounts and cgroups");
  const missing = new Set<string>();
  for (const [program, name] of Object.entries(packages)) if (!findProgram(program)) missing.add(name);
  if (!findCniPlugins()) missing.add("containernetworking-plugins");
  if (missing.size > 0) {
    found.push(`Debian packages are missing: apt-get install --no-install-recommends ${[...missing].sort().join(" ")}`);
  }
  if (!allIsBuilt && !goCanBuild()) {
    found.push(
      "the lab's programs are not built yet, and there is no Go 1.21 or newer: install it from https://go.dev/dl",
    );
  }
  return found;
}

/** From 1.21 on, Go fetches by itself the version that go.mod requires. */
function goCanBuild(): boolean {
  const go = findProgram("go");
  if (!go) return false;
  const [, minor = "0"] = /go1\.(\d+)/.exec(spawnSync(go, ["version"], { encoding: "utf8" }).stdout) ?? [];
  return Number(minor) >= 21;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch (error) {
    // Not there, not ours to run, or below something that is no folder: all mean "look further".
    if (["ENOENT", "EACCES", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}
