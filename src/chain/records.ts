/** Things on the chain as the rest of the program sees them: our ids and exact money, the chain's own names of states. */
import type { ResourceOffer } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { Address } from "../market/address.ts";
import type { Coin, DecCoin } from "../market/coin.ts";
import type { Decimal } from "../market/decimal.ts";
import type { GroupSpec } from "../market/group-spec.ts";
import type { BidId, DeploymentId, GroupId, LeaseId, OrderId } from "../market/ids.ts";

export type OrderState = "open" | "active" | "closed";
export type BidState = "open" | "active" | "lost" | "closed";
export type LeaseState = "active" | "insufficient_funds" | "closed" | "reclaiming";
export type DeploymentState = "active" | "closed";
export type GroupState = "open" | "paused" | "insufficient_funds" | "closed";
export type EscrowState = "open" | "closed" | "overdrawn";

export interface Order {
  readonly id: OrderId;
  readonly state: OrderState;
  readonly spec: GroupSpec;
  readonly createdAt: bigint;
  /** How long before a reclamation the tenant wants to be told; undefined where reclaiming is not agreed on. */
  readonly reclamationWindowNs: bigint | undefined;
}

export interface Bid {
  readonly id: BidId;
  readonly state: BidState;
  readonly price: DecCoin;
  readonly createdAt: bigint;
  readonly offer: readonly ResourceOffer[];
  readonly reclamationWindowNs: bigint | undefined;
  readonly escrow: EscrowAccount | undefined;
}

export interface Lease {
  readonly id: LeaseId;
  readonly state: LeaseState;
  readonly price: DecCoin;
  readonly createdAt: bigint;
  /** Height; 0 while it runs. */
  readonly closedOn: bigint;
  /** The chain's number for why it was closed; 0 while it runs. */
  readonly reason: number;
  readonly reclamation: Reclamation | undefined;
  readonly payment: EscrowPayment | undefined;
}

/** A lease that is being reclaimed runs on until the tenant has had his time. */
export function runs(lease: Pick<Lease, "state"> | undefined): boolean {
  return lease?.state === "active" || lease?.state === "reclaiming";
}

export interface Reclamation {
  readonly windowNs: bigint;
  /** Height; 0 until it has started. */
  readonly startedAt: bigint;
  /** Seconds since the epoch; 0 until it has started. */
  readonly deadline: bigint;
  readonly reason: number;
}

export interface Deployment {
  readonly id: DeploymentId;
  readonly state: DeploymentState;
  /** Of the manifest. */
  readonly hash: Uint8Array;
  readonly createdAt: bigint;
  readonly reclamationWindowNs: bigint | undefined;
  readonly groups: readonly Group[];
  readonly escrow: EscrowAccount | undefined;
}

export interface Group {
  readonly id: GroupId;
  readonly state: GroupState;
  readonly spec: GroupSpec;
  readonly createdAt: bigint;
}

/** An amount that is below zero where an account is overdrawn. */
export interface SignedDecCoin {
  readonly denom: string;
  readonly amount: Decimal;
}

export interface EscrowAccount {
  /** "deployment/owner/dseq" or "bid/owner/dseq/gseq/oseq/provider". */
  readonly key: string;
  /** At which these figures were read: they are true of it. */
  readonly height: bigint;
  readonly owner: string;
  readonly state: EscrowState;
  /** Height up to which its payments are settled. */
  readonly settledAt: bigint;
  readonly funds: readonly SignedDecCoin[];
  /** What its owner opened it with; anybody may have added to it since. Undefined where the chain does not tell. */
  readonly opening: DecCoin | undefined;
  readonly transferred: readonly DecCoin[];
}

/** Of the account of a bid: what comes home at its end. What strangers have added goes back to them. */
export function openingOf({ opening, funds }: EscrowAccount): readonly SignedDecCoin[] {
  return opening ? [opening] : funds;
}

export interface EscrowPayment {
  /** "deployment/owner/dseq/gseq/oseq/provider". */
  readonly key: string;
  /** At which these figures were read: they are true of it. */
  readonly height: bigint;
  readonly owner: string;
  readonly state: EscrowState;
  /** Per block. */
  readonly rate: DecCoin;
  readonly balance: DecCoin;
  readonly unsettled: DecCoin;
  readonly withdrawn: Coin;
}

/** What an account holds of one denomination, and the height at which that was read. */
export interface Balance extends Coin {
  readonly height: bigint;
}

/** What the chain's oracle says that one of a denomination is worth: its average, which the chain reckons with itself. */
export interface OraclePrice {
  readonly dollars: Decimal;
  /** When it was reckoned: the time of a block. */
  readonly timeNs: bigint;
}

export interface Account {
  readonly address: Address;
  readonly number: bigint;
  readonly sequence: bigint;
  /** Undefined until it has signed something. */
  readonly publicKey: PublicKey | undefined;
}

export interface PublicKey {
  /** The chain's name of its kind. */
  readonly type: string;
  /** Compressed, 33 bytes; undefined where it is of another kind, as that of several who sign together. */
  readonly secp256k1: Uint8Array | undefined;
}
