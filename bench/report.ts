/** What all benchmarks share: their size, how they compare and summarize, and how they report. */
export type Row = Record<string, string | number | boolean>;

type Bar = readonly ["≤" | "≥", number] | readonly ["=", boolean];

/** Set by `npm run bench -- --smoke` for every process of a benchmark. */
export const smokeVariable = "BENCH_SMOKE";
const isSmoke = process.env[smokeVariable] === "1";

/** A smoke run checks in seconds that a benchmark works; its figures mean little, so no bar is checked. */
export function size<T>(full: T, smoke: T): T {
  return isSmoke ? smoke : full;
}

/**
 * A table for people and, last, one JSON line for machines. The bars, by fields of that line, are printed with the title; the
 * process fails on those that are missed.
 */
export function report<
  Line extends { bench: string } & Row,
  Bars extends { readonly [Field in keyof Bars]: Field extends keyof Line ? Bar : never },
>(title: string, rows: Row[], line: Line, bars: Bars): void {
  const named = size(Object.entries<Bar>(bars), []);
  const texts = named.map(([field, [sign, limit]]) => `${field} ${sign} ${limit}`);
  console.log(`\n${size([title, ...texts].join(", "), `${title} (smoke run)`)}`);
  console.table(rows);
  console.log(JSON.stringify({ ...line, ...size({}, { smoke: true }) }));
  const misses = named.filter(([field, bar]) => line[field] !== undefined && !holds(line[field], bar));
  for (const [field, [sign, limit]] of misses) console.error(`${field} is ${line[field]}, not ${sign} ${limit}`);
  if (misses.length > 0) process.exitCode = 1;
}

function holds(value: Row[string], [sign, limit]: Bar): boolean {
  if (sign === "=") return value === limit;
  return sign === "≤" ? Number(value) <= limit : Number(value) >= limit;
}

/** Ours and the baseline alternate, so that a busy machine slows both alike; the first round warms both up. */
export async function inTurn<T>(rounds: number, ours: () => Promise<T>, baseline: () => Promise<T>) {
  const pairs: { readonly ours: T; readonly baseline: T }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const isOursFirst = round % 2 === 0;
    const first = await (isOursFirst ? ours : baseline)();
    const second = await (isOursFirst ? baseline : ours)();
    if (round > 0) pairs.push(isOursFirst ? { ours: first, baseline: second } : { ours: second, baseline: first });
  }
  return pairs;
}

/** The median over the rounds. */
export function medianRatio<T>(pairs: Awaited<ReturnType<typeof inTurn<T>>>, value: (measured: T) => number): number {
  return round(median(pairs.map(({ ours, baseline }) => value(ours) / value(baseline))));
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The value below which this share of them lies. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
}

export function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

/** How long this process was at work, or whatever this is the usage of. */
export function cpuMs({ user, system } = process.cpuUsage()): number {
  return (user + system) / 1_000;
}

/** Memory of this process in megabytes, after a garbage collection if Node runs with --expose-gc. */
export function rssMb(): number {
  globalThis.gc?.();
  return round(process.memoryUsage.rss() / 2 ** 20, 1);
}
