/** Kinds of plain values: texts, choices, switches, numbers, times, paths. */
import { z } from "zod";
import { formatBytes, parseQuantity } from "../../market/quantity.ts";
import { invariant } from "../../runtime/invariant.ts";
import { nearest } from "../problem.ts";
import { BadValue, commaList, type Format, readAsMarket, type TextFormat, textFormat } from "./format.ts";

/** Free text; with a pattern, text of that shape. */
export function freeText(expects: string, pattern?: RegExp, placeholder = "<text>"): TextFormat<string> {
  return textFormat({
    expects,
    placeholder,
    read: (given) => (pattern && !pattern.test(given) ? new BadValue("it has another shape") : given),
  });
}

/** Kept to the last space, and never shown. */
export const secret: Format<string> = {
  schema: z.string({ error: "one value is expected here" }).min(1, "it is empty"),
  expects: "a text",
  placeholder: "<secret>",
  isSecret: true,
  show: () => "(set, hidden)",
};

export const path: TextFormat<string> = textFormat({
  expects: "a path",
  placeholder: "<path>",
  isPath: true,
  read: (given) => given,
});

/** Several files, each for the thing at the same place of another list. */
export const paths: TextFormat<readonly string[]> = commaList(
  path,
  "paths separated by commas, with - where there is none",
);

/** One of a few words. A synonym is another word that existing environments use for one of them. */
export function choice<const Word extends string>(
  words: readonly Word[],
  synonyms: Readonly<Record<string, Word>> = {},
): TextFormat<Word> {
  const known = new Map<string, Word>([...words.map((word) => [word, word] as const), ...Object.entries(synonyms)]);
  const expects = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
  return textFormat({
    expects,
    placeholder: `<${words.join("|")}>`,
    read(given) {
      const word = known.get(given);
      if (word !== undefined) return word;
      const meant = nearest(given, words);
      return new BadValue(`it must be ${expects}`, meant && `Did you mean ${meant}?`);
    },
  });
}

/** The words of Go's ParseBool. */
const onWords = ["1", "t", "T", "TRUE", "true", "True"];
const offWords = ["0", "f", "F", "FALSE", "false", "False"];

export const onOff: TextFormat<boolean> = textFormat({
  expects: "true or false",
  placeholder: "[true|false]",
  read(given) {
    if (onWords.includes(given)) return true;
    return offWords.includes(given) ? false : new BadValue("it is neither true nor false");
  },
});

export function whole(
  least: number,
  most: number,
  expects = "a whole number",
  placeholder = "<number>",
): TextFormat<number> {
  const range = `${expects} from ${least} to ${most}`;
  return textFormat({
    expects: range,
    placeholder,
    read(given) {
      if (!/^[+-]?\d+$/.test(given)) return new BadValue("it is not a whole number", `Write ${range}.`);
      // "-0" is zero like any other.
      const value = Number(given) + 0;
      return value < least || value > most ? new BadValue(`it must be from ${least} to ${most}`) : value;
    },
  });
}

/** A step on the path from a mnemonic to a key: 31 bits, the 32nd says whether it is hardened. */
export const derivationIndex = whole(0, 2 ** 31 - 1);

/** A count without a bound of its own still has to be a number that is exact. */
export const count = whole(0, Number.MAX_SAFE_INTEGER);

/** The kubelet keeps five log files of 10 MiB for each container, which count as well. */
const leastDiskBytes = 64n * 1024n ** 2n;

export const diskSize: TextFormat<bigint> = textFormat({
  expects: "a size of at least 64Mi like 512Mi or 1Gi",
  placeholder: "<size>",
  show: formatBytes,
  read(given) {
    const quantity = readAsMarket(() => parseQuantity(given));
    if (quantity instanceof BadValue) return quantity;
    const bytes = quantity.nano / 10n ** 9n;
    return bytes < leastDiskBytes ? new BadValue("it must be at least 64Mi") : bytes;
  },
});

/** A hundredfold is more than anybody overcommits; beyond it somebody wrote something else than percent. */
export const percent = whole(0, 10_000, "a whole number of percent", "<percent>");

interface DurationBounds {
  readonly least?: string;
  readonly most?: string;
  /** What zero means; without it zero is as good as any other time. */
  readonly zero?: "refused" | "turns it off";
}

/** A time in milliseconds. */
export function duration({ least, most, zero }: DurationBounds = {}): TextFormat<number> {
  const leastMs = boundMs(least) ?? 0;
  const mostMs = boundMs(most) ?? Number.POSITIVE_INFINITY;
  const bounds = [least && `at least ${least}`, most && `at most ${most}`].filter(Boolean).join(" and ");
  const off = zero === "turns it off" ? ", or 0 to turn it off" : "";
  return textFormat({
    expects: `a time like 5m or 1h30m${bounds && `, ${bounds}`}${off}`,
    placeholder: "<time>",
    show: formatDuration,
    read(given) {
      const ms = parseDuration(given);
      if (ms instanceof BadValue) return ms;
      if (ms === 0 && zero === "turns it off") return ms;
      if (ms === 0 && zero === "refused") return new BadValue("it must be more than zero");
      return ms < leastMs || ms > mostMs ? new BadValue(`it must be ${bounds}`) : ms;
    },
  });
}

function boundMs(bound: string | undefined): number | undefined {
  if (bound === undefined) return undefined;
  const ms = parseDuration(bound);
  invariant(typeof ms === "number", "a bound of a time is a time", { bound });
  return ms;
}

/** Times as Go writes them ("1h30m", "500ms"), since that is how every existing provider has them written. */
const nanosecondsOf: Record<string, bigint> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Go keeps a time in 63 bits of nanoseconds: about 292 years. */
const mostNanoseconds = 2n ** 63n - 1n;

const part = /(\d+)(?:\.(\d+))?(ns|us|µs|μs|ms|s|m|h)/y;

/** In milliseconds. */
export function parseDuration(text: string): number | BadValue {
  if (/^[+-]?0$/.test(text)) return 0;
  if (text.startsWith("-")) return new BadValue("a time cannot be negative");
  if (/^\+?\d+$/.test(text)) {
    const count = text.replace("+", "");
    return new BadValue("it has no unit", `Write ${count}s for seconds, ${count}m for minutes or ${count}h for hours.`);
  }
  const days = /^(\d+)d(ays?)?$/.exec(text)?.[1];
  if (days !== undefined) return new BadValue("days are not a unit here", `Write ${BigInt(days) * 24n}h.`);
  const nanoseconds = sumOf(text.replace(/^\+/, ""));
  if (nanoseconds === undefined) return new BadValue("it is not a time");
  if (nanoseconds > mostNanoseconds) return new BadValue("it is longer than 292 years");
  if (nanoseconds % 1_000_000n !== 0n) return new BadValue("it is finer than a millisecond");
  return Number(nanoseconds / 1_000_000n);
}

function sumOf(text: string): bigint | undefined {
  let sum = 0n;
  part.lastIndex = 0;
  do {
    const [, whole = "", fraction = "", unit = ""] = part.exec(text) ?? [];
    const nanoseconds = nanosecondsOf[unit];
    if (nanoseconds === undefined) return undefined;
    sum += (BigInt(whole + fraction) * nanoseconds) / 10n ** BigInt(fraction.length);
  } while (part.lastIndex < text.length);
  return sum;
}

/** "1h30m", "500ms", "0s": the parts that are not zero. */
export function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const parts = [
    [Math.floor(seconds / 3_600), "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
    [ms % 1_000, "ms"],
  ] as const;
  return parts.map(([count, unit]) => (count > 0 ? `${count}${unit}` : "")).join("") || "0s";
}
