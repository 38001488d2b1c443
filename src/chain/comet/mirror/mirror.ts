/**
 * Open orders, our bids and leases and their deployments in memory, built from lists and kept by blocks. Absence proves
 * nothing: before destroying something, ask the chain.
 */
import type { Address } from "../../../market/address.ts";
import {
  type BidId,
  type DeploymentId,
  formatBidId,
  formatDeploymentId,
  formatOrderId,
  type LeaseId,
  type OrderId,
} from "../../../market/ids.ts";
import { largest } from "../../../runtime/bigint.ts";
import { endedBy } from "../../../runtime/ended-by.ts";
import type { Log } from "../../../runtime/log.ts";
import type { ChainBlock } from "../../block.ts";
import type { MirrorKey, MirrorView, Queries } from "../../chain.ts";
import type { Bid, Lease } from "../../records.ts";
import {
  type BlockReads,
  changedBalances,
  changesOf,
  differences,
  isLive,
  type MirrorChanges,
  type MirrorLists,
  type MirrorState,
  readChanges,
  readLists,
  stateOf,
} from "./mirror-changes.ts";

/** Blocks behind the head from which on the mirror is rebuilt instead of following every one. */
export const rpcMirrorLagBlocks = 50n;
/** Ended leases and bids that are kept in view until the next comparison. */
const rpcMirrorEnded = 10_000;

interface MirrorDeps {
  readonly queries: Queries;
  readonly provider: Address;
  readonly log: Log;
}

/** Its changing methods are called one at a time: a block must not change what is just being built. */
export class Mirror implements MirrorView {
  readonly #deps: MirrorDeps;
  readonly #waiting = new Set<{ readonly height: bigint; readonly reached: () => void }>();
  #state = stateOf([], [], [], [], []);
  height = 0n;
  timeNs = 0n;
  ready = false;
  /** Builds and comparisons with lists of its own height. `drift`: things that differed; more than 0 is a fault of ours. */
  readonly counts = { builds: 0, comparisons: 0, drift: 0 };

  constructor(deps: MirrorDeps) {
    this.#deps = deps;
  }

  orders = () => this.#state.orders.values();
  bids = () => this.#state.bids.values();
  leases = () => this.#state.leases.values();
  balances = () => this.#state.balances.values();
  order = (id: OrderId) => this.#state.orders.get(formatOrderId(id));
  bid = (id: BidId) => this.#state.bids.get(formatBidId(id));
  lease = (id: LeaseId) => this.#state.leases.get(formatBidId(id));
  deployment = (id: DeploymentId) => this.#state.deployments.get(formatDeploymentId(id));
  balance = (denom: string) => this.#state.balances.get(denom);

  reached(wanted: bigint, signal: AbortSignal): Promise<void> {
    if (this.height >= wanted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const each = { height: wanted, reached: resolve };
    this.#waiting.add(each);
    return endedBy(promise, signal).finally(() => this.#waiting.delete(each));
  }

  /** Builds it from the lists of a node at this height or above; gives what is different now. */
  async build(atOrAbove: bigint, signal?: AbortSignal): Promise<readonly MirrorKey[]> {
    const { queries, provider } = this.#deps;
    // Never back in time, also where less would do.
    const floor = largest(atOrAbove, this.height);
    const changed = await this.#adopt(await readLists(queries, provider, { atOrAbove: floor, signal }), signal);
    this.counts.builds += 1;
    return changed;
  }

  /** Compares it with the chain's lists and adopts them, since escrow figures change without an event; gives what changed. */
  async compare(signal?: AbortSignal): Promise<readonly MirrorKey[]> {
    const { queries, provider, log } = this.#deps;
    const { height } = this;
    const lists = await readLists(queries, provider, { atOrAbove: height, height, signal });
    // Lists of another height differ for good reasons.
    if (lists.steady && lists.height === height) {
      const drifted = differences(this.#state, lists.state);
      this.counts.comparisons += 1;
      this.counts.drift += drifted.length;
      if (drifted.length > 0) log.error("mirror differed from the chain", { height, drifted: drifted.slice(0, 10) });
    }
    return this.#adopt(lists, signal);
  }

  async #adopt({ height, state }: MirrorLists, signal?: AbortSignal): Promise<readonly MirrorKey[]> {
    const timeNs = await this.#deps.queries.blockTimeNs(height, { signal });
    const before = this.#state;
    const changed = [...differences(before, state), ...changedBalances(before.balances, state.balances)];
    keepEnded(before.bids, state.bids);
    keepEnded(before.leases, state.leases);
    this.#state = state;
    this.ready = true;
    this.#arrive(height, timeNs);
    return changed;
  }

  #arrive(height: bigint, blockNs: bigint): void {
    this.height = height;
    this.timeNs = blockNs;
    for (const each of this.#waiting) if (each.height <= height) each.reached();
  }

  /** Takes a block into account; gives what it changed. `head` is how far the chain is. */
  async apply(block: ChainBlock, head: bigint): Promise<readonly MirrorKey[]> {
    const { queries, provider } = this.#deps;
    const isAhead = block.height <= this.height;
    const changes = changesOf(block, { provider, state: this.#state, isAhead });
    // Also while older blocks are replayed: they take their time, and the chain goes on meanwhile.
    const isTooFarBehind = head - (isAhead ? this.height : block.height) > rpcMirrorLagBlocks;
    const needsLists = !this.ready || block.malformed.length > 0;
    if (isTooFarBehind || (needsLists && !isAhead)) return [...changes.keys, ...(await this.build(block.height))];
    if (isAhead) return changes.keys;
    const balances = this.#take(await readChanges(queries, provider, changes, block.height), changes);
    this.#arrive(block.height, block.timeNs);
    return [...changes.keys, ...balances];
  }

  #take(read: BlockReads, { endedOrders }: MirrorChanges): MirrorKey[] {
    const { orders, bids, leases, deployments } = this.#state;
    if (read.allOrders) orders.clear();
    for (const order of read.allOrders ?? read.orders) {
      const key = formatOrderId(order.id);
      if (order.state === "open") orders.set(key, order);
      else orders.delete(key);
    }
    for (const key of endedOrders) orders.delete(key);
    for (const bid of read.bids) bids.set(formatBidId(bid.id), bid);
    for (const lease of read.leases) leases.set(formatBidId(lease.id), lease);
    for (const deployment of read.deployments) deployments.set(formatDeploymentId(deployment.id), deployment);
    const before = this.#state.balances;
    const balances = read.balances ? new Map(read.balances.map((each) => [each.denom, each])) : before;
    this.#state = { ...this.#state, balances };
    forgetEnded(this.#state);
    return changedBalances(before, balances);
  }
}

export const createMirror = (deps: MirrorDeps) => new Mirror(deps);

/** How something ended is not in the lists of what lives. */
function keepEnded<T extends Bid | Lease>(from: Map<string, T>, to: Map<string, T>): void {
  for (const [key, record] of from) if (!isLive(record) && !to.has(key)) to.set(key, record);
}

/** Ended things stay in view, so that it is known how they ended, but not for ever. */
function forgetEnded(state: MirrorState): void {
  for (const records of [state.bids, state.leases]) forgetOldest(records);
  const used = new Set([...state.leases.values()].filter(isLive).map(({ id }) => formatDeploymentId(id)));
  for (const key of state.deployments.keys()) if (!used.has(key)) state.deployments.delete(key);
}

function forgetOldest(records: Map<string, Bid | Lease>): void {
  if (records.size <= rpcMirrorEnded) return;
  const ended = [...records].filter(([, record]) => !isLive(record)).map(([key]) => key);
  for (const key of ended.slice(0, Math.max(0, ended.length - rpcMirrorEnded))) records.delete(key);
}
