/** Writes tar archives (ustar), the same bytes for the same entries: an image's name is the hash of them. */

export interface Entry {
  readonly path: string;
  readonly mode?: number;
  readonly content?: Buffer | string;
  /** Makes the entry a symbolic link to this path. */
  readonly link?: string;
  readonly folder?: boolean;
}

const blockBytes = 512;

export function tar(entries: readonly Entry[]): Buffer {
  const blocks: Buffer[] = [];
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? "");
    blocks.push(header(entry, content.length), content, Buffer.alloc(-content.length & (blockBytes - 1)));
  }
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]);
}

function header(entry: Entry, sizeBytes: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  if (Buffer.byteLength(entry.path) > 100) throw new Error(`${entry.path} is too long for a plain tar entry`);
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, "0")}\0`;
  const kind = entry.link !== undefined ? "2" : entry.folder ? "5" : "0";
  block.write(entry.path, 0);
  block.write(octal(entry.mode ?? (entry.folder ? 0o755 : 0o644), 8), 100);
  block.write(octal(0, 8), 108); // owner: root
  block.write(octal(0, 8), 116); // group: root
  block.write(octal(sizeBytes, 12), 124);
  block.write(octal(0, 12), 136); // no time, or the bytes would differ each time
  block.write(" ".repeat(8), 148); // the checksum counts itself as spaces
  block.write(kind, 156);
  block.write(entry.link ?? "", 157);
  block.write("ustar\x0000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}
