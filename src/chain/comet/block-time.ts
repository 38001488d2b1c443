/** How long a block takes on this chain, measured on the headers that pass by. */
import { limits } from "../../runtime/limits.ts";

export interface BlockTime {
  readonly averageMs: number;
  note(height: bigint, timeNs: bigint): void;
}

/** Weight of the newest block: about the last ten count. */
const newestShare = 0.1;

export function createBlockTime(): BlockTime {
  let averageMs: number | undefined;
  let last: { readonly height: bigint; readonly timeNs: bigint } | undefined;
  return {
    get averageMs() {
      const { rpcBlockTimeLeastMs: least, rpcBlockTimeMostMs: most, rpcBlockTimeFirstMs: first } = limits;
      return Math.min(Math.max(averageMs ?? first, least), most);
    },
    note(height, timeNs) {
      const tookMs = last?.height === height - 1n ? Number((timeNs - last.timeNs) / 1_000n) / 1_000 : undefined;
      last = { height, timeNs };
      if (tookMs === undefined) return;
      const bounded = Math.min(Math.max(tookMs, 0), limits.rpcBlockTimeMostMs);
      averageMs = averageMs === undefined ? bounded : averageMs * (1 - newestShare) + bounded * newestShare;
    },
  };
}
