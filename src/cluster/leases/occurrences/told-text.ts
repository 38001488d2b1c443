/** What components of the cluster say about a tenant's workload, made fit to be kept and shown: the tenant has a say in it. */
import { createRedactor } from "../../../runtime/redact.ts";

/** What would move a cursor, break a line or turn the text around. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]+/gu;
/** Of an address, what a registry signs for whoever may read there. */
const query = /(https?:\/\/[^\s?"'<>]{1,512})\?[^\s"'<>]+/g;
/** Passwords in addresses, keys and tokens, by their looks. */
const { text: withoutSecrets } = createRedactor();

/** Of at most so many characters, on one line. */
export function toldText(text: string, mostChars: number): string {
  // A secret that crosses the cut would no longer look like one.
  const clean = withoutSecrets(
    text
      .slice(0, 4 * mostChars)
      .replace(unprintable, " ")
      .trim(),
  ).replace(query, "$1?…");
  return clean.length <= mostChars ? clean : `${clean.slice(0, mostChars - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
