/** Whether transactions get through, and if not, what a person can do about it. */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { type Refusal, rpcCodespace } from "./broadcaster.ts";
import { causeOf } from "./verdict.ts";

export interface Condition {
  /** Why nothing is sent, while that is so. */
  readonly stalled: ProviderError | undefined;
  /** Time until the next attempt; 0 when sending is fine or an attempt is due. */
  readonly restMs: number;
  stall(error: ProviderError): void;
  clear(): void;
}

export function createCondition(clock: Clock, log: Log): Condition {
  let stalled: ProviderError | undefined;
  let retryAtMs = 0;
  return {
    get stalled() {
      return stalled;
    },
    get restMs() {
      return stalled ? Math.max(0, retryAtMs - clock.monotonicMs()) : 0;
    },
    stall(error) {
      if (stalled?.message !== error.message) log.error(error.message, { code: error.code, advice: error.advice });
      stalled = error;
      retryAtMs = clock.monotonicMs() + limits.outboxStalledMs;
    },
    clear() {
      if (stalled) log.info("transactions get through again");
      stalled = undefined;
    },
  };
}

/** What a refused broadcast means for all that wait; undefined when it concerns that one transaction alone. */
export function stallOf(refusal: Refusal, address: string, fee: string): ProviderError | undefined {
  if (refusal.codespace === rpcCodespace) return undefined;
  const reason = refusal.log;
  switch (causeOf(reason).kind) {
    case "funds":
      return new ProviderError("AKP_WALLET_SHORT", { address, fee, reason });
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
