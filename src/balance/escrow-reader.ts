/** The escrows of some deployments, each as it was after one block: figures of different blocks do not add up. */
import type { At, Listed, Queries, QueryOptions } from "../chain/chain.ts";
import type { EscrowAccount, EscrowPayment } from "../chain/records.ts";
import { accountOfPayment, deploymentAccount } from "../market/escrow-arithmetic.ts";
import type { DeploymentId } from "../market/ids.ts";
import { nsToMs } from "../runtime/clock.ts";
import { inParallel } from "../runtime/in-parallel.ts";
import { InvariantError } from "../runtime/invariant.ts";
import { rpcMirrorQueries, rpcMirrorSingles, rpcMirrorTries } from "../runtime/limits.ts";

/** What pays for our leases, as the chain showed it at one height. */
export interface Escrow {
  readonly deployment: DeploymentId;
  /** Of which all of it is true, and the time of that block. */
  readonly height: bigint;
  readonly timeMs: number;
  readonly account: EscrowAccount;
  /** The open ones of everybody that draws on the account, in the order in which the chain pays them. */
  readonly payments: readonly EscrowPayment[];
}

interface ReadOptions extends Pick<QueryOptions, "atOrAbove" | "signal"> {
  /** Told of a few that cannot be read although the others can; without it, none is then. */
  readonly onUnread?: (id: DeploymentId, thrown: unknown) => void;
}

/** A deployment that is not there any more, or whose account is not open, is left out: its leases are seen to end. */
export async function readEscrows(
  queries: Queries,
  deployments: readonly DeploymentId[],
  options: ReadOptions,
): Promise<Escrow[]> {
  if (deployments.length === 0) return [];
  for (let left = rpcMirrorTries; ; left -= 1) {
    const together = deployments.length > rpcMirrorSingles ? readLists : readOneByOne;
    // At last each by itself: some nodes will not give whole lists, or keep no state for as long as many take.
    const read = left > 1 || deployments.length === 1 ? together : readApart;
    try {
      return await read(queries, deployments, options);
    } catch (thrown) {
      // The node failed half-way, or has thrown the state of that height away: another one is begun with.
      if (left <= 1 || options.signal?.aborted || thrown instanceof InvariantError) throw thrown;
    }
  }
}

async function readOneByOne(
  queries: Queries,
  [first, ...rest]: readonly DeploymentId[],
  options: QueryOptions,
): Promise<Escrow[]> {
  if (!first) return [];
  const newest = await queries.deployment(first, options);
  const here = ofOne(newest, options);
  const timeMs = nsToMs(await queries.blockTimeNs(newest.height, here));

  async function escrowOf(id: DeploymentId, account: EscrowAccount | undefined): Promise<Escrow[]> {
    if (account?.state !== "open") return [];
    const { items } = await queries.paymentsOf(id, here);
    return [escrowOfAccount(id, { height: newest.height, timeMs }, account, items)];
  }

  const others = await inParallel(rest, rpcMirrorQueries, async (id) =>
    escrowOf(id, (await queries.deployment(id, here)).value?.escrow),
  );
  return [...(await escrowOf(first, newest.value?.escrow)), ...others.flat()];
}

async function readApart(
  queries: Queries,
  deployments: readonly DeploymentId[],
  { onUnread, ...options }: ReadOptions,
): Promise<Escrow[]> {
  const unread = new Map<DeploymentId, unknown>();
  const each = await inParallel(deployments, rpcMirrorQueries, (id) =>
    readEscrows(queries, [id], options).catch((thrown: unknown) => {
      unread.set(id, thrown);
      // Where all fail, or more than are asked at once, it is not their fault.
      const isTheirs = unread.size < deployments.length && unread.size <= rpcMirrorQueries;
      if (!onUnread || !isTheirs || options.signal?.aborted || thrown instanceof InvariantError) throw thrown;
      return [];
    }),
  );
  for (const [id, thrown] of unread) onUnread?.(id, thrown);
  return each.flat();
}

async function readLists(
  queries: Queries,
  deployments: readonly DeploymentId[],
  options: QueryOptions,
): Promise<Escrow[]> {
  const accounts = await queries.openEscrowAccounts(undefined, options);
  const here = ofOne(accounts, options);
  const payments = await queries.openEscrowPayments(undefined, here);
  if (!accounts.steady || !payments.steady) throw new Error("the state that was read is no longer kept");
  const timeMs = nsToMs(await queries.blockTimeNs(accounts.height, here));
  const accountOf = new Map(accounts.items.map((account) => [account.key, account]));
  const paymentsOf = Map.groupBy(payments.items, ({ key }) => accountOfPayment(key));
  return deployments.flatMap((id) => {
    const key = deploymentAccount(id);
    const account = accountOf.get(key);
    if (!account) return [];
    return escrowOfAccount(id, { height: accounts.height, timeMs }, account, paymentsOf.get(key) ?? []);
  });
}

/** All that follows comes from the node that answered first, and of the height of that answer. */
function ofOne({ height, node }: At<unknown> | Listed<unknown>, options: QueryOptions): QueryOptions {
  return { ...options, height, node };
}

function escrowOfAccount(
  deployment: DeploymentId,
  at: Pick<Escrow, "height" | "timeMs">,
  account: EscrowAccount,
  payments: readonly EscrowPayment[],
): Escrow {
  const open = payments.filter(({ state }) => state === "open");
  // Keys are ASCII, so the order of strings is the chain's order of bytes.
  return { deployment, ...at, account, payments: open.sort((left, right) => (left.key < right.key ? -1 : 1)) };
}
