/** Names as the real controllers make them: web-5d69f7b5c4-x2v7k. */
import type { Random } from "../../../runtime/random.ts";

/** Without vowels and what looks like them, so that no word comes out. */
const letters = "bcdfghjklmnpqrstvwxz2456789";

export function randomSuffix(random: Random, length = 5): string {
  return Array.from({ length }, () => letters[random.int(letters.length)]).join("");
}

/** The same value gives the same short text: a hash of 32 bits, written in those letters. */
export function hashText(value: unknown): string {
  return Array.from(String(fnv1a(canonical(value))), (digit) => letters[digit.charCodeAt(0) % letters.length]).join("");
}

/** The order of fields says nothing. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
