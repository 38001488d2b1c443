/** Whether transactions get through, and if not, what a person can do about it. */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { type Refusal, rpcCodespace } from "./broadcaster.ts";
import type { Flight } from "./flight.ts";
import { causeOf } from "./verdict.ts";

export interface Condition {
  /** Why nothing is sent, while that is so. */
  readonly stalled: ProviderError | undefined;
  /** Stalled, and the next attempt is not due yet. */
  readonly rests: boolean;
  stall(error: ProviderError): void;
  /** A node took a transaction. That ends what nodes had against it, but not their keeping it to themselves. */
  taken(): void;
  /** A transaction came into a block. */
  landed(): void;
  /** One never did. */
  died(flight: Flight): void;
}

export function createCondition(clock: Clock, log: Log): Condition {
  let stalled: ProviderError | undefined;
  let retryAtMs = 0;
  let swallowed = 0;

  function stall(error: ProviderError, restMs: number): void {
    if (stalled?.message !== error.message) log.error(error.message, { code: error.code, advice: error.advice });
    stalled = error;
    retryAtMs = clock.monotonicMs() + restMs;
  }

  function clear(): void {
    if (stalled) log.info("transactions get through again");
    stalled = undefined;
  }

  return {
    get stalled() {
      return stalled;
    },
    get rests() {
      return stalled !== undefined && clock.monotonicMs() < retryAtMs;
    },
    stall: (error) => stall(error, limits.outboxStalledMs),
    taken() {
      if (!ProviderError.is(stalled, "AKP_TX_SWALLOWED")) clear();
    },
    landed() {
      swallowed = 0;
      clear();
    },
    died({ hash, subjects, taken = false, refusal }) {
      log.error("transaction never came into a block", { hash, messages: subjects.length, taken, ...refusal });
      if (!taken) return;
      swallowed += 1;
      if (swallowed < limits.outboxSwallowed) return;
      const reason = refusal?.log ?? "no node says why";
      // Each attempt takes longer than a rest by itself.
      stall(new ProviderError("AKP_TX_SWALLOWED", { reason }), 0);
    },
  };
}

/** What a refused broadcast means for all that wait; undefined when it concerns that one transaction alone. */
export function stallOf(refusal: Refusal, address: string, fee: string): ProviderError | undefined {
  if (refusal.codespace === rpcCodespace) return undefined;
  const reason = refusal.log;
  switch (causeOf(reason).kind) {
    case "funds":
      return new ProviderError("AKP_WALLET_SHORT", { address, what: fee, reason });
    case "price":
      return new ProviderError("AKP_FEE_TOO_LOW", { fee, reason });
    case "account":
      return new ProviderError("AKP_WALLET_UNKNOWN", { address });
    case "stale":
    case "unordered":
      return undefined;
    default:
      return new ProviderError("AKP_TX_REFUSED", { reason, code: refusal.code, codespace: refusal.codespace });
  }
}
