/** Merkle roots as CometBFT computes them (RFC 6962): of transactions, results, commits and the fields of a header. */
import { hash } from "node:crypto";

const leafPrefix = Uint8Array.of(0);
const innerPrefix = Uint8Array.of(1);

export function sha256(...chunks: Uint8Array[]): Buffer {
  return hash("sha256", chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks), "buffer");
}

export function merkleRoot(leaves: readonly Uint8Array[]): Buffer {
  const [first] = leaves;
  if (!first) return sha256(Buffer.alloc(0));
  if (leaves.length === 1) return sha256(leafPrefix, first);
  const half = 2 ** Math.floor(Math.log2(leaves.length - 1));
  return sha256(innerPrefix, merkleRoot(leaves.slice(0, half)), merkleRoot(leaves.slice(half)));
}

/** The way hashes are written everywhere on the wire. */
export function upperHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex").toUpperCase();
}

export function fromHex(text: string): Buffer {
  return Buffer.from(text, "hex");
}
