/** Things on the chain with our ids and exact money, as read from what the codecs decode. What the chain would never write is a fault of the node. */
import type * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Group as WireGroup } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { PubKey } from "@akashnetwork/chain-sdk/private-types/cosmos.secp256k1";
import type * as cosmos from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { parseAddress } from "../market/address.ts";
import { type Coin, coinOf, type DecCoin, decCoinOf } from "../market/coin.ts";
import { type Decimal, parseDecimal } from "../market/decimal.ts";
import type { BidId, DeploymentId, GroupId, OrderId } from "../market/ids.ts";
import { malformed } from "../market/value-errors.ts";
import { decodeGroupSpec } from "./codec/group-spec.ts";
import {
  type LeaseReclamation,
  type QueryBidResponse,
  type QueryDeploymentResponse,
  type QueryLeaseResponse,
  readInt64,
  readUint64,
  type WireOrder,
} from "./codec/wire-messages.ts";

const orderStates = ["open", "active", "closed"] as const;
const bidStates = ["open", "active", "lost", "closed"] as const;
const leaseStates = ["active", "insufficient_funds", "closed", "reclaiming"] as const;
const deploymentStates = ["active", "closed"] as const;
const groupStates = ["open", "paused", "insufficient_funds", "closed"] as const;
const escrowStates = ["open", "closed", "overdrawn"] as const;

export type OrderState = (typeof orderStates)[number];
export type BidState = (typeof bidStates)[number];
export type LeaseState = (typeof leaseStates)[number];
export type DeploymentState = (typeof deploymentStates)[number];
export type EscrowState = (typeof escrowStates)[number];

/** States are numbered from 1; 0 means that none was set. */
function readState<State extends string>(states: readonly State[], number: number, what: string): State {
  const state = states[number - 1];
  if (state === undefined) throw strange(`the state ${number} of ${what}`);
  return state;
}

export type Order = Readonly<ReturnType<typeof readOrder>>;

export function readOrder(wire: WireOrder | undefined) {
  const { id, state, spec, createdAt, reclamation } = present(wire, "an order");
  return {
    id: readOrderId(id),
    state: readState(orderStates, state, "an order"),
    spec: decodeGroupSpec(spec),
    createdAt: readInt64(createdAt),
    /** How long before a reclamation the tenant must be notified; undefined where reclaiming is not agreed on. */
    reclamationWindowNs: reclamation?.minWindowNs,
  };
}

export type Account = Readonly<ReturnType<typeof readAccount>>;

export function readAccount(wire: cosmos.BaseAccount | undefined) {
  const { address, accountNumber, sequence, pubKey } = present(wire, "an account");
  return {
    address: parseAddress(address),
    number: readUint64(accountNumber),
    sequence: readUint64(sequence),
    /** Undefined until it has signed something. */
    publicKey: pubKey && readPublicKey(pubKey),
  };
}

const secp256k1Bytes = 33;

export type PublicKey = Readonly<ReturnType<typeof readPublicKey>>;

/** `secp256k1` is compressed; undefined for a key of another kind, as that of several who sign together. */
function readPublicKey({ typeUrl, value }: NonNullable<cosmos.BaseAccount["pubKey"]>) {
  if (typeUrl !== "/cosmos.crypto.secp256k1.PubKey") return { type: typeUrl, secp256k1: undefined };
  const { key } = PubKey.decode(value);
  if (key.length !== secp256k1Bytes) throw strange(`a secp256k1 key of ${key.length} bytes`);
  return { type: typeUrl, secp256k1: Uint8Array.from(key) };
}

export type Bid = Readonly<ReturnType<typeof readBid>>;

export function readBid({ bid, escrowAccount }: QueryBidResponse, height: bigint) {
  if (!bid) throw strange("an answer without a bid");
  return {
    id: readBidId(bid.id),
    state: readState(bidStates, bid.state, "a bid"),
    price: readPrice(bid.price),
    createdAt: readInt64(bid.createdAt),
    offer: bid.resourcesOffer,
    reclamationWindowNs: bid.reclamationWindowNs,
    escrow: escrowAccount && readEscrowAccount(escrowAccount, height),
  };
}

export type Reclamation = LeaseReclamation;
export type Lease = Readonly<ReturnType<typeof readLease>>;

export function readLease({ lease, escrowPayment }: QueryLeaseResponse, height: bigint) {
  if (!lease) throw strange("an answer without a lease");
  return {
    id: readBidId(lease.id),
    state: readState(leaseStates, lease.state, "a lease"),
    price: readPrice(lease.price),
    createdAt: readInt64(lease.createdAt),
    /** Height; 0 while it runs. */
    closedOn: readInt64(lease.closedOn),
    /** The chain's number for why it was closed; 0 while it runs. */
    reason: lease.reason,
    reclamation: lease.reclamation,
    payment: escrowPayment && readEscrowPayment(escrowPayment, height),
  };
}

/** A lease that is being reclaimed runs on until the tenant's time is over. */
export function runs(lease: Pick<Lease, "state"> | undefined): boolean {
  return lease?.state === "active" || lease?.state === "reclaiming";
}

export type Deployment = Readonly<ReturnType<typeof readDeployment>>;

export function readDeployment({ deployment, groups, escrowAccount }: QueryDeploymentResponse, height: bigint) {
  if (!deployment) throw strange("an answer without a deployment");
  return {
    id: readDeploymentId(deployment.id),
    state: readState(deploymentStates, deployment.state, "a deployment"),
    /** Of the manifest. */
    hash: deployment.hash,
    createdAt: readInt64(deployment.createdAt),
    reclamationWindowNs: deployment.reclamation?.minWindowNs,
    groups: groups.map(readGroup),
    escrow: escrowAccount && readEscrowAccount(escrowAccount, height),
  };
}

function readGroup(wire: WireGroup | undefined) {
  if (!wire) throw strange("an answer without a group");
  return {
    id: readGroupId(wire.id),
    state: readState(groupStates, wire.state, "a group"),
    spec: decodeGroupSpec(wire.groupSpec),
    createdAt: readInt64(wire.createdAt),
  };
}

const scopes = ["deployment", "bid"] as const;

function accountKey(id: { scope: number; xid: string } | undefined): string {
  return `${readState(scopes, id?.scope ?? 0, "an escrow account's scope")}/${id?.xid ?? ""}`;
}

export type EscrowAccount = Readonly<ReturnType<typeof readEscrowAccount>>;

export function readEscrowAccount({ id, state }: akash.Types_Account, height: bigint) {
  if (!state) throw strange("an escrow account without a state");
  return {
    /** "deployment/owner/dseq" or "bid/owner/dseq/gseq/oseq/provider". */
    key: accountKey(id),
    /** At which these figures were read: they are true of it. */
    height,
    owner: state.owner,
    state: readState(escrowStates, state.state, "an escrow account"),
    /** Height up to which its payments are settled. */
    settledAt: readInt64(state.settledAt),
    /** Below zero where the account is overdrawn. */
    funds: state.funds.map(({ denom, amount }) => ({ denom, amount: parseDecimal(amount || "0") })),
    /** The owner's initial deposit; any account may have added to it since. Undefined where the chain does not return it. */
    opening: state.deposits[0] && readPrice(state.deposits[0].balance),
    transferred: state.transferred.map(readPrice),
  };
}

/** Of the account of a bid: what is paid back at its end. What others have added goes back to them. */
export function openingOf({ opening, funds }: Pick<EscrowAccount, "opening" | "funds">) {
  return opening ? [opening] : funds;
}

export type EscrowPayment = Readonly<ReturnType<typeof readEscrowPayment>>;

export function readEscrowPayment({ id, state }: akash.Types_Payment, height: bigint) {
  if (!state) throw strange("an escrow payment without a state");
  return {
    /** "deployment/owner/dseq/gseq/oseq/provider". */
    key: `${accountKey(id?.aid)}/${id?.xid ?? ""}`,
    /** At which these figures were read: they are true of it. */
    height,
    owner: state.owner,
    state: readState(escrowStates, state.state, "an escrow payment"),
    /** Per block. */
    rate: readPrice(state.rate),
    balance: readPrice(state.balance),
    unsettled: readPrice(state.unsettled),
    withdrawn: readCoin(state.withdrawn),
  };
}

function readPrice(wire: cosmos.DecCoin | undefined): DecCoin {
  if (!wire) throw strange("an amount that is missing");
  return decCoinOf(parseDecimal(wire.amount || "0"), wire.denom);
}

export function readCoin(wire: cosmos.Coin | undefined): Coin {
  if (!wire || !/^\d+$/.test(wire.amount)) throw strange("an amount that is no whole number");
  return coinOf(BigInt(wire.amount), wire.denom);
}

function readDeploymentId(wire: akash.DeploymentID | undefined): DeploymentId {
  const { owner, dseq } = present(wire, "an id");
  return { owner: parseAddress(owner), dseq: readUint64(dseq) };
}

function readGroupId(wire: akash.GroupID | undefined): GroupId {
  return { ...readDeploymentId(wire), gseq: present(wire, "an id").gseq };
}

function readOrderId(wire: akash.OrderID | undefined): OrderId {
  return { ...readGroupId(wire), oseq: present(wire, "an id").oseq };
}

/** Also a lease's. */
function readBidId(wire: akash.BidID | undefined): BidId {
  const { provider, bseq } = present(wire, "an id");
  return { ...readOrderId(wire), provider: parseAddress(provider), bseq };
}

export function present<T>(wire: T | undefined, what: string): T {
  if (wire === undefined) throw strange(`an answer without ${what}`);
  return wire;
}

export function strange(what: string): Error {
  return malformed(what, "an answer of the chain", "this program does not know it", "the answers of its own version");
}

/** What an account holds of one denomination, and the height at which that was read. */
export interface Balance extends Coin {
  readonly height: bigint;
}

/** What the chain's oracle says that one of a denomination is worth: the average that the chain itself uses. */
export interface OraclePrice {
  readonly dollars: Decimal;
  /** When it was computed: the time of a block. */
  readonly timeNs: bigint;
}
