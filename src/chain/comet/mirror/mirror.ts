/**
 * What concerns us of the chain, in memory: open orders, our bids and leases, the deployments that pay them. Built from
 * the chain's lists and kept by the follower's blocks, so that a thousand orders cost no thousand queries and a loop
 * can look things up without waiting. That something is not in it proves nothing: whoever destroys asks the chain.
 */
import type { Address } from "../../../market/address.ts";
import { formatBidId, formatDeploymentId, formatOrderId } from "../../../market/ids.ts";
import { largest } from "../../../runtime/bigint.ts";
import { endedBy } from "../../../runtime/ended-by.ts";
import type { Log } from "../../../runtime/log.ts";
import type { ChainBlock } from "../../block.ts";
import type { MirrorKey, MirrorView, Queries } from "../../chain.ts";
import type { Bid, Lease } from "../../records.ts";
import { type BlockReads, changesOf, type MirrorChanges, readChanges } from "./mirror-changes.ts";
import { readLists } from "./mirror-lists.ts";
import {
  changedFigures,
  copyState,
  differences,
  isLive,
  type MirrorState,
  refreshFigures,
  stateOf,
} from "./mirror-state.ts";

/** Blocks behind the head from which on the mirror is built anew instead of being led through every one. */
export const rpcMirrorLagBlocks = 50n;
/** Ended leases and bids that are kept in view until the next comparison. */
const rpcMirrorEnded = 10_000;

export interface MirrorCounts {
  /** Times that it was built from lists. */
  builds: number;
  /** Comparisons with the lists of its own height. */
  comparisons: number;
  /** Things that were not as the chain had them; anything but 0 is a fault of ours. */
  drift: number;
}

/** What changes it is called one at a time: a block must not change what is just being built. */
export interface Mirror extends MirrorView {
  /** Builds it from the lists of a node at this height or above; gives what is different now. */
  build(atOrAbove: bigint, signal?: AbortSignal): Promise<readonly MirrorKey[]>;
  /** Takes a block into account; gives what it changed. `head` is how far the chain is. */
  apply(block: ChainBlock, head: bigint): Promise<readonly MirrorKey[]>;
  /** Reads the chain's lists beside the blocks; `adopt` then compares, puts right what differs and gives what did. */
  compare(signal?: AbortSignal): Promise<{ adopt(): Promise<readonly MirrorKey[]> }>;
  readonly counts: Readonly<MirrorCounts>;
}

interface MirrorDeps {
  readonly queries: Queries;
  readonly provider: Address;
  readonly log: Log;
}

export function createMirror({ queries, provider, log }: MirrorDeps): Mirror {
  const counts: MirrorCounts = { builds: 0, comparisons: 0, drift: 0 };
  let state = stateOf([], [], [], [], []);
  let height = 0n;
  let timeNs = 0n;
  let ready = false;
  const waiting = new Set<{ readonly height: bigint; readonly reached: () => void }>();

  async function build(atOrAbove: bigint, signal?: AbortSignal): Promise<MirrorKey[]> {
    // Never back in time, also where less would do.
    const floor = largest(atOrAbove, height);
    const built = await readLists(queries, provider, { atOrAbove: floor, signal });
    const builtNs = await queries.blockTimeNs(built.height, { signal });
    const changed = [...differences(state, built.state), ...changedFigures(state, built.state)];
    keepEnded(state.bids, built.state.bids);
    keepEnded(state.leases, built.state.leases);
    state = built.state;
    ready = true;
    counts.builds += 1;
    arrive(built.height, builtNs);
    return changed;
  }

  function arrive(at: bigint, blockNs: bigint): void {
    height = at;
    timeNs = blockNs;
    for (const each of waiting) if (each.height <= at) each.reached();
  }

  function reached(wanted: bigint, signal: AbortSignal): Promise<void> {
    if (height >= wanted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const each = { height: wanted, reached: resolve };
    waiting.add(each);
    return endedBy(promise, signal).finally(() => waiting.delete(each));
  }

  async function apply(block: ChainBlock, head: bigint): Promise<MirrorKey[]> {
    const isAhead = block.height <= height;
    const changes = changesOf(block, { provider, state, isAhead });
    // Also while older blocks are replayed: they take their time, and the chain goes on meanwhile.
    const isTooFarBehind = head - (isAhead ? height : block.height) > rpcMirrorLagBlocks;
    const cannotBeLed = !ready || block.malformed.length > 0;
    if (isTooFarBehind || (cannotBeLed && !isAhead)) return [...changes.keys, ...(await build(block.height))];
    if (isAhead) return changes.keys;
    const figures = take(await readChanges(queries, provider, changes, block.height), changes);
    arrive(block.height, block.timeNs);
    return [...changes.keys, ...figures];
  }

  /** Gives the figures that are different now. */
  function take(read: BlockReads, changes: MirrorChanges): MirrorKey[] {
    const balances = read.balances ?? state.balances.values();
    const figures = changedFigures(state, stateOf([], read.bids, read.leases, read.deployments, balances));
    if (read.allOrders) state.orders.clear();
    for (const order of read.allOrders ?? read.orders) {
      const key = formatOrderId(order.id);
      if (order.state === "open") state.orders.set(key, order);
      else state.orders.delete(key);
    }
    for (const key of changes.endedOrders) state.orders.delete(key);
    for (const bid of read.bids) state.bids.set(formatBidId(bid.id), bid);
    for (const lease of read.leases) state.leases.set(formatBidId(lease.id), lease);
    for (const deployment of read.deployments) state.deployments.set(formatDeploymentId(deployment.id), deployment);
    if (read.balances) state.balances.clear();
    for (const balance of read.balances ?? []) state.balances.set(balance.denom, balance);
    forgetEnded(state);
    return figures;
  }

  async function compare(signal?: AbortSignal) {
    const [ours, at] = [copyState(state), height];
    const theirs = await readLists(queries, provider, { atOrAbove: at, height: at, signal });
    async function adopt(): Promise<MirrorKey[]> {
      // Lists of another height differ for good reasons; they can replace what we have, and show nothing.
      if (!theirs.steady || theirs.height !== at) return build(height, signal);
      const drifted = differences(ours, theirs.state);
      counts.comparisons += 1;
      counts.drift += drifted.length;
      if (drifted.length === 0) return refreshFigures(state, ours, theirs.state);
      log.error("mirror differed from the chain, rebuilding it", { height: at, drifted: drifted.slice(0, 10) });
      return [...drifted, ...(await build(height, signal))];
    }
    return { adopt };
  }

  return {
    build,
    apply,
    compare,
    counts,
    get ready() {
      return ready;
    },
    get height() {
      return height;
    },
    get timeNs() {
      return timeNs;
    },
    reached,
    orders: () => state.orders.values(),
    bids: () => state.bids.values(),
    leases: () => state.leases.values(),
    order: (id) => state.orders.get(formatOrderId(id)),
    bid: (id) => state.bids.get(formatBidId(id)),
    lease: (id) => state.leases.get(formatBidId(id)),
    deployment: (id) => state.deployments.get(formatDeploymentId(id)),
    balances: () => state.balances.values(),
    balance: (denom) => state.balances.get(denom),
  };
}

/** How something ended is not in the lists of what lives. */
function keepEnded<T extends Bid | Lease>(from: Map<string, T>, to: Map<string, T>): void {
  for (const [key, record] of from) if (!isLive(record) && !to.has(key)) to.set(key, record);
}

/** Ended things stay in view for those who want to know how they ended, but not for ever. */
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
