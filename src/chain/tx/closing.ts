/** How a provider ends what it has on the market: a bid that nobody took, or a lease. */
import { LeaseClosedReason, LeaseID } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { MsgCloseBid } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { BidId, LeaseId } from "../../market/ids.ts";
import { nsToMs } from "../../runtime/clock.ts";
import { writeId } from "../codec/wire64.ts";
import type { Lease, Reclamation } from "../records.ts";
import { type PackedMessage, packMessage } from "./messages.ts";

/** The chain's numbers for why a provider closes; tenants read them. */
export const closeReasons = {
  unstable: LeaseClosedReason.lease_closed_reason_unstable,
  decommission: LeaseClosedReason.lease_closed_reason_decommission,
  /** None of the others is about a bid that was not won. */
  unspecified: LeaseClosedReason.lease_closed_reason_unspecified,
  "manifest-timeout": LeaseClosedReason.lease_closed_reason_manifest_timeout,
} as const;

export type CloseReason = keyof typeof closeReasons;

/** What the chain's number is called here; another program may have given one that we never do. */
export function closeReasonOf(number: number): CloseReason | undefined {
  return (Object.keys(closeReasons) as CloseReason[]).find((name) => closeReasons[name] === number);
}

/** Of a bid that was won, it ends the lease. */
export function closeBidMessage(id: BidId, reason: CloseReason = "unspecified"): PackedMessage {
  return packMessage("closeBid", MsgCloseBid.fromPartial({ id: writeId(id), reason: closeReasons[reason] }));
}

/** Tells a tenant who agreed to it that the lease will end; only when its window has passed can it be closed. */
function startReclaimMessage(id: LeaseId, reason: CloseReason): PackedMessage {
  return packMessage("startReclaim", { id: LeaseID.fromPartial(writeId(id)), reason: closeReasons[reason] });
}

/** A tenant who agreed to be told first is told, and the lease can be closed when that time has passed. */
export function endLeaseMessage({ id, state, reclamation }: EndingLease, reason: CloseReason): PackedMessage {
  const isToBeTold = reclamation !== undefined && state === "active";
  return isToBeTold ? startReclaimMessage(id, reason) : closeBidMessage(id, reason);
}

/**
 * How long the chain will not hear of either yet. It compares the seconds of a block's time, which never runs back: what the
 * last block allows every later one does.
 */
export function endLeaseWaitMs({ state, reclamation }: EndingLease, chainTimeNs: bigint): number {
  if (reclamation === undefined || state === "active") return 0;
  return Math.max(0, reclaimedAtMs(reclamation) - nsToMs(chainTimeNs));
}

/** Of a reclamation that has started: when the tenant has had his time. */
export function reclaimedAtMs({ deadline }: Pick<Reclamation, "deadline">): number {
  return Number(deadline) * 1_000;
}

export type EndingLease = Pick<Lease, "id" | "state" | "reclamation">;
