/**
 * Our sources without their types, in the form in which src/cli/start.js looks for them: without it every pod would strip
 * them anew, in memory that it never gives back. Node keeps machine code beside them, which differs each time it is made
 * and stays out for that; and it writes down where a source was, which has to be where it will be.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { imageCache } from "./debian.ts";
import type { Entry } from "./tar.ts";

const keptIn = "node_modules/.cache/akash-provider";
/** The checkout's own files that take part in it. */
const taken = ["src", "bin", "package.json", "tools/compile.js"];

interface Stripping {
  readonly root: string;
  readonly node: string;
  /** Where the tree will be, from the image's root. */
  readonly app: string;
}

/** Done once for each version of the sources. */
export function strippedFiles({ root, node, app }: Stripping): Entry[] {
  const hash = createHash("sha256").update(readFileSync(node));
  const files = globSync(
    taken.flatMap((name) => [name, `${name}/**/*`]),
    { cwd: root },
  );
  for (const path of files.filter((path) => statSync(join(root, path)).isFile()).sort()) {
    hash.update(`${path}\n`).update(readFileSync(join(root, path)));
  }
  const folder = join(imageCache, "stripped", hash.digest("hex").slice(0, 16));
  if (!existsSync(folder)) strip({ root, node, app }, folder);
  return globSync("*/*", { cwd: folder })
    .sort()
    .map((path) => ({ path: `${app}/${keptIn}/${path}`, from: join(folder, path) }));
}

/** In a tree of its own: the checkout keeps what was stripped of every version there ever was. */
function strip({ root, node, app }: Stripping, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  const stage = mkdtempSync(join(imageCache, "stripped/unfinished-"));
  try {
    for (const path of taken) cpSync(join(root, path), join(stage, path), { recursive: true });
    mkdirSync(join(stage, "node_modules"));
    for (const name of readdirSync(join(root, "node_modules")).filter((name) => !name.startsWith("."))) {
      symlinkSync(join(root, "node_modules", name), join(stage, "node_modules", name));
    }
    const env = { ...process.env, PATH: [dirname(node), process.env["PATH"]].join(delimiter) };
    spawnSync(node, [join(stage, "tools/compile.js")], { env, stdio: "ignore" });
    for (const path of globSync(`${keptIn}/*/*`, { cwd: stage })) {
      const moved = movedTo(readFileSync(join(stage, path)), `file://${stage}/`, `file:///${app}/`);
      if (moved) writeFileSync(join(stage, path), moved);
      else rmSync(join(stage, path));
    }
    if (globSync(`${keptIn}/*/*`, { cwd: stage }).length === 0) throw new Error("Node has kept no stripped sources");
    renameSync(join(stage, keptIn), target);
  } finally {
    rmSync(stage, { recursive: true });
  }
}

/** Node's header is five numbers: a magic one, the size of the source, the size and (last) the checksum of what follows. */
const headerBytes = 20;
const [sizeAt, checksumAt] = [8, 16];

/** Undefined of machine code: behind the header stands V8's own magic number. */
function movedTo(kept: Buffer, from: string, to: string): Buffer | undefined {
  const content = kept.subarray(headerBytes);
  if (content.length > 4 && content.readUInt16LE(2) === 0xc0de) return undefined;
  const end = Buffer.from(`\n//# sourceURL=${from}`);
  const at = content.lastIndexOf(end);
  if (at < 0)
    throw new Error("Node does not say any more where a source was; look at how it keeps what it has stripped");
  const path = content.subarray(at + end.length);
  const moved = Buffer.concat([content.subarray(0, at), Buffer.from(`\n//# sourceURL=${to}`), path]);
  const header = Buffer.from(kept.subarray(0, headerBytes));
  header.writeUInt32LE(moved.length, sizeAt);
  header.writeUInt32LE(crc32(moved), checksumAt);
  return Buffer.concat([header, moved]);
}
