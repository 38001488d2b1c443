/** How a provider ends a bid or a lease. Of several that want the end of a lease one files it; the others wait. */

import { LeaseClosedReason, LeaseID } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { MsgCloseBid } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { type Intent, type Intents, isUnderWay, type NewIntent } from "../journal/intents.ts";
import type { Journal } from "../journal/journal.ts";
import type { Unit } from "../journal/writer.ts";
import { type BidId, formatLeaseId } from "../market/ids.ts";
import { nsToMs } from "../runtime/clock.ts";
import { leaseCloseRetryMs } from "../runtime/limits.ts";
import type { Chain } from "./chain.ts";
import { writeId } from "./codec/wire-messages.ts";
import type { Lease, Reclamation } from "./records.ts";
import { type PackedMessage, packMessage } from "./tx/messages.ts";

/** The message that ends a lease, and the one that starts its reclamation. */
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
  // Below zero where the clock was set back.
  return restedMs < 0 ? 0 : Math.max(0, leaseCloseRetryMs - restedMs);
}

type EndingLease = Pick<Lease, "id" | "state" | "reclamation">;

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

/** Whether it was filed: not while the lease is being ended already. */
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

function lastEnding(leaseKey: string, intents: Pick<Intents, "about">): Intent | undefined {
  return intents.about(leaseKey).find(isEnding);
}

/** The chain's numbers for why a provider closes; tenants read them. */
export const closeReasons = {
  unstable: LeaseClosedReason.lease_closed_reason_unstable,
  decommission: LeaseClosedReason.lease_closed_reason_decommission,
  /** None of the others is about a bid that was not won. */
  unspecified: LeaseClosedReason.lease_closed_reason_unspecified,
  "manifest-timeout": LeaseClosedReason.lease_closed_reason_manifest_timeout,
} as const;

export type CloseReason = keyof typeof closeReasons;

/** Undefined for a number that we never give; another program may have given it. */
export function closeReasonOf(number: number): CloseReason | undefined {
  return (Object.keys(closeReasons) as CloseReason[]).find((name) => closeReasons[name] === number);
}

/** Of a bid that was won, it ends the lease. */
export function closeBidMessage(id: BidId, reason: CloseReason = "unspecified"): PackedMessage {
  return packMessage("closeBid", MsgCloseBid.fromPartial({ id: writeId(id), reason: closeReasons[reason] }));
}

/** A lease whose tenant agreed to reclamation is reclaimed first, and can be closed when its window has passed. */
function endLeaseMessage({ id, state, reclamation }: EndingLease, reason: CloseReason): PackedMessage {
  if (reclamation === undefined || state !== "active") return closeBidMessage(id, reason);
  return packMessage("startReclaim", { id: LeaseID.fromPartial(writeId(id)), reason: closeReasons[reason] });
}

/** How long the chain rejects either. Block time never runs back, so what the last block allows every later one does. */
export function endLeaseWaitMs({ state, reclamation }: EndingLease, chainTimeNs: bigint): number {
  if (reclamation === undefined || state === "active") return 0;
  return Math.max(0, reclaimedAtMs(reclamation) - nsToMs(chainTimeNs));
}

/** Of a reclamation that has started: when the lease can be closed. */
export function reclaimedAtMs({ deadline }: Pick<Reclamation, "deadline">): number {
  return Number(deadline) * 1_000;
}
