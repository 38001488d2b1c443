/** Secrets that give themselves away neither by their own name nor by their looks, but by what stands beside them. */
import type { Redactor } from "./redact.ts";
import { kindOfName } from "./secret-names.ts";

export type Entries = readonly (readonly [name: string, value: unknown])[];

/** Enough of an item to know a word of a phrase or a line of a key. */
const itemChars = 256;

/** Some objects tell by one of their fields that another one, whose name in lower case is returned, is secret. */
export function secretSibling(entries: Entries): string | undefined {
  for (const [name, value] of entries) {
    if (typeof value !== "string") continue;
    if (name === "kind" && value === "Secret") return "data";
    if (name === "kind" && value === "SecretList") return "items";
    if (name === "type" && value === "Buffer") return "data";
    if (/^(?:name|key)$/i.test(name) && kindOfName(value) === "secret") return "value";
    // A name in upper case is that of an environment variable.
    if (/^name$/i.test(name) && /^[A-Z][A-Z0-9_]+$/.test(value)) return "value";
  }
  return undefined;
}

/** A recovery phrase as a list of words and a key as a list of lines are secrets, though no item of the list is. */
export function isSecretTogether(items: readonly unknown[], redactor: Redactor): boolean {
  const texts = items.filter((item) => typeof item === "string").map((item) => item.slice(0, itemChars));
  if (texts.length < 2) return false;
  return redactor.text(texts.join("\n")) !== texts.map((text) => redactor.text(text)).join("\n");
}

/** In ["--token", "x"] the second is what the first announces. */
export function isSecretFlag(item: unknown): boolean {
  return typeof item === "string" && item.startsWith("-") && kindOfName(item) === "secret";
}

/** In ["password", "x"] too, and so in what Object.entries makes of an object. */
export function isNamedPair(items: readonly unknown[]): items is readonly [string, unknown] {
  return items.length === 2 && typeof items[0] === "string" && kindOfName(items[0]) !== "open";
}

/** Node gives headers also as [name, value, name, value …]. */
export function headerPairs(value: unknown): Entries | undefined {
  if (!Array.isArray(value) || value.length % 2 === 1 || !value.every((item) => typeof item === "string"))
    return undefined;
  return value.flatMap((name, index) => (index % 2 === 0 ? [[name, value[index + 1]] as const] : []));
}
