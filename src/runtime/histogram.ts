/** How often something took how long: counts by upper bound, as Prometheus wants them. */

export interface Histogram {
  /** Upper bounds, growing; what is larger than the last is counted behind it. */
  readonly bounds: readonly number[];
  /** One more than there are bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

interface RecordedHistogram extends Histogram {
  observe(value: number): void;
}

export function createHistogram(bounds: readonly number[]): RecordedHistogram {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  return {
    bounds,
    counts,
    get sum() {
      return sum;
    },
    observe(value) {
      const index = bounds.findIndex((bound) => value <= bound);
      const place = index === -1 ? bounds.length : index;
      counts[place] = (counts[place] ?? 0) + 1;
      sum += value;
    },
  };
}

/** The network's, of its durations in microseconds: from 150 ms on, each twice the one before. */
export const networkDurationBounds = Array.from({ length: 10 }, (_, power) => 150_000 * 2 ** power);
