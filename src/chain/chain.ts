/** What services need of the chain: a mirror to look things up, steps with changed keys, queries for proof, and the outbox. */
import type { AuditedProvider, CertificateResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Provider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import type { NewIntent, SettledState } from "../journal/intents.ts";
import type { Address } from "../market/address.ts";
import type { Coin } from "../market/coin.ts";
import type { BidId, DeploymentId, LeaseId, OrderId } from "../market/ids.ts";
import type { ProviderError } from "../runtime/errors.ts";
import type { ChainBlock } from "./block.ts";
import type { MarketParams } from "./codec/wire-messages.ts";
import type {
  Account,
  Balance,
  Bid,
  BidState,
  Deployment,
  DeploymentState,
  EscrowAccount,
  EscrowPayment,
  Lease,
  LeaseState,
  OraclePrice,
  Order,
  OrderState,
} from "./records.ts";
import type { Broadcaster } from "./tx/broadcaster.ts";
import type { PackedMessage } from "./tx/messages.ts";

export interface Chain {
  readonly chainId: string;
  /** Whose bids and leases are mirrored. */
  readonly provider: Address;
  readonly mirror: MirrorView;
  /** Reads of the chain itself. `atOrAbove` makes sure that the answer is no older than what we know already. */
  readonly queries: Queries;
  /** Messages of the provider, each sent exactly once. */
  readonly outbox: Outbox;
  /** For transactions of other accounts than the provider's. */
  readonly broadcaster: Broadcaster;
  readonly height: bigint;
  /** The last block that an earlier run worked through; undefined if there was none. */
  readonly resumedAt: bigint | undefined;
  readonly status: ChainStatus;
  /** Called with every step along the chain, in order, before the cursor moves past it; a step may come again. */
  onStep(listener: StepListener): void;
  /** Compares the mirror with the chain's lists now and puts right what differs; else that happens now and then. */
  compareMirror(signal?: AbortSignal): Promise<readonly MirrorKey[]>;
}

/** The mirror as loops see it: synchronous, and true of its height or a little later. */
export interface MirrorView {
  /** Built at least once. Until then it is empty, and that means nothing. */
  readonly ready: boolean;
  readonly height: bigint;
  /** When the block of its height was made: the age of all that is in it. 0 until it was built. */
  readonly timeNs: bigint;
  /** Resolves once it holds what happened up to this height. */
  reached(height: bigint, signal: AbortSignal): Promise<void>;
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
  readonly changed: readonly MirrorKey[];
}

/** Blocks that are lost: what they changed was read from the chain's lists. */
export interface Gap {
  readonly from: bigint;
  readonly to: bigint;
}

/** Which thing changed. Says nothing about what it is now: look it up. */
export interface MirrorKey {
  readonly kind: "order" | "bid" | "lease" | "deployment" | "provider" | "balance";
  /** Of a balance its denomination. */
  readonly key: string;
}

export type StepListener = (step: Step) => Promise<void> | void;

/** Sends what was decided, exactly once, whatever happens to this process or to the nodes. */
export interface Outbox {
  /** Resolves with the intent's id when it is safe in the journal; it is sent with the next transaction. */
  file(request: SendRequest): Promise<number>;
  /** Resolves when the intent is settled, at once when it already is. */
  wait(id: number): Promise<Settled>;
  /** Called for every intent when it is settled; what it returns ends that. */
  onSettled(listener: (settled: Settled) => void): () => void;
  /** True when the intent had not left: now it never will. False when it is under way or settled. */
  cancel(id: number, why: string): Promise<boolean>;
  /** The request as the journal takes it, for a unit of one's own; `wake` afterwards. */
  intentOf(request: SendRequest): NewIntent;
  wake(): void;
  readonly counts: { readonly owed: number; readonly inFlight: number; readonly broadcasts: number };
  readonly state: OutboxState;
}

/** What keeps the outbox from its work, while that is so. */
export interface OutboxState {
  readonly stalled: ProviderError | undefined;
  /** Why the last attempt to work came to nothing: most often, no node answered. */
  readonly silent: string | undefined;
  /** A transaction whose time has passed and whose fate no node can know; its intents wait. */
  readonly unproven: ProviderError | undefined;
}

/** One message for the chain, what it is about and how urgent it is. */
export interface SendRequest {
  /** The order, bid or lease that it is about. What is about one subject happens in the order it was filed. */
  readonly subject: string;
  readonly why: string;
  readonly message: PackedMessage;
  readonly priority: "close" | "bid" | "account" | "withdraw";
  /** After this it is worthless: it is not sent any more, and what was sent before can come into no block after it. */
  readonly expiresAtMs?: number;
}

/** How an intent ended. A failed one says what the chain said; a simulation gives words but no code. */
export interface Settled {
  readonly id: number;
  readonly state: SettledState;
  readonly result: SettledResult;
}

export interface SettledResult {
  readonly txHash?: string;
  readonly height?: string;
  readonly code?: number;
  readonly codespace?: string;
  readonly log?: string;
  /** Fees of all transactions that carried it, also failed ones, in equal shares: they add up to what was paid. */
  readonly fee?: string;
  /** Who paid the last of it, if it was another account. */
  readonly feePayer?: string;
  /** Shared in the same way. */
  readonly gasUsed?: string;
  /** Coins that its message brought to our account, and those that it took; the fee is not in it. */
  readonly received?: string;
  readonly spent?: string;
}

export interface ChainStatus {
  /** Undefined until a node has answered. */
  readonly chainId: string | undefined;
  readonly nodes: readonly { readonly name: string; readonly condition: string }[];
  /** The newest block that was followed, or that most nodes report if it is higher. It falls when nodes overstated it. */
  readonly head: bigint | undefined;
  readonly blockTimeMs: number;
  /** How old the mirror's view is, by the time of its block; undefined until it was built. */
  readonly mirrorAgeMs: number | undefined;
  readonly reason: string | undefined;
}

/** All queries, by name. A single thing that is not there is undefined, at the height of the answer. */
export interface Queries {
  readonly account: One<Address, Account>;
  readonly balances: Many<Address, Coin>;
  readonly provider: One<Address, Provider>;
  readonly auditedAttributes: Many<Address, AuditedProvider>;
  readonly certificates: Many<{ owner?: string; serial?: string; state?: "valid" | "revoked" }, CertificateResponse>;
  readonly deployment: One<DeploymentId, Deployment>;
  readonly deployments: Many<Pick<MarketFilter<DeploymentState>, "state" | "owner" | "dseq">, Deployment>;
  readonly order: One<OrderId, Order>;
  readonly orders: Many<MarketFilter<OrderState>, Order>;
  readonly bid: One<BidId, Bid>;
  readonly bids: Many<MarketFilter<BidState>, Bid>;
  readonly lease: One<LeaseId, Lease>;
  readonly leases: Many<MarketFilter<LeaseState>, Lease>;
  readonly marketParams: One<undefined, MarketParams>;
  /** Of a denomination as the oracle names it, like akt. Throws AKP_CHAIN_NO_ORACLE_PRICE where there is none to rely on. */
  oraclePrice(denom: string, options?: QueryOptions): Promise<At<OraclePrice>>;
  /** Of a deployment's account: to every provider that it pays or has paid. */
  readonly paymentsOf: Many<DeploymentId, EscrowPayment>;
  /** Of all deployments on the network: what is in them, and what is paid out of them, to whomever. */
  readonly openEscrowAccounts: Many<undefined, EscrowAccount>;
  readonly openEscrowPayments: Many<undefined, EscrowPayment>;
  /** On an order, of everybody and whatever became of them; the chain's parameters bound them. */
  bidCount(order: OrderId, options?: QueryOptions): Promise<At<number>>;
  blockTimeNs(height: bigint, options?: Pick<QueryOptions, "signal">): Promise<bigint>;
}

export type One<Request, Value> = (request: Request, options?: QueryOptions) => Promise<At<Value | undefined>>;
export type Many<Filter, Value> = (filter: Filter, options?: QueryOptions) => Promise<Listed<Value>>;

export interface QueryOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** The answering node must have just reported this height or a higher one. For what must not be stale. */
  readonly atOrAbove?: bigint | undefined;
  /** The state after this block; nodes keep some of the last ones. Without it, the newest state. */
  readonly height?: bigint | undefined;
  /** Only this node, for what must come from one. */
  readonly node?: string | undefined;
  readonly pageEntries?: number;
  /** Of a list, how many pages to read at most, where the first of it will do. */
  readonly pages?: number;
}

/** What the chain said, and the height of the state in which that was so. */
export interface At<T> {
  readonly value: T;
  readonly height: bigint;
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

/** What is left out is not filtered by. */
export interface MarketFilter<State> {
  readonly state?: State;
  readonly owner?: string;
  readonly dseq?: bigint;
  readonly gseq?: number;
  readonly oseq?: number;
  readonly provider?: string;
}

/** Why the mirror must not be relied on: until it was built, it is empty. */
export function mirrorUnavailable({ ready }: Pick<MirrorView, "ready">): string | undefined {
  return ready ? undefined : "the mirror has not been built yet";
}
