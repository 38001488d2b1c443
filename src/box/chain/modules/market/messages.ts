/** What providers and tenants do on the market. */
import {
  MsgCloseBid,
  MsgCloseLease,
  MsgCreateLease,
  MsgWithdrawLease,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { generated } from "../../../../chain/codec/message.ts";
import { msgCreateBid, msgLeaseStartReclaim, msgLeaseStartReclaimType } from "../../../../chain/codec/reclamation.ts";
import { leasePath, readBidId } from "../../market-ids.ts";
import { messageEntry } from "../../message-entry.ts";
import type { MessageEntry } from "../../module.ts";
import { bidAccount } from "../escrow/ids.ts";
import { acceptBid, readBid } from "./bidding.ts";
import { closeBid, closeLease, createLease, type Leasing, startReclaim, withdrawLease } from "./leasing.ts";
import type { MarketParams } from "./params.ts";
import { marketRefusal } from "./refusals.ts";

export function marketMessages(leasing: Leasing, params: MarketParams): Record<string, MessageEntry> {
  const { market, escrow } = leasing;
  return {
    "/akash.market.v1beta5.MsgCreateBid": messageEntry({
      codec: msgCreateBid,
      signer: ({ id }) => id?.provider ?? "",
      read: readBid,
      handle(context, offer) {
        const { bid, deposits } = acceptBid(context, offer, params);
        market.createBid(context, bid);
        escrow.createAccount(context, bidAccount(bid.id), bid.id.provider, deposits);
      },
    }),
    "/akash.market.v1beta5.MsgCloseBid": messageEntry({
      codec: generated(MsgCloseBid),
      signer: ({ id }) => id?.provider ?? "",
      read: ({ id, reason }) => ({ id: readBidId(id), reason: readProviderReason(reason) }),
      handle: (context, { id, reason }) => closeBid(context, id, reason, leasing),
    }),
    "/akash.market.v1beta5.MsgCreateLease": messageEntry({
      codec: generated(MsgCreateLease),
      signer: ({ bidId }) => bidId?.owner ?? "",
      read: ({ bidId }) => readBidId(bidId),
      handle: (context, id) => createLease(context, id, leasing),
    }),
    "/akash.market.v1beta5.MsgCloseLease": messageEntry({
      codec: generated(MsgCloseLease),
      signer: ({ id }) => id?.owner ?? "",
      read: ({ id }) => readBidId(id, leasePath),
      handle: (context, id) => closeLease(context, id, leasing),
    }),
    "/akash.market.v1beta5.MsgWithdrawLease": messageEntry({
      codec: generated(MsgWithdrawLease),
      signer: ({ id }) => id?.provider ?? "",
      read: ({ id }) => readBidId(id, leasePath),
      handle: (context, id) => withdrawLease(context, id, leasing),
    }),
    [msgLeaseStartReclaimType]: messageEntry({
      codec: msgLeaseStartReclaim,
      signer: ({ id }) => id?.provider ?? "",
      read: ({ id, reason }) => ({ id: readBidId(id, leasePath), reason: readProviderReason(reason) }),
      handle: (context, { id, reason }) => startReclaim(context, id, reason, leasing),
    }),
  };
}

/** Reasons below are a tenant's, those above the network's. */
function readProviderReason(reason: number): number {
  if (reason >= 10_000 && reason <= 19_999) return reason;
  throw marketRefusal("invalidLeaseClosedReason", `value "${reason}" range 10000..19999`);
}
