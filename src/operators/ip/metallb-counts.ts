/** MetalLB's own counts, from the metrics of its controller, where it is told where they are: to be compared with ours. */
import type { Clock } from "../../runtime/clock.ts";
import { type Condition, condition } from "../../runtime/condition.ts";
import { second } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { inTime, readResponseBody } from "../../runtime/fetch-text.ts";
import { httpUrl } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";
import type { PoolCounts } from "./supply.ts";

/** MetalLB's page of metrics, and how long it may take: a few lines for each pool beside those of its runtime. */
const metalLbMetricsBytes = 4 * 1024 * 1024;
const metalLbMetricsMs = 10 * second;

export interface MetalLbEndpoint {
  readonly host: string;
  readonly port: number;
}

/** As the page has them: numbers with a fraction's precision. */
interface Counts {
  readonly total: number;
  readonly inUse: number;
}

/** Of a range with so many MetalLB says the largest number that it knows, as it never runs out. */
const endless = 2 ** 62;

export type CountsCheck = ReturnType<typeof createCountsCheck>;

export function createCountsCheck(endpoint: MetalLbEndpoint, { clock, log }: { clock: Clock; log: Log }) {
  const url = `${httpUrl(endpoint)}/metrics`;
  let counts: Counts | undefined;
  let unreadable: string | undefined;
  /** Two rounds running: MetalLB counts a moment after it gives. */
  let differed: string | undefined;
  let lasting: string | undefined;

  async function fetchCounts(pools: readonly string[], signal: AbortSignal): Promise<Counts> {
    const answer = await fetch(url, { redirect: "manual", signal });
    const text = await readResponseBody(answer, metalLbMetricsBytes);
    if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
    return readCounts(text, pools);
  }

  return {
    /** Whatever goes wrong is told, and nothing depends on it. */
    async fetch(pools: readonly string[], signal: AbortSignal): Promise<void> {
      try {
        const limitMs = metalLbMetricsMs;
        counts = await inTime({ limitMs, clock, signal }, (until) => fetchCounts(pools, until));
        unreadable = undefined;
      } catch (thrown) {
        signal.throwIfAborted();
        counts = undefined;
        const reason = reasonOf(thrown);
        if (unreadable !== reason) log.info("cannot read metrics of MetalLB", { url, reason });
        unreadable = reason;
      }
    },
    /** In what they differ, for the second time running. */
    compare({ total, inUse }: PoolCounts): string | undefined {
      const isSame = !counts || (isAsMany(counts.total, total) && isAsMany(counts.inUse, inUse));
      const now = isSame ? undefined : `MetalLB counts ${counts?.inUse} of ${counts?.total}, we ${inUse} of ${total}`;
      lasting = now !== undefined && now === differed ? now : undefined;
      differed = now;
      return lasting;
    },
    get conditions(): readonly Condition[] {
      return [
        ...(unreadable === undefined ? [] : [condition("MetricsUnreadable", `${url}: ${unreadable}`)]),
        ...(lasting === undefined ? [] : [condition("CountsDiffer", lasting)]),
      ];
    },
  };
}

/** As far as a number on that page can tell. One with an endless range and another is negative there: it runs over. */
function isAsMany(theirs: number, ours: bigint): boolean {
  const isEndless = theirs >= endless || theirs < 0;
  return theirs === Number(ours) || (isEndless && Number(ours) >= endless);
}

/** A pool that is not among them has none, as the network's operator reads it. */
function readCounts(text: string, pools: readonly string[]): Counts {
  const lines = text.split("\n");
  const read = (name: string) => {
    const starts = pools.map((pool) => `${name}{pool=${JSON.stringify(pool)}}`);
    const values = starts.map(
      (start) =>
        lines
          .find((line) => line.startsWith(start))
          ?.split(" ")
          .at(-1) ?? 0,
    );
    return values.reduce<number>((sum, value) => sum + Number(value), 0);
  };
  return { total: read("metallb_allocator_addresses_total"), inUse: read("metallb_allocator_addresses_in_use_total") };
}
