/** Escrows of some deployments, each as of one block: figures of different blocks do not add up. */
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
  /** And the time of that block. */
  readonly height: bigint;
  readonly timeMs: number;
  readonly account: EscrowAccount;
  /** All open ones on the account, in the order in which the chain pays them. */
  readonly payments: readonly EscrowPayment[];
}

interface Escrows {
  readonly escrows: readonly Escrow[];
  /** Why a few could not be read although the others could. */
  readonly unread: ReadonlyMap<DeploymentId, unknown>;
}

/** Leaves out deployments that are gone or whose account is not open. */
export async function readEscrows(
  queries: Queries,
  deployments: readonly DeploymentId[],
  options: QueryOptions,
): Promise<Escrows> {
  const { signal } = options;
  if (deployments.length > rpcMirrorSingles) {
    const read = () => readLists(queries, deployments, options);
    const escrows = await retried(rpcMirrorTries - 1, signal, read).catch((thrown: unknown) => {
      if (signal?.aborted || thrown instanceof InvariantError) throw thrown;
      // Some nodes do not serve whole lists, or prune a state before they are read.
    });
    if (escrows) return { escrows, unread: new Map() };
  }
  const unread = new Map<DeploymentId, unknown>();
  const escrows = await inParallel(deployments, rpcMirrorQueries, async (id): Promise<Escrow[]> => {
    try {
      return await retried(rpcMirrorTries, signal, () => readOne(queries, id, options));
    } catch (thrown) {
      unread.set(id, thrown);
      // Where all fail, or more than are read at once, the nodes are at fault.
      const isNode = unread.size === deployments.length || unread.size > rpcMirrorQueries;
      if (isNode || signal?.aborted || thrown instanceof InvariantError) throw thrown;
      return [];
    }
  });
  return { escrows: escrows.flat(), unread };
}

/** A node may fail half-way, or prune the state of that height: each attempt begins anew. */
async function retried<T>(times: number, signal: AbortSignal | undefined, read: () => Promise<T>): Promise<T> {
  for (let left = times; ; left -= 1) {
    try {
      return await read();
    } catch (thrown) {
      if (left <= 1 || signal?.aborted || thrown instanceof InvariantError) throw thrown;
    }
  }
}

async function readOne(queries: Queries, id: DeploymentId, options: QueryOptions): Promise<Escrow[]> {
  const read = await queries.deployment(id, options);
  const account = read.value?.escrow;
  if (account?.state !== "open") return [];
  const here = sameState(read, options);
  const { items } = await queries.paymentsOf(id, here);
  const timeMs = nsToMs(await queries.blockTimeNs(read.height, here));
  return [{ deployment: id, height: read.height, timeMs, account, payments: openInOrder(items) }];
}

async function readLists(
  queries: Queries,
  deployments: readonly DeploymentId[],
  options: QueryOptions,
): Promise<Escrow[]> {
  const accounts = await queries.openEscrowAccounts(undefined, options);
  const here = sameState(accounts, options);
  const payments = await queries.openEscrowPayments(undefined, here);
  if (!accounts.steady || !payments.steady) throw new Error("the node has pruned the state that was read");
  const { height } = accounts;
  const timeMs = nsToMs(await queries.blockTimeNs(height, here));
  const accountOf = new Map(accounts.items.map((account) => [account.key, account]));
  const paymentsOf = Map.groupBy(payments.items, ({ key }) => accountOfPayment(key));
  return deployments.flatMap((deployment) => {
    const key = deploymentAccount(deployment);
    const account = accountOf.get(key);
    return account ? [{ deployment, height, timeMs, account, payments: openInOrder(paymentsOf.get(key) ?? []) }] : [];
  });
}

/** The node that answered first, at the height of that answer. */
function sameState({ height, node }: At<unknown> | Listed<unknown>, options: QueryOptions): QueryOptions {
  return { ...options, height, node };
}

/** Keys are ASCII, so the order of strings is the chain's order of bytes. */
function openInOrder(payments: readonly EscrowPayment[]): EscrowPayment[] {
  return payments.filter(({ state }) => state === "open").sort((left, right) => (left.key < right.key ? -1 : 1));
}
