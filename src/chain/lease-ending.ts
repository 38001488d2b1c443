/**
 * The end of a lease as an intent. Several of us may want it: an operator, and whoever waits for its manifest, its health or
 * its deadline. One of them begins it, and while that is under way the others do nothing.
 */
import { type Intent, type Intents, isUnderWay, type NewIntent } from "../journal/intents.ts";
import type { Journal } from "../journal/journal.ts";
import type { Unit } from "../journal/writer.ts";
import { formatLeaseId } from "../market/ids.ts";
import { leaseCloseRetryMs } from "../runtime/limits.ts";
import type { Chain } from "./chain.ts";
import { type CloseReason, type EndingLease, endLeaseMessage } from "./tx/closing.ts";

/** The message that ends a lease, and the one that tells its tenant first. */
export function isEnding({ what }: Pick<Intent, "what">): boolean {
  return what === "closeBid" || what === "startReclaim";
}

export function isBeingEnded(leaseKey: string, intents: Pick<Intents, "about">): boolean {
  return isUnderWay(lastEnding(leaseKey, intents));
}

/** How long until its end may be tried; undefined while that is under way. An attempt that failed may have cost a fee. */
export function endingPauseMs(leaseKey: string, intents: Pick<Intents, "about">, nowMs: number): number | undefined {
  const last = lastEnding(leaseKey, intents);
  if (isUnderWay(last)) return undefined;
  const restedMs = nowMs - (last?.settledAtMs ?? Number.NEGATIVE_INFINITY);
  // Below zero where somebody has set the clock back: then nobody knows.
  return restedMs < 0 ? 0 : Math.max(0, leaseCloseRetryMs - restedMs);
}

interface NewEnding {
  readonly lease: EndingLease;
  readonly reason: CloseReason;
  readonly why: string;
  /** What the history says behind that. */
  readonly details?: string;
  /** Looked at in the same unit of work. */
  readonly unless?: Unit<boolean>;
}

interface EndingDeps {
  readonly outbox: Pick<Chain["outbox"], "intentOf" | "wake">;
  readonly journal: Pick<Journal, "durable">;
}

export function endingOf({ lease, reason, why }: NewEnding, outbox: EndingDeps["outbox"]): NewIntent {
  const message = endLeaseMessage(lease, reason);
  return outbox.intentOf({ subject: formatLeaseId(lease.id), why, message, priority: "close" });
}

/** Whether it was filed: not where somebody ends the lease already. */
export async function fileEnding(ending: NewEnding, { outbox, journal }: EndingDeps): Promise<boolean> {
  const intent = endingOf(ending, outbox);
  const { what, subject, why } = intent;
  const behind = ending.details === undefined ? "" : `: ${ending.details}`;
  const isFiled = await journal.durable("lease ending", (tables) => {
    if (isBeingEnded(subject, tables.intents) || ending.unless?.(tables)) return false;
    tables.intents.file(intent);
    tables.history.add({ kind: "lease", subject, line: `${what} filed: ${why}${behind}` });
    return true;
  });
  outbox.wake();
  return isFiled;
}

/** The newest attempt, whoever of us made it. */
function lastEnding(leaseKey: string, intents: Pick<Intents, "about">): Intent | undefined {
  return intents.about(leaseKey).find(isEnding);
}
