/** Copies that keep nothing else in memory, of what is small and held for long beside what it came with. */

/** What Node makes of its pool keeps 64 KB, which others share, for as long as it is held itself. */
export function ownCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** A part of a text keeps the whole text. */
export function ownText(part: string): string {
  return Buffer.from(part).toString();
}
