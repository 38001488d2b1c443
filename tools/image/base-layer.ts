/** The lowest layer of our image: Debian's packages unpacked, with the little that installing them would have written. */
import { globSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { DebianRoot } from "./debian.ts";
import type { Entry } from "./tar.ts";

/** Manual pages and translations. Each package's licence stays. */
const leftOut =
  /^usr\/share\/(doc\/.*(?<!\/copyright)$|man\/|info\/|locale\/|lintian\/|bug\/|doc-base\/|debconf\/|bash-completion\/|menu\/)|^var\/(cache|log|mail|local|backups)\b/;

/** Debian's packages may still put things into both of each pair; files are found under either name. */
const merged = ["bin", "sbin", "lib", "lib64"];

/** The user of the program. */
export const user = { id: 65532, name: "akash", home: "/home/akash" } as const;

export function baseLayer({ folder, packages }: DebianRoot): Entry[] {
  const entries = new Map<string, Entry>();
  const put = (entry: Entry) => entries.set(entry.path, entry);
  for (const path of pathsBelow(folder)) {
    const entry = entryOf(folder, path);
    if (entry && !leftOut.test(entry.path)) put(entry);
  }
  for (const name of merged) {
    if ([...entries.keys()].some((path) => path.startsWith(`usr/${name}/`))) put({ path: name, link: `usr/${name}` });
  }
  for (const link of ["awk", "nawk"]) put({ path: `usr/bin/${link}`, link: "mawk" });
  if (!entries.has("usr/bin/sh")) put({ path: "usr/bin/sh", link: "dash" });
  put({ path: "etc/passwd", content: passwd });
  put({ path: "etc/group", content: group });
  put({ path: "etc/nsswitch.conf", content: "passwd: files\ngroup: files\nhosts: files dns\n" });
  put({ path: "etc/ssl/certs/ca-certificates.crt", content: authorities(folder) });
  for (const path of ["tmp/", "var/tmp/"]) put({ path, folder: true, mode: 0o1777 });
  put({ path: `${user.home.slice(1)}/`, folder: true, mode: 0o777 });
  // Where scanners look for what is in an image that was put together without dpkg.
  for (const [name, control] of packages) put({ path: `var/lib/dpkg/status.d/${name}`, content: control });
  return withFolders([...entries.values()]);
}

const passwd = `root:x:0:0:root:/root:/bin/bash
${user.name}:x:${user.id}:${user.id}:${user.name}:${user.home}:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
`;
const group = `root:x:0:\n${user.name}:x:${user.id}:\nnogroup:x:65534:\n`;

/** The output of update-ca-certificates, which installing the package would create. */
function authorities(folder: string): string {
  const files = globSync("usr/share/ca-certificates/**/*.crt", { cwd: folder }).sort();
  if (files.length === 0) throw new Error(`${folder} has no certificate authorities`);
  return files
    .map((path) => readFileSync(join(folder, path), "utf8").trimEnd())
    .join("\n")
    .concat("\n");
}

/** Links are not followed, as globs and Node's own recursion do: those of packages lead into this machine. */
function pathsBelow(folder: string, path = ""): string[] {
  const names = readdirSync(join(folder, path), { withFileTypes: true });
  return names
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const inner = path === "" ? entry.name : `${path}/${entry.name}`;
      return [inner, ...(entry.isDirectory() ? pathsBelow(folder, inner) : [])];
    });
}

function entryOf(folder: string, path: string): Entry | undefined {
  const from = join(folder, path);
  const found = lstatSync(from);
  const [top = "", ...rest] = path.split("/");
  if (merged.includes(top) && rest.length === 0) return undefined;
  const at = merged.includes(top) ? `usr/${path}` : path;
  // No process changes its user in there.
  const mode = found.mode & 0o1777;
  if (found.isSymbolicLink()) return { path: at, link: linkOf(path, readlinkSync(from)) };
  return found.isDirectory() ? { path: `${at}/`, folder: true, mode } : { path: at, from, mode };
}

/** A link that goes up from a folder that now lies one deeper. */
function linkOf(path: string, target: string): string {
  return merged.includes(path.split("/")[0] ?? "") && target.startsWith("../../usr/")
    ? target.replace("../../usr/", "../../")
    : target;
}

/** A folder has to come before what is in it. */
export function withFolders(entries: readonly Entry[]): Entry[] {
  const folders = new Map(entries.filter(({ folder }) => folder).map((entry) => [entry.path, entry]));
  const others = entries.filter(({ folder }) => !folder);
  for (const { path } of entries) {
    for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1)) {
      const folder = path.slice(0, end + 1);
      if (!folders.has(folder)) folders.set(folder, { path: folder, folder: true });
    }
  }
  return [...[...folders.keys()].sort().flatMap((path) => folders.get(path) ?? []), ...others];
}
