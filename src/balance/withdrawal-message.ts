/** The message that brings in what a lease has earned, and settles all of its escrow on the way. */
import { MsgWithdrawLease } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { writeId } from "../chain/codec/wire64.ts";
import { type PackedMessage, packMessage } from "../chain/tx/messages.ts";
import type { LeaseId } from "../market/ids.ts";

export function withdrawLeaseMessage(id: LeaseId): PackedMessage {
  return packMessage("withdrawLease", MsgWithdrawLease.fromPartial({ id: writeId(id) }));
}
