/**
 * The key of the next page as Akash's own lists hand it out. It holds the filters too: which states are still to be
 * listed, and along which path. A checksum guards it, since the client gives it back as it likes.
 */
import { crc32 } from "node:zlib";
import { invalidArgument } from "./refusals.ts";

export interface PageKey {
  readonly states: Uint8Array;
  readonly prefix: Uint8Array;
  readonly key: Uint8Array;
  /** Empty for lists that have one path only. */
  readonly path: Uint8Array;
}

const checksumBytes = 4;

export function encodePageKey({ states, prefix, key, path }: PageKey): Uint8Array {
  const parts = path.length > 0 ? [states, prefix, key, path] : [states, prefix, key];
  const data = Buffer.concat(parts.flatMap((part) => [Buffer.from([part.length]), part]));
  const checksum = Buffer.alloc(checksumBytes);
  checksum.writeUInt32BE(crc32(data));
  return Buffer.concat([checksum, data]);
}

export function decodePageKey(bytes: Uint8Array): PageKey {
  const all = Buffer.from(bytes);
  if (all.length <= checksumBytes) throw refuse("invalid key length");
  let rest = all.subarray(checksumBytes);
  if (all.readUInt32BE() !== crc32(rest)) throw refuse("invalid checksum");
  const take = () => {
    const length = rest[0] ?? 0;
    if (rest.length < 1 + length) throw refuse("invalid state length");
    const part = rest.subarray(1, 1 + length);
    rest = rest.subarray(1 + length);
    return part;
  };
  const [states, prefix, key] = [take(), take(), take()];
  return { states, prefix, key, path: rest.length > 0 ? take() : new Uint8Array() };
}

function refuse(reason: string) {
  return invalidArgument(`pagination: invalid key: ${reason}`);
}
