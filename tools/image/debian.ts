/**
 * A root folder out of Debian's packages, without installing anything: apt works out what they need and fetches it, with
 * lists and archives of our own, so that it takes neither root nor Docker and leaves this machine as it is. What was
 * fetched and unpacked is kept outside of the checkout; from then on nothing is needed from outside.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";

export const imageCache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "akash-provider-image");

/** Price scripts use the first six. The rest is what a shell is of no use without, and what Node is linked to. */
const wanted = [
  ...["bash", "bc", "curl", "ca-certificates", "jq", "mawk"],
  ...["base-files", "coreutils", "dash", "findutils", "grep", "libstdc++6", "sed", "tar", "tini"],
];

/** Package management itself, which a container does not need: apt takes these as installed. */
const leftOut = ["debconf", "dpkg"];

export interface DebianRoot {
  readonly folder: string;
  /** The control file of each package, by its name. */
  readonly packages: ReadonlyMap<string, string>;
}

/** With `refresh` the package lists are downloaded; without it the cached lists are used, if there are any. */
export function debianRoot(options: { readonly refresh: boolean; say(line: string): void }): DebianRoot {
  for (const folder of ["lists/partial", "archives/partial", "roots"])
    mkdirSync(join(imageCache, folder), { recursive: true });
  writeFileSync(join(imageCache, "status"), leftOut.map(installed).join(""));
  updateLists(options);
  const archives = archiveNames();
  if (!archives.every((path) => existsSync(path))) {
    options.say("fetching Debian packages");
    apt("install", "--download-only", "--yes", ...wanted);
  }
  return unpacked(archives);
}

function updateLists({ refresh, say }: { readonly refresh: boolean; say(line: string): void }): void {
  const areKnown = () => globSync("lists/*Packages*", { cwd: imageCache }).length > 0;
  if (areKnown() && !refresh) return;
  try {
    apt("update", "--error-on=any");
  } catch (error) {
    // A failed source may be unrelated; whether the packages are available is checked next.
    if (!areKnown()) throw error;
    say("not every package source could be updated; cached lists are used");
  }
}

/** Where apt keeps the archives of all that is needed, in the order of their names. */
function archiveNames(): string[] {
  const planned = apt("install", "--simulate", ...wanted);
  const lines = [...planned.matchAll(/^Inst (\S+) \((\S+) .*\[(\S+)\]\)/gm)];
  if (lines.length < wanted.length) throw new Error(`apt-get does not say what it would install:\n${planned}`);
  return lines
    .map(([, name, version = "", architecture]) => `${name}_${version.replaceAll(":", "%3a")}_${architecture}.deb`)
    .sort()
    .map((name) => join(imageCache, "archives", name));
}

function unpacked(archives: readonly string[]): DebianRoot {
  const hash = createHash("sha256");
  for (const path of archives) hash.update(`${basename(path)}\n`).update(readFileSync(path));
  const folder = join(imageCache, "roots", hash.digest("hex").slice(0, 16));
  if (!existsSync(folder)) {
    const unfinished = mkdtempSync(join(imageCache, "roots/unfinished-"));
    try {
      for (const path of archives) run("dpkg-deb", "--extract", path, unfinished);
      renameSync(unfinished, folder);
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
  }
  const packages = archives.map(
    (path) => [basename(path).split("_")[0] ?? "", run("dpkg-deb", "--field", path)] as const,
  );
  return { folder, packages: new Map(packages) };
}

function apt(...args: string[]): string {
  const places = { "Dir::State": "", "Dir::State::lists": "lists/", "Dir::State::status": "status", "Dir::Cache": "" };
  const settings = [
    ...Object.entries(places).map(([name, path]) => `${name}=${join(imageCache, path)}`),
    // Only its own user may read the folder otherwise, and apt warns of it.
    "APT::Sandbox::User=",
    "APT::Install-Recommends=false",
    "Acquire::Languages=none",
  ];
  return run("apt-get", "--quiet=2", ...settings.flatMap((setting) => ["--option", setting]), ...args);
}

function run(program: string, ...args: string[]): string {
  try {
    return execFileSync(program, args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, LC_ALL: "C" },
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      throw new Error(`${program} is not there: the image is built on Debian, from its packages`);
    const { stderr = "" } = error as { stderr?: string };
    throw new Error(`${program} ${args[0]} failed: ${stderr.trim()}`, { cause: error });
  }
}

function installed(name: string): string {
  return `Package: ${name}\nStatus: install ok installed\nArchitecture: all\nMulti-Arch: foreign\nVersion: 99\nMaintainer: none\nDescription: left out\n\n`;
}
