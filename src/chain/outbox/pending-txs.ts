/** Transactions that are signed and written down, with unknown result, and up to where blocks were searched for them. */
import type { Intent, SentTransaction } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import { largest, smallest } from "../../runtime/bigint.ts";
import type { ProviderError } from "../../runtime/errors.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { fateOf, type Head, type Included, type SenderAccount, type TxRejection } from "../tx/broadcaster.ts";
import { isCostly } from "../tx/messages.ts";
import { outboxProofBlocks } from "../tx/send.ts";
import { accountOf } from "./intent.ts";

/** Hashes of our transactions that are remembered: those of a day with one every ten seconds. */
const outboxHashes = 10_000;
/** A transaction that is not in a block by then is handed over again: the pool may have lost it. */
export const outboxRebroadcastBlocks = 2;

export interface PendingTx extends SentTransaction {
  /** Its messages' subjects: nothing else about them is sent meanwhile. */
  readonly subjects: readonly string[];
  /** Escrow accounts that its messages settle: nothing is withdrawn from them meanwhile. */
  readonly accounts: readonly string[];
  readonly costly: boolean;
  gapped?: boolean;
  /** Head when it was last handed to a node that answered. */
  queriedAt?: bigint;
  taken?: boolean;
  /** The last rejection by a node, if any. It proves nothing: another node may have accepted it. */
  rejection?: TxRejection | undefined;
  /** Head at which it was last looked for. */
  lookedAt?: bigint;
  /** Why no node can know whether a block holds it, while that is so. */
  unproven?: ProviderError | undefined;
  /** First height seen after which its timeout timestamp, height or sequence was over: no later block holds it. */
  passedAt?: bigint;
}

export type PendingTxs = ReturnType<typeof createPendingTxs>;

export function createPendingTxs(journal: Journal, chainId: string) {
  const pendingTxs = new Map<string, PendingTx>();
  for (const tx of journal.read.transactions.all()) {
    pendingTxs.set(tx.hash, pendingTxOf(tx, journal.read.intents.byTxHash(tx.hash)));
  }
  /** Until there was a block, what an earlier run looked through: the cursor moves only behind that. */
  let followed = journal.read.cursor.get(chainId);
  /** An intent that is filed again forgets its transaction. */
  const sent = createLruCache<true>({ most: outboxHashes });
  for (const hash of pendingTxs.keys()) sent.set(hash, true);

  const all = (): readonly PendingTx[] => [...pendingTxs.values()];

  /** Up to where every block that might hold it was looked through; undefined when some were not. */
  const followedFor = ({ gapped }: PendingTx) => (gapped ? undefined : followed);

  return {
    get size(): number {
      return pendingTxs.size;
    },
    all,
    get: (hash: string) => pendingTxs.get(hash),
    /** Those that may still come into a block. The others wait for proof and hold up only their own subjects. */
    get undecided(): readonly PendingTx[] {
      return all().filter(({ passedAt }) => passedAt === undefined);
    },
    /** Those about which something may be done at this head. */
    due: ({ height }: Head): readonly PendingTx[] =>
      all().filter((pendingTx) => {
        const { lookedAt, passedAt } = pendingTx;
        if (lookedAt === undefined || lookedAt < height) return true;
        return passedAt !== undefined && (followedFor(pendingTx) ?? 0n) >= passedAt;
      }),
    /** One whose time has passed and whose result no node can know. */
    get unproven(): ProviderError | undefined {
      return all().find((pendingTx) => pendingTx.passedAt !== undefined && pendingTx.unproven)?.unproven;
    },
    add(pendingTx: PendingTx): void {
      pendingTxs.set(pendingTx.hash, pendingTx);
      sent.set(pendingTx.hash, true);
    },
    /** Also one that is not under way any more. */
    isOurs: (hash: string): boolean => sent.get(hash) !== undefined || journal.read.intents.byTxHash(hash).length > 0,
    remove: ({ hash }: PendingTx) => void pendingTxs.delete(hash),
    followedFor,
    get followed(): bigint | undefined {
      return followed;
    },
    /** This block was looked through for all of them. */
    follow(height: bigint): void {
      followed = largest(height, followed ?? height);
    },
    /** The blocks up to this one were not looked through, from the first one after those that were. */
    async lose(to: bigint): Promise<void> {
      if (to <= (followed ?? -1n)) return;
      const missed = all().filter(({ firstHeight, gapped }) => firstHeight <= to && !gapped);
      if (missed.length > 0) {
        await journal.durable("blocks lost", ({ transactions }) => {
          for (const { hash } of missed) transactions.markGapped(hash);
        });
      }
      for (const pendingTx of missed) pendingTx.gapped = true;
      followed = to;
    },
  };
}

export function pendingTxOf(tx: SentTransaction, intents: readonly Intent[]): PendingTx {
  return {
    ...tx,
    subjects: intents.map(({ subject }) => subject),
    accounts: intents.flatMap((intent) => accountOf(intent) ?? []),
    costly: intents.some(({ what }) => isCostly(what)),
  };
}

type TxAction =
  | { readonly kind: "settle"; readonly included: Included }
  /** Dead beyond doubt: no block holds it, and none to come can. */
  | { readonly kind: "refile" }
  | { readonly kind: "broadcast" }
  | { readonly kind: "wait" };

interface Evidence {
  readonly head: Head;
  /** Answer of a node at the head or above to a query for the hash. */
  readonly found?: Included | undefined;
  /** Where sequences are used. It may be of a later height than the head. */
  readonly account?: SenderAccount | undefined;
  /** Up to where every block was looked through for it, without finding it. Undefined when nodes must be believed. */
  readonly followed?: bigint | undefined;
}

/** What to do about a pending transaction. Handing it over again is safe without proof; giving its intents another transaction is not. */
export function nextAction(pendingTx: PendingTx, { head, found, account, followed }: Evidence): TxAction {
  if (found && fateOf(found).kind !== "undecided") return { kind: "settle", included: found };
  // The lowest of them: a head may have been overstated.
  const known = [pendingTx.passedAt, passedBy(pendingTx, head, account)].filter((height) => height !== undefined);
  const passedAt = known.length > 0 ? smallest(...known) : undefined;
  if (passedAt !== undefined) pendingTx.passedAt = passedAt;
  const { queriedAt, unproven } = pendingTx;
  if (passedAt === undefined) {
    const due = queriedAt === undefined || head.height >= queriedAt + BigInt(outboxRebroadcastBlocks);
    return { kind: due ? "broadcast" : "wait" };
  }
  if (followed !== undefined) return { kind: followed >= passedAt ? "refile" : "wait" };
  // A node indexes a block after it has made it; looking again some blocks later leaves no gap between the two.
  const proven = !unproven && head.height >= passedAt + BigInt(outboxProofBlocks);
  return { kind: proven ? "refile" : "wait" };
}

/** A height after which no block can hold it, if there is one by now. */
function passedBy(
  { timeoutNs, timeoutHeight, sequence }: PendingTx,
  head: Head,
  account?: SenderAccount,
): bigint | undefined {
  if (timeoutNs !== undefined) return head.timeNs > timeoutNs ? head.height : undefined;
  if (timeoutHeight !== undefined && head.height > timeoutHeight) return head.height;
  // The block that used the sequence up may be later than the head, and may hold this very transaction.
  return sequence !== undefined && account && account.sequence > sequence ? account.height : undefined;
}
