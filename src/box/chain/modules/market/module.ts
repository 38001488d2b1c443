/** The market's module: what providers and tenants may do on it. What anyone may ask is in queries.ts. */
import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { msgCreateBid, msgLeaseStartReclaim, msgLeaseStartReclaimType } from "../../../../chain/codec/wire-messages.ts";
import { bidAccount } from "../../../../market/escrow-arithmetic.ts";
import { leasePath, readBidId } from "../../market-ids.ts";
import { type Module, messageEntry } from "../../module.ts";
import type { Escrow } from "../escrow/escrow.ts";
import { acceptBid, checkBid, type MarketParams, readBidMessage } from "./bidding.ts";
import { marketError } from "./errors.ts";
import { cancelLease, startReclaim, withdrawBid, withdrawLease } from "./leasing.ts";
import { openBid } from "./market.ts";
import { marketQueries } from "./queries.ts";

export function marketModule(escrow: Escrow, params: MarketParams): Module {
  return {
    messages: {
      "/akash.market.v1beta5.MsgCreateBid": messageEntry(msgCreateBid, {
        signer: providerOf,
        read: readBidMessage,
        handle(context, offer) {
          const { bid, deposits } = checkBid(context, offer, params);
          openBid(context, bid);
          escrow.createAccount(context, bidAccount(bid.id), bid.id.provider, deposits);
        },
      }),
      "/akash.market.v1beta5.MsgCloseBid": messageEntry(akash.MsgCloseBid, {
        signer: providerOf,
        read: ({ id, reason }) => ({ id: readBidId(id), reason: readProviderReason(reason) }),
        handle: (context, { id, reason }) => withdrawBid(context, id, reason, escrow),
      }),
      "/akash.market.v1beta5.MsgCreateLease": messageEntry(akash.MsgCreateLease, {
        signer: ({ bidId }) => bidId?.owner ?? "",
        read: ({ bidId }) => readBidId(bidId),
        handle: (context, id) => acceptBid(context, id, escrow),
      }),
      "/akash.market.v1beta5.MsgCloseLease": messageEntry(akash.MsgCloseLease, {
        signer: ({ id }) => id?.owner ?? "",
        read: ({ id }) => readBidId(id, leasePath),
        handle: (context, id) => cancelLease(context, id, escrow),
      }),
      "/akash.market.v1beta5.MsgWithdrawLease": messageEntry(akash.MsgWithdrawLease, {
        signer: providerOf,
        read: ({ id }) => readBidId(id, leasePath),
        handle: (context, id) => withdrawLease(context, id, escrow),
      }),
      [msgLeaseStartReclaimType]: messageEntry(msgLeaseStartReclaim, {
        signer: providerOf,
        read: ({ id, reason }) => ({ id: readBidId(id, leasePath), reason: readProviderReason(reason) }),
        handle: (context, { id, reason }) => startReclaim(context, id, reason),
      }),
    },
    queries: marketQueries(params),
  };
}

function providerOf({ id }: { id: { provider: string } | undefined }): string {
  return id?.provider ?? "";
}

/** Reasons below are a tenant's, those above the network's. */
function readProviderReason(reason: number): number {
  if (reason >= 10_000 && reason <= 19_999) return reason;
  throw marketError("invalidLeaseClosedReason", `value "${reason}" range 10000..19999`);
}
