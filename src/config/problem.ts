/** What is wrong with the settings is collected and told at once, so that a person corrects it in one go. */
import { shorten } from "../market/printable.ts";
import { ProviderError, reasonOf } from "../runtime/errors.ts";

/** A setting that somebody gave a value: what it is, and where that was. */
export interface Given {
  readonly raw: unknown;
  /** "flag --bid-timeout", "environment AKASH_BID_TIMEOUT", "provider.yaml:12". */
  readonly source: string;
  /** As it is called there. */
  readonly name: string;
  /** Where a part of it stands, as exactly as is known: "provider.yaml:12:5". */
  locate(path: readonly PropertyKey[]): string;
}

/** Something given in one place, as flags and variables are. */
export function givenAt(source: string, name: string, raw: unknown): Given {
  return { raw, source, name, locate: () => source };
}

/** What was found while reading, in the order a person would look. */
export interface Findings {
  readonly problems: ProviderError[];
  readonly warnings: string[];
}

export type ReadFile = (path: string) => string;

/** The text of a file that a setting names; if it cannot be read, that is a problem and there is no text. */
export function readFileAt(
  where: string,
  path: string,
  readFile: ReadFile,
  { problems }: Findings,
): string | undefined {
  try {
    return readFile(path);
  } catch (thrown) {
    const details = { where, path, reason: reasonOf(thrown) };
    problems.push(new ProviderError("AKP_SETTINGS_FILE_UNREADABLE", details, { cause: thrown }));
    return undefined;
  }
}

export function unknownSetting(where: string, name: string, candidates: Iterable<string>): ProviderError {
  const meant = nearest(name, candidates);
  const hint = meant ? `Did you mean ${meant}?` : "docs/configuration.md lists every setting.";
  return new ProviderError("AKP_SETTING_UNKNOWN", { where, name, hint });
}

/** `value` is shown as it is: quote it, or hide it. */
export function invalidSetting(
  where: string,
  { name, value, reason, hint }: { name: string; value: string; reason: string; hint: string },
): ProviderError {
  return new ProviderError("AKP_SETTING_INVALID", { where, name, value, reason, hint });
}

/** Throws what there is to throw. */
export function throwProblems(problems: readonly ProviderError[]): void {
  const [first, ...others] = problems;
  if (!first) return;
  if (others.length === 0) throw first;
  throw new ProviderError("AKP_SETTINGS_REFUSED", {
    count: problems.length,
    list: problems.map(({ message, advice }) => `  - ${message}. ${advice}`).join("\n"),
    problems: problems.map(({ code, details }) => ({ code, ...details })),
  });
}

/** Long enough for any sensible value; a whole file pasted into a variable is not worth more. */
const longestQuote = 100;

/** How a value that somebody gave is shown to people: short, and without a password that it may hold. */
export function quote(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value === undefined || value === null) return "nothing";
  if (typeof value === "object") return "a map";
  return JSON.stringify(shorten(hideCredentials(String(value)), longestQuote));
}

/** "scheme://user:password@host" or "user:password@host", up to the last "@": a password may hold anything. */
export function hideCredentials(text: string): string {
  if (text.includes("://")) return text.replace(/:\/\/.*@/s, "://(hidden)@");
  return text.replace(/^.*:.*@/s, "(hidden)@");
}

/** Edits (insert, delete, replace, swap of neighbours) that turn one word into the other. */
export function editDistance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const replaced = at(row - 1, column - 1) + (same ? 0 : 1);
      const least = Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, replaced);
      current.push(swapped ? Math.min(least, at(row - 2, column - 2) + 1) : least);
    }
  }
  return at(from.length, to.length);
}

/** The candidate closest to `word`, if it is close enough to be worth a suggestion: at most every third letter differs. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const plain = plainOf(word).slice(0, longestWord);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(plain.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(plain, plainOf(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** The same name as another, were it not for case, dashes and underscores: bidPriceCpuScale and bid-price-cpu-scale. */
export function isSameName(one: string, other: string): boolean {
  return plainOf(one) === plainOf(other);
}

/** No name is longer; comparing more would only cost time. */
const longestWord = 100;

function plainOf(name: string): string {
  return name.toLowerCase().replace(/[-_.]/g, "");
}
