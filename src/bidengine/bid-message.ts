/** The message that makes a bid; `chain/tx/closing.ts` has the one that takes it back. */
import { MsgCreateBid, ResourceOffer } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { writeUnitResources } from "../chain/codec/group-spec.ts";
import { writeId } from "../chain/codec/wire64.ts";
import type { Order } from "../chain/records.ts";
import { type PackedMessage, packMessage } from "../chain/tx/messages.ts";
import type { Coin, DecCoin } from "../market/coin.ts";
import { showDecimal } from "../market/decimal.ts";
import type { Fits } from "../market/fit.ts";
import type { BidId } from "../market/ids.ts";
import { invariant } from "../runtime/invariant.ts";

interface BidContent {
  readonly price: DecCoin;
  readonly deposit: Coin;
  readonly offer: Fits["offer"];
  /** Only where the order asks for one: the chain refuses it elsewhere. */
  readonly reclamationWindowNs: bigint | undefined;
}

/** Out of our own account. */
const fromBalance = 1;

export function createBidMessage(id: BidId, { spec }: Pick<Order, "spec">, content: BidContent): PackedMessage {
  const { price, deposit, offer, reclamationWindowNs } = content;
  invariant(offer.length === spec.units.length, "a bid offers every unit of its order");
  const known = MsgCreateBid.fromPartial({
    id: writeId(id),
    price: { denom: price.denom, amount: showDecimal(price.amount) },
    deposit: { amount: { denom: deposit.denom, amount: `${deposit.amount}` }, sources: [fromBalance] },
    resourcesOffer: offer.map((resources, index) =>
      ResourceOffer.fromPartial({ resources: writeUnitResources(resources), count: spec.units[index]?.count ?? 0 }),
    ),
  });
  return packMessage("createBid", { ...known, reclamationWindowNs });
}
