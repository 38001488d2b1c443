/** Compares MetalLB's own counts, from its controller's metrics, with ours. */
import type { Clock } from "../../runtime/clock.ts";
import { type Condition, condition } from "../../runtime/condition.ts";
import { second } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { inTime, readResponseBody } from "../../runtime/fetch-text.ts";
import { httpUrl } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";
import type { PoolCounts } from "./supply.ts";

/** The page has a few lines for each pool beside those of Go's runtime. */
const metalLbMetricsBytes = 4 * 1024 * 1024;
const metalLbMetricsMs = 10 * second;

export interface MetalLbEndpoint {
  readonly host: string;
  readonly port: number;
}

/** Floats, as on the page. */
interface Counts {
  readonly total: number;
  readonly inUse: number;
}

/** MetalLB counts larger ranges as the largest int64. */
const endless = 2 ** 62;

export type CountsCheck = ReturnType<typeof createCountsCheck>;

export function createCountsCheck(endpoint: MetalLbEndpoint, { clock, log }: { clock: Clock; log: Log }) {
  const url = `${httpUrl(endpoint)}/metrics`;
  let counts: Counts | undefined;
  let unreadable: string | undefined;
  /** Reported at the second round in a row: MetalLB counts a moment after it assigns. */
  let differed: string | undefined;
  let lasting: string | undefined;

  async function fetchCounts(pools: readonly string[], signal: AbortSignal): Promise<Counts> {
    const answer = await fetch(url, { redirect: "manual", signal });
    const text = await readResponseBody(answer, metalLbMetricsBytes);
    if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
    return readCounts(text, pools);
  }

  return {
    /** Failures become a condition; nothing depends on these counts. */
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
    /** The difference, when it is the same for the second time in a row. */
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

/** A float loses digits, and the sum with an endless range overflows to a negative number. */
function isAsMany(theirs: number, ours: bigint): boolean {
  const isEndless = theirs >= endless || theirs < 0;
  return theirs === Number(ours) || (isEndless && Number(ours) >= endless);
}

/** A missing pool counts as 0, as the network's operator reads it. */
function readCounts(text: string, pools: readonly string[]): Counts {
  const lines = text.split("\n");
  const countOf = (start: string) =>
    Number(
      lines
        .find((line) => line.startsWith(start))
        ?.split(" ")
        .at(-1) ?? 0,
    );
  const read = (name: string) => pools.reduce((sum, pool) => sum + countOf(`${name}{pool=${JSON.stringify(pool)}}`), 0);
  return { total: read("metallb_allocator_addresses_total"), inUse: read("metallb_allocator_addresses_in_use_total") };
}
