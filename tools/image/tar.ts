/** Writes tar archives (ustar), the same bytes for the same entries: an image's name is the hash of them. Reads them, too. */
import { readFileSync } from "node:fs";

export interface Entry {
  readonly path: string;
  readonly mode?: number;
  readonly content?: Buffer | string;
  /** The content is that of this file. It is read when its turn comes, so that a large archive takes little memory. */
  readonly from?: string;
  /** Makes the entry a symbolic link to this path. */
  readonly link?: string;
  readonly folder?: boolean;
}

const blockBytes = 512;
const nameBytes = 100;
const prefixBytes = 155;

export function* tar(entries: Iterable<Entry>): Generator<Buffer> {
  for (const entry of entries) {
    const content = entry.from === undefined ? Buffer.from(entry.content ?? "") : readFileSync(entry.from);
    yield header(entry, content.length);
    yield content;
    yield Buffer.alloc(-content.length & (blockBytes - 1));
  }
  yield Buffer.alloc(2 * blockBytes);
}

/** The files of an archive, without its folders and links. */
export function* untar(archive: Buffer): Generator<{ readonly path: string; readonly content: Buffer }> {
  // Two empty blocks end it.
  for (let at = 0; archive[at]; ) {
    const field = (offset: number, bytes: number) => {
      const text = archive.toString("utf8", at + offset, at + offset + bytes);
      return text.split("\0", 1)[0] ?? "";
    };
    const start = at + blockBytes;
    const end = start + Number.parseInt(field(124, 12), 8);
    const path = [field(345, prefixBytes), field(0, nameBytes)].filter((part) => part !== "").join("/");
    if (field(156, 1) === "0") yield { path, content: archive.subarray(start, end) };
    at = end + (-end & (blockBytes - 1));
  }
}

function header(entry: Entry, sizeBytes: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, "0")}\0`;
  const kind = entry.link !== undefined ? "2" : entry.folder ? "5" : "0";
  const [prefix, name] = split(entry.path);
  block.write(name, 0);
  block.write(octal(entry.mode ?? (entry.folder ? 0o755 : 0o644), 8), 100);
  block.write(octal(0, 8), 108); // owner: root
  block.write(octal(0, 8), 116); // group: root
  block.write(octal(sizeBytes, 12), 124);
  block.write(octal(0, 12), 136); // no time, or the bytes would differ each time
  block.write(" ".repeat(8), 148); // the checksum counts itself as spaces
  block.write(kind, 156);
  block.write(entry.link ?? "", 157);
  block.write("ustar\x0000", 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** A long path is kept in two fields, parted at a slash that is in neither. */
function split(path: string): [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= nameBytes) return ["", path];
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    const fits = Buffer.byteLength(prefix) <= prefixBytes && Buffer.byteLength(name) <= nameBytes;
    if (fits && name !== "") return [prefix, name];
  }
  throw new Error(`${path} is too long for a plain tar entry`);
}
