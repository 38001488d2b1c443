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
  let text = "";
  /** Bits that are not written yet, and how many. */
  let [held, count] = [0, 0];
  for (const byte of bytes) {
    held = (held << 8) | byte;
    count += 8;
    for (; count >= 5; count -= 5) text += alphabet[(held >> (count - 5)) & 31];
    held &= (1 << count) - 1;
  }
  return count > 0 ? text + alphabet[(held << (5 - count)) & 31] : text;
}
