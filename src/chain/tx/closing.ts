/** How a provider ends what it has on the market: a bid that nobody took, or a lease. */
import { LeaseClosedReason, LeaseID } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { MsgCloseBid } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { BidId, LeaseId } from "../../market/ids.ts";
import { writeId } from "../codec/wire64.ts";
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

/** Of a bid that was won, it ends the lease. */
export function closeBidMessage(id: BidId, reason: CloseReason = "unspecified"): PackedMessage {
  return packMessage("closeBid", MsgCloseBid.fromPartial({ id: writeId(id), reason: closeReasons[reason] }));
}

/** Tells a tenant who agreed to it that the lease will end; only when its window has passed can it be closed. */
export function startReclaimMessage(id: LeaseId, reason: CloseReason): PackedMessage {
  return packMessage("startReclaim", { id: LeaseID.fromPartial(writeId(id)), reason: closeReasons[reason] });
}
