/** The mirror's content from the chain's own lists. */
import type { Address } from "../../../market/address.ts";
import { type DeploymentId, deploymentOf, formatDeploymentId } from "../../../market/ids.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { rpcMirrorQueries, rpcMirrorSingles, rpcMirrorTries } from "../../../runtime/limits.ts";
import type { Listed, Queries, QueryOptions } from "../../chain.ts";
import type { Balance, Deployment, Lease, Order } from "../../records.ts";
import { listReclaimingLeases } from "../../running-leases.ts";
import { unlessGone } from "../queries/abci-query.ts";
import { type MirrorState, stateOf } from "./mirror-state.ts";

interface MirrorLists {
  readonly state: MirrorState;
  /** Everything up to this height is in it. */
  readonly height: bigint;
  /** All of it is of exactly that height. */
  readonly steady: boolean;
}

/** With one node, its own failure; of several, that the one which must answer did not. */
const nodeFailures = [
  "AKP_CHAIN_NO_ENDPOINT",
  "AKP_CHAIN_UNREACHABLE",
  "AKP_CHAIN_ANSWER_MALFORMED",
  "AKP_CHAIN_CALL_REFUSED",
] as const;

type List<T> = (options: QueryOptions) => Promise<Listed<T>>;

/**
 * With a height in the options, of that height; where the node no longer keeps it, of the newest one. All lists are of
 * one node: when that fails half-way, they are begun anew, and the pool then chooses one that has not just failed.
 */
export async function readLists(queries: Queries, provider: Address, options: QueryOptions): Promise<MirrorLists> {
  for (let left = rpcMirrorTries; ; left -= 1) {
    const orders = await unlessGone(options, (each) => queries.orders({ state: "open" }, each));
    try {
      return await readRest(queries, provider, orders, options);
    } catch (thrown) {
      if (left <= 1 || !isNodeFailure(thrown)) throw thrown;
    }
  }
}

function isNodeFailure(thrown: unknown): boolean {
  return nodeFailures.some((code) => ProviderError.is(thrown, code));
}

/** The rest from the node that gave the orders. */
async function readRest(
  queries: Queries,
  provider: Address,
  orders: Listed<Order>,
  { height: wanted, ...first }: QueryOptions,
): Promise<MirrorLists> {
  const { height, node } = orders;
  const rest = { ...first, node };
  let steady = orders.steady && (wanted ?? height) === height;

  async function read<T>(list: List<T>): Promise<readonly T[]> {
    const listed = await unlessGone({ ...rest, height: steady ? height : undefined }, list);
    steady &&= listed.steady && listed.height === height;
    return listed.items;
  }

  const openBids = await read((each) => queries.bids({ provider, state: "open" }, each));
  const wonBids = await read((each) => queries.bids({ provider, state: "active" }, each));
  const active = await read((each) => queries.leases({ provider, state: "active" }, each));
  const reclaiming = await read((each) => listReclaimingLeases(queries, provider, each));
  const leases = [...active, ...reclaiming];
  const deployments = await deploymentsOf(queries, leases, read, (id) =>
    unlessGone({ ...rest, height: steady ? height : undefined }, (each) => queries.deployment(id, each)),
  );
  const balances = await readBalances(queries, provider, { ...rest, height: steady ? height : undefined });
  const state = stateOf(orders.items, [...openBids, ...wonBids], leases, deployments, balances);
  return { state, height, steady };
}

export async function readBalances(queries: Queries, provider: Address, options: QueryOptions): Promise<Balance[]> {
  const { items, height } = await unlessGone(options, (each) => queries.balances(provider, each));
  return items.map((coin) => ({ ...coin, height }));
}

/** A few are asked for one by one; for many, the list of all active ones is quicker. */
async function deploymentsOf(
  queries: Queries,
  leases: readonly Lease[],
  read: <T>(list: List<T>) => Promise<readonly T[]>,
  readOne: (id: DeploymentId) => Promise<{ readonly value: Deployment | undefined }>,
): Promise<readonly Deployment[]> {
  const wanted = new Map(leases.map(({ id }) => [formatDeploymentId(id), deploymentOf(id)]));
  if (wanted.size > rpcMirrorSingles) {
    const all = await read((each) => queries.deployments({ state: "active" }, each));
    return all.filter(({ id }) => wanted.has(formatDeploymentId(id)));
  }
  const found = await inParallel(wanted.values(), rpcMirrorQueries, readOne);
  return found.flatMap(({ value }) => value ?? []);
}
