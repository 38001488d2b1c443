/**
 * What the services need of the chain. They look things up in the mirror, are told which keys changed, and ask the
 * chain itself before they destroy anything or when the mirror does not hold what they want to know.
 */
import type { AuditedProvider, CertificateResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Provider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import type { Address } from "../market/address.ts";
import type { Coin } from "../market/coin.ts";
import type { BidId, DeploymentId, LeaseId, OrderId } from "../market/ids.ts";
import type { ChainBlock } from "./block.ts";
import type { MarketParams } from "./codec/reclamation.ts";
import type {
  Account,
  Balance,
  Bid,
  BidState,
  Deployment,
  DeploymentState,
  EscrowPayment,
  Lease,
  LeaseState,
  Order,
  OrderState,
} from "./records.ts";

export interface Chain {
  /** Known once the service has started. */
  readonly chainId: string;
  /** Whose bids and leases are mirrored. */
  readonly provider: Address;
  readonly mirror: MirrorView;
  /** Reads of the chain itself. `atOrAbove` makes sure that the answer is no older than what we know already. */
  readonly queries: Queries;
  /** The last block that was worked through. */
  readonly height: bigint;
  readonly status: ChainStatus;
  /** Called with every step along the chain, in order, before the cursor moves past it; a step may come again. */
  onStep(listener: StepListener): void;
}

/** The mirror as loops see it: synchronous, and true of its height or a little later. */
export interface MirrorView {
  /** Built at least once. Until then it is empty, and that means nothing. */
  readonly ready: boolean;
  readonly height: bigint;
  /** When the block of its height was made: the age of all that is in it. 0 until it was built. */
  readonly timeNs: bigint;
  /** Resolves once it holds what happened up to this height; whoever did something there finds it done. */
  reached(height: bigint, signal: AbortSignal): Promise<void>;
  /** All open orders. */
  orders(): Iterable<Order>;
  order(id: OrderId): Order | undefined;
  /** Ours that are open or won, and those that ended while we watched. */
  bids(): Iterable<Bid>;
  bid(id: BidId): Bid | undefined;
  /** Ours that run or are being reclaimed, and those that ended while we watched. */
  leases(): Iterable<Lease>;
  lease(id: LeaseId): Lease | undefined;
  /** Those that our running leases belong to. */
  deployment(id: DeploymentId): Deployment | undefined;
  /** What our account holds; a denomination of which there is none is not in it. */
  balances(): Iterable<Balance>;
  balance(denom: string): Balance | undefined;
}

export interface Step {
  /** Undefined where blocks are lost or the mirror was compared with the chain. */
  readonly block?: ChainBlock;
  readonly gap?: Gap;
  /** What may be different now. */
  readonly changed: readonly MirrorKey[];
}

/** Blocks that are lost: what they changed was read from the chain's lists. */
export interface Gap {
  readonly from: bigint;
  readonly to: bigint;
}

/** Which thing changed. Says nothing about what it is now: look it up. */
export interface MirrorKey {
  readonly kind: "order" | "bid" | "lease" | "deployment" | "provider" | "escrow" | "balance";
  /** Of escrow that of the account or the payment, of a balance its denomination. */
  readonly key: string;
}

export type StepListener = (step: Step) => Promise<void> | void;

/** For the live view, the status documents and metrics. */
export interface ChainStatus {
  /** Undefined until a node has told. */
  readonly chainId: string | undefined;
  readonly nodes: readonly NodeState[];
  readonly head: bigint | undefined;
  readonly blockTimeMs: number;
  /** How old the mirror's view is, by the time of its block; undefined until it was built. */
  readonly mirrorAgeMs: number | undefined;
  /** Why nothing comes just now, or what else is wrong, in words. */
  readonly trouble: string | undefined;
}

/** An RPC node. */
export interface NodeState {
  readonly name: string;
  readonly condition: string;
}

/** Everything that we ask the chain, by name. A single thing that is not there is undefined, at the height of the answer. */
export interface Queries {
  readonly account: One<Address, Account>;
  readonly balances: Many<Address, Coin>;
  readonly provider: One<Address, Provider>;
  /** What every auditor has signed about a provider. */
  readonly auditedAttributes: Many<Address, AuditedProvider>;
  readonly certificates: Many<CertificateFilter, CertificateResponse>;
  readonly deployment: One<DeploymentId, Deployment>;
  readonly deployments: Many<DeploymentFilter, Deployment>;
  readonly order: One<OrderId, Order>;
  readonly orders: Many<MarketFilter<OrderState>, Order>;
  readonly bid: One<BidId, Bid>;
  readonly bids: Many<MarketFilter<BidState>, Bid>;
  readonly lease: One<LeaseId, Lease>;
  readonly leases: Many<MarketFilter<LeaseState>, Lease>;
  readonly marketParams: One<undefined, MarketParams>;
  /** Of a deployment's account: to every provider that it pays or has paid. */
  readonly paymentsOf: Many<DeploymentId, EscrowPayment>;
  /** On an order, of everybody and whatever became of them; the chain's parameters bound them. */
  bidCount(order: OrderId, options?: QueryOptions): Promise<At<number>>;
  /** When the block of this height was made. */
  blockTimeNs(height: bigint, options?: Pick<QueryOptions, "signal">): Promise<bigint>;
}

export type One<Request, Value> = (request: Request, options?: QueryOptions) => Promise<At<Value | undefined>>;
export type Many<Filter, Value> = (filter: Filter, options?: QueryOptions) => Promise<Listed<Value>>;

export interface QueryOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** The answering node must have told just now that it is at this height or above. For what must not be stale. */
  readonly atOrAbove?: bigint | undefined;
  /** The state after this block; nodes keep some of the last ones. Without it, the newest state. */
  readonly height?: bigint | undefined;
  /** Only this node, for what must come from one. */
  readonly node?: string | undefined;
  /** Of a list, how many entries to ask for at once. */
  readonly pageEntries?: number;
}

/** What the chain said, and the height of the state in which that was so. */
export interface At<T> {
  readonly value: T;
  readonly height: bigint;
  /** The node that said it. */
  readonly node: string;
}

export interface Listed<T> {
  readonly items: readonly T[];
  /** Everything up to this height is in it. */
  readonly height: bigint;
  /** All of it is of that one height. */
  readonly steady: boolean;
  readonly node: string;
}

/** What is left out of a filter is not asked for. */
export interface DeploymentFilter {
  readonly state?: DeploymentState;
  readonly owner?: string;
  readonly dseq?: bigint;
}

export interface MarketFilter<State> {
  readonly state?: State;
  readonly owner?: string;
  readonly dseq?: bigint;
  readonly gseq?: number;
  readonly oseq?: number;
  readonly provider?: string;
}

export interface CertificateFilter {
  readonly owner?: string;
  readonly serial?: string;
  readonly state?: "valid" | "revoked";
}
