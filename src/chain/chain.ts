/**
 * What the services need of the chain. They look things up in the mirror, are told which keys changed, and ask the
 * chain itself before they destroy anything or when the mirror does not hold what they want to know.
 */
import type { Address } from "../market/address.ts";
import type { BidId, DeploymentId, LeaseId, OrderId } from "../market/ids.ts";
import type { ChainBlock } from "./comet/block.ts";
import type { CursorUnit } from "./comet/cursor-writer.ts";
import type { Gap } from "./comet/gap.ts";
import type { MemberState } from "./comet/member.ts";
import type { MirrorKey } from "./comet/mirror/mirror-state.ts";
import type { Queries } from "./comet/queries/queries.ts";
import type { Balance, Bid, Deployment, Lease, Order } from "./records.ts";

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

/** May return what is to be written together with the cursor. */
export type StepListener = (step: Step) => Promise<CursorUnit | undefined> | CursorUnit | undefined;

/** For the live view, the status documents and metrics. */
export interface ChainStatus {
  /** Undefined until a node has told. */
  readonly chainId: string | undefined;
  readonly nodes: readonly MemberState[];
  readonly head: bigint | undefined;
  readonly blockTimeMs: number;
  /** How old the mirror's view is, by the time of its block; undefined until it was built. */
  readonly mirrorAgeMs: number | undefined;
  /** Why nothing comes just now, or what else is wrong, in words. */
  readonly trouble: string | undefined;
}
