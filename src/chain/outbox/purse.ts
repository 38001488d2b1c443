/**
 * Whether the wallet has what messages cost besides their fee. When it has not, those wait, and only those: closing and
 * withdrawing go on, for they cost nothing more and may bring the money.
 */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";

export interface Purse {
  /** Why what costs something waits, while that is so. */
  readonly short: ProviderError | undefined;
  /** How many transactions with costly messages may leave now, when so many are under way. */
  roomFor(underWay: number): number;
  /** There was not enough for all, as the chain said in these words. */
  runShort(reason: string): void;
  /** A transaction left with all that it was meant to hold. */
  paid(): void;
  /** Nothing that costs anything waits any more. */
  rest(): void;
}

export function createPurse(address: string, clock: Clock, log: Log): Purse {
  let short: ProviderError | undefined;
  let retryAtMs = 0;
  /** Once it was short: what is under way is not seen by a simulation, so one transaction at a time until all have left. */
  let careful = false;

  return {
    get short() {
      return short;
    },
    roomFor(underWay) {
      if (!careful) return Number.POSITIVE_INFINITY;
      if (short && clock.monotonicMs() < retryAtMs) return 0;
      return Math.max(0, 1 - underWay);
    },
    runShort(reason) {
      const error = new ProviderError("AKP_WALLET_SHORT", { address, what: "all deposits", reason });
      if (!short) log.error(error.message, { code: error.code, advice: error.advice });
      short = error;
      careful = true;
      retryAtMs = clock.monotonicMs() + limits.outboxStalledMs;
    },
    paid() {
      if (short) log.info("deposits can be paid again");
      short = undefined;
    },
    rest() {
      short = undefined;
      careful = false;
    },
  };
}
