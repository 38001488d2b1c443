/** Times as Go writes them ("1h30m", "500ms"), since that is how every existing provider has them written. */
import { BadValue } from "./format.ts";

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
