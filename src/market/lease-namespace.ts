/** The Kubernetes namespace in which a lease's workload runs: the network's own way, so that others find it. */
import { createHash } from "node:crypto";
import { type BidId, formatOrderId } from "./ids.ts";

const alphabet = "0123456789abcdefghijklmnopqrstuv";

/** Every object of a lease asks for it, more than once. */
const known = new WeakMap<BidId, string>();

export function leaseNamespace(lease: BidId): string {
  const name = known.get(lease) ?? hashedName(lease);
  known.set(lease, name);
  return name;
}

function hashedName(lease: BidId): string {
  // The bid's own number is no part of it.
  return base32Hex(
    createHash("sha224")
      .update(`${formatOrderId(lease)}/${lease.provider}`)
      .digest(),
  );
}

/** Base 32 with the "extended hex" alphabet in lower case and without padding. */
export function base32Hex(bytes: Uint8Array): string {
  let bits = 0n;
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte);
  const digits = Math.ceil((bytes.length * 8) / 5);
  bits <<= BigInt(digits * 5 - bytes.length * 8);
  return Array.from({ length: digits }, (_, n) => alphabet[Number((bits >> BigInt((digits - 1 - n) * 5)) & 31n)]).join(
    "",
  );
}
