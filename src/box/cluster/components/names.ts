/** Names as the real controllers make them: web-5d69f7b5c4-x2v7k. */
import { createHash } from "node:crypto";
import type { Random } from "../../../runtime/random.ts";

/** Without vowels and similar characters, so that no words appear, as in Kubernetes' rand.SafeEncodeString. */
const letters = "bcdfghjklmnpqrstvwxz2456789";

export function randomSuffix(random: Random, length = 5): string {
  return Array.from({ length }, () => letters[random.int(letters.length)]).join("");
}

/** The same value gives the same short text, whatever the order of its fields. */
export function hashText(value: unknown): string {
  const canonical = JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
  const bytes = createHash("sha256").update(canonical).digest().subarray(0, 10);
  return Array.from(bytes, (byte) => letters[byte % letters.length]).join("");
}
