/**
 * Whose certificates a block may have changed. The chain tells of these in no event of their own, and of a message that somebody
 * sends for somebody else in none at all. But however deep a message is wrapped, its name and its owner's address stand in
 * the bytes of its transaction as text. Accounts that are named beside them are taken along: to look once too often does no harm.
 */
import type { Clock } from "../../runtime/clock.ts";
/** Characters of a large answer that are parsed between two breaths of the event loop: about 3 ms. */
export const rpcSliceChars = 256 * 1024;

const messages = "/akash.cert.";
const addresses = /akash1[02-9ac-hj-np-z]{38,}/gi;
/** Of 20 bytes and of 32; text of another field may follow without a gap. */
const addressChars = [44, 64];

/** Of transactions that took effect, in base64. */
export async function certificateOwners(txs: readonly string[], clock: Clock): Promise<ReadonlySet<string>> {
  const owners = new Set<string>();
  let chars = 0;
  for (const base64 of txs) {
    const bytes = Buffer.from(base64, "base64");
    if (bytes.includes(messages)) for (const owner of namedIn(bytes)) owners.add(owner);
    chars += base64.length;
    if (chars < rpcSliceChars) continue;
    chars = 0;
    await clock.yield();
  }
  return owners;
}

function namedIn(bytes: Buffer): string[] {
  const found = bytes.toString("latin1").match(addresses) ?? [];
  return found.flatMap((text) => addressChars.map((length) => text.slice(0, length).toLowerCase()));
}
