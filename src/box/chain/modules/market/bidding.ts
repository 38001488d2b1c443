/** Checks of bids, and which bid wins. Their order is the chain's, since the first failing check is reported. */
import type { MsgCreateBid } from "../../../../chain/codec/wire-messages.ts";
import { type Coin, type DecCoin, formatCoin } from "../../../../market/coin.ts";
import { compareDecimals } from "../../../../market/decimal.ts";
import { leasePayment } from "../../../../market/escrow-arithmetic.ts";
import type { BidId, OrderId } from "../../../../market/ids.ts";
import { isValidPrice, readPrice } from "../../coins.ts";
import { Panic, uncoded } from "../../errors.ts";
import { readBidId } from "../../market-ids.ts";
import type { Context } from "../../module.ts";
import { signaturesOf } from "../audit/audit.ts";
import { priceOf } from "../deployment/group-spec.ts";
import { findGroup } from "../deployment/records.ts";
import { authorizeDeposit, readDeposit, type WantedDeposit } from "../escrow/deposits.ts";
import type { Escrow } from "../escrow/escrow.ts";
import type { Deposit } from "../escrow/records.ts";
import { findProvider } from "../provider/providers.ts";
import { marketError, must } from "./errors.ts";
import { loseBid, openLease } from "./market.ts";
import { capabilitiesMatch, offerMatches, requirementsMatch } from "./matching.ts";
import { type Bid, bidsOf, findBid, findOrder, type Order } from "./records.ts";

/** Governance parameters of the market module. */
export interface MarketParams {
  /** Obsolete, but still in the response. */
  readonly bidMinDeposit: Coin;
  /** The smallest deposit of a bid, for each denom that may be deposited at all. */
  readonly bidMinDeposits: readonly Coin[];
  readonly orderMaxBids: number;
  readonly minReclamationWindowNs: bigint;
  readonly maxReclamationWindowNs: bigint;
}

const hourNs = 3_600_000_000_000n;

export const defaultMarketParams: MarketParams = {
  bidMinDeposit: { denom: "uakt", amount: 500_000n },
  bidMinDeposits: [
    { denom: "uact", amount: 500_000n },
    { denom: "uakt", amount: 500_000n },
  ],
  orderMaxBids: 20,
  minReclamationWindowNs: hourNs,
  maxReclamationWindowNs: 720n * hourNs,
};

type BidOffer = ReturnType<typeof readBidMessage>;

export function readBidMessage(message: MsgCreateBid) {
  const { resourcesOffer, reclamationWindowNs } = message;
  const id = readBidId(message.id);
  const deposit = readDeposit(message.deposit);
  const price = readPrice(message.price);
  if (price.amount.atto === 0n) throw marketError("bidZeroPrice");
  if (reclamationWindowNs !== undefined && reclamationWindowNs < 0n) throw marketError("reclamationWindowInvalid");
  return { id, price, deposit, resourcesOffer, reclamationWindowNs };
}

/** The bid, and the deposit that goes with it. */
export function checkBid(
  context: Context,
  { id, price, deposit, resourcesOffer, reclamationWindowNs }: BidOffer,
  params: MarketParams,
): { bid: Bid; deposits: Deposit[] } {
  checkDeposit(deposit, params);
  checkRoom(context, id, params);
  const order = biddableOrder(context, id);
  checkPrice(price, order);
  if (!offerMatches(order.spec, resourcesOffer)) throw marketError("capabilitiesMismatch");
  checkProvider(context, id, order);
  const deposits = authorizeDeposit(context, id.provider, "bid", deposit);
  checkWindow(reclamationWindowNs, order, params);
  // One bid per provider and order, for ever: a closed one still stands in the way.
  if (findBid(context, id)) throw marketError("bidExists");
  return {
    bid: { id, state: "open", price, createdAt: context.height, resourcesOffer, reclamationWindowNs },
    deposits,
  };
}

function checkDeposit(deposit: WantedDeposit, { bidMinDeposits }: MarketParams): void {
  const minimum = bidMinDeposits.find(({ denom }) => denom === deposit.denom);
  if (!minimum || minimum.amount === 0n) throw uncoded(`deposit invalid: unsupported denom ${deposit.denom}`);
  if (deposit.amount < minimum.amount) {
    throw uncoded(`deposit invalid: minimum:${formatCoin(minimum)} received:${formatCoin(deposit)}`);
  }
}

/** Lost bids do not count, and the limit itself may still be passed by one. */
function checkRoom(context: Context, id: BidId, { orderMaxBids }: MarketParams): void {
  if (bidsOf(context, id, "open", "active", "closed").length <= orderMaxBids) return;
  throw uncoded(`invalid bid: too many existing bids (${orderMaxBids})`);
}

function biddableOrder(context: Context, id: BidId): Order {
  const order = findOrder(context, id);
  if (!order) throw marketError("orderNotFound");
  if (order.state === "active") throw marketError("orderActive");
  if (order.state === "closed") throw marketError("orderClosed");
  return order;
}

function checkPrice(price: DecCoin, order: Order): void {
  if (!isValidPrice(price)) throw marketError("invalidPrice");
  const most = priceOf(order.spec);
  if (price.denom !== most.denom) throw new Panic(`invalid coin denominations; ${most.denom}, ${price.denom}`);
  if (compareDecimals(price.amount, most.amount) > 0) throw marketError("invalidPrice");
}

function checkProvider(context: Context, id: BidId, { spec }: Order): void {
  const provider = findProvider(context, id.provider);
  if (!provider) throw marketError("unknownProvider");
  if (!requirementsMatch(spec, provider.attributes, signaturesOf(context, id.provider))) {
    throw marketError("attributeMismatch");
  }
  if (!capabilitiesMatch(spec, provider.attributes)) throw marketError("capabilitiesMismatch");
}

function checkWindow(offerNs: bigint | undefined, { reclamation }: Order, params: MarketParams): void {
  if (offerNs === undefined) {
    if (reclamation) throw marketError("reclamationRequired");
    return;
  }
  if (reclamation && offerNs < reclamation.minWindowNs) throw marketError("reclamationWindowTooShort");
  if (offerNs < params.minReclamationWindowNs || offerNs > params.maxReclamationWindowNs) {
    throw marketError("reclamationWindowInvalid");
  }
}

/** MsgCreateLease: the tenant takes a bid, and the others have lost. */
export function acceptBid(context: Context, id: BidId, escrow: Escrow): void {
  const bid = must(findBid(context, id), "bidNotFound");
  if (bid.state !== "open") throw marketError("bidNotOpen");
  const order = must(findOrder(context, id), "orderNotFound");
  if (order.state !== "open") throw marketError("orderNotOpen");
  const group = must(findGroup(context, id), "groupNotFound");
  if (group.state !== "open") throw marketError("groupNotOpen");
  escrow.createPayment(context, leasePayment(id), id.provider, bid.price);
  openLease(context, order, bid);
  loseOtherBids(context, id, escrow);
}

/**
 * The chain goes no further than the first of the losers, by the text of the provider's address: what it runs when an
 * account is closed fails for that of a bid, after the refund, and ends the loop. The later losers stay open, their
 * deposits locked, until they are closed or the group ends.
 */
function loseOtherBids(context: Context, id: OrderId, escrow: Escrow): void {
  const [firstLoser] = bidsOf(context, id, "open");
  if (firstLoser) loseBid(context, escrow, firstLoser);
}
