/** Chooses what leaves now, signs what was prepared, writes it down and hands it to the chain. */
import type { Intent } from "../../journal/intents.ts";
import { formatCoins } from "../../market/coin.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import { nsToMs } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { type BroadcastReach, causeOf, eachApart, type Head, type Receipt } from "../tx/broadcaster.ts";
import { isCostly } from "../tx/messages.ts";
import { type Draft, signTransaction } from "../tx/transaction.ts";
import { accountOf, isWithdrawal } from "./intent.ts";
import { stallOf } from "./obstacles.ts";
import { pack } from "./packing.ts";
import { type PendingTx, type PendingTxs, pendingTxOf } from "./pending-txs.ts";
import {
  type Load,
  type Ordering,
  outboxTimeoutMs,
  type Preparation,
  type PreparationDeps,
  type SendPoint,
} from "./preparation.ts";
import type { WonBids } from "./won-bids.ts";

/** Messages in one transaction: a real node was seen to take 50, and one bad message spoils as many. */
export const outboxTxMessages = 50;
/** Transactions under way at once: three thousand messages in a block. */
export const outboxPendingTxs = 64;

export interface SenderDeps extends PreparationDeps {
  readonly boundary: Boundary;
  readonly bidsToClose: WonBids;
  readonly preparation: Preparation;
  readonly pendingTxs: PendingTxs;
}

export type Sender = ReturnType<typeof createSender>;

export function createSender(deps: SenderDeps) {
  const { signer, chain, journal, log, boundary, preparation, stall, walletGuard, pendingTxs } = deps;
  const { address } = signer;
  const counts = { transactions: 0, broadcasts: 0, rejected: 0 };
  let { ordering = "unordered" as Ordering } = deps.settings;
  /** The group that was cut down to what the wallet has, while it is on its way. */
  let cutting: readonly Intent[] | undefined;

  /** With sequences each transaction waits for the one before it. */
  const mostPending = () => (ordering === "unordered" ? outboxPendingTxs : 1);

  /** Sends as much of these as may leave now. Resolves with why a node was not heard, if one was not. */
  async function send(waiting: readonly Intent[], head: Head): Promise<Error | undefined> {
    if (!waiting.some(({ what }) => isCostly(what))) walletGuard.rest();
    if (waiting.length === 0 || stall.rests) return undefined;
    const account = await chain.account(address, head.height);
    if (!account) return void stall.begin(new ProviderError("AKP_WALLET_UNKNOWN", { address }));
    const point = { head, account, ordering };
    return eachApart(groupsOf(waiting, head, mostPending(), deps), (group) => sendGroup(group, point));
  }

  async function sendGroup(group: readonly Intent[], point: SendPoint): Promise<void> {
    const work: Load[] = [{ intents: group, cut: false }];
    try {
      for (let next = work.shift(); next; next = work.shift()) {
        const load = withoutCostly(next, group);
        if (load.intents.length === 0) continue;
        if (pendingTxs.undecided.length >= mostPending() || ordering !== point.ordering) return;
        const prepared = await preparation.prepare(load, point);
        if (prepared.kind === "stop") return;
        if (prepared.kind === "unordered") return fallBack(prepared.reason);
        if (prepared.kind === "retry") work.unshift(...prepared.loads);
        else await launch(load, prepared.draft, point);
      }
    } finally {
      if (cutting === group) cutting = undefined;
    }
  }

  /** What others under way cost no simulation has seen: of a wallet that is short only one group takes its part. */
  function withoutCostly(load: Load, group: readonly Intent[]): Load {
    if (!load.cut) return load;
    const alone = cutting === undefined && !pendingTxs.undecided.some(({ costly }) => costly);
    if (alone) cutting = group;
    if (cutting === group) return load;
    return { intents: load.intents.filter(({ what }) => !isCostly(what)), cut: true };
  }

  function fallBack(reason: string): void {
    if (ordering === "ordered") return;
    ordering = "ordered";
    log.info("chain takes no unordered transactions, using sequences", { reason });
  }

  /** Written down first, with all that the chain needs to take it at most once; then it leaves. */
  async function launch({ intents: group, cut }: Load, draft: Draft, point: SendPoint): Promise<void> {
    const pendingTx = signedTx(group, draft, point, deps);
    if (!(await writeDown(pendingTx, group, journal))) return;
    pendingTxs.add(pendingTx);
    counts.transactions += 1;
    if (pendingTx.costly && !cut) walletGuard.paid();
    const { kind } = draft.validity;
    log.debug("transaction signed", { hash: pendingTx.hash, kind, messages: group.length, gas: `${draft.gas}` });
    await broadcast(pendingTx, point.head, "one", formatCoins(draft.fee));
  }

  async function broadcast(pendingTx: PendingTx, head: Head, reach: BroadcastReach, fee: string): Promise<void> {
    // Once its time is over its intents are filed again, and the rest goes on without the close.
    if (!(await deps.bidsToClose.mayLeave(journal.read.intents.byTxHash(pendingTx.hash)))) return;
    boundary.cross("broadcast", "broadcast:before");
    const receipt = await chain.broadcast(pendingTx.bytes, reach);
    boundary.cross("broadcast", "broadcast:after");
    counts.broadcasts += 1;
    noteReceipt(pendingTx, head, receipt);
    if (receipt.kind === "taken") return stall.taken();
    counts.rejected += 1;
    const stalled = stallOf(receipt, address, fee);
    if (stalled) stall.begin(stalled);
    if (causeOf(receipt.log).kind === "unordered") fallBack(receipt.log);
    log.debug("transaction rejected by RPC node", { hash: pendingTx.hash, ...receipt });
  }

  return {
    send,
    /** Hands a transaction to every node, again. */
    rebroadcast: (pendingTx: PendingTx, head: Head) => broadcast(pendingTx, head, "all", "the fee"),
    get ordering(): Ordering {
      return ordering;
    },
    counts: counts as Readonly<typeof counts>,
  };
}

/** While stalled, one transaction is enough to find out whether that is over. */
function groupsOf(
  waiting: readonly Intent[],
  head: Head,
  mostPending: number,
  { preparation, stall, walletGuard, rejected, pendingTxs }: SenderDeps,
): Intent[][] {
  const most = stall.error ? 1 : mostPending;
  const setAside = waiting.filter((intent) => rejected.waits(intent, head));
  const underWay = pendingTxs.all().flatMap(({ subjects }) => subjects);
  const { undecided } = pendingTxs;
  const hurriedFromMs = nsToMs(head.timeNs) + outboxTimeoutMs;
  return pack(waiting, {
    mostMessages: outboxTxMessages,
    mostGas: preparation.mostGas,
    room: Math.max(0, most - undecided.length),
    gasOf: preparation.gasOf,
    alone: rejected.nameless,
    busy: new Set([...underWay, ...setAside.map(({ subject }) => subject)]),
    costly: ({ what }) => isCostly(what),
    costlyRoom: walletGuard.roomFor(undecided.filter(({ costly }) => costly).length),
    hurried: ({ expiresAtMs }) => expiresAtMs !== undefined && expiresAtMs < hurriedFromMs,
    accountOf,
    withdraws: isWithdrawal,
    settling: new Set(undecided.flatMap(({ accounts }) => accounts)),
  });
}

function noteReceipt(pendingTx: PendingTx, head: Head, receipt: Receipt): void {
  pendingTx.queriedAt = head.height;
  pendingTx.rejection = receipt.kind === "taken" ? receipt.objection : receipt;
  if (receipt.kind === "taken") pendingTx.taken = true;
}

/** False if one of them was settled meanwhile; the next pass goes on without it. */
function writeDown(pendingTx: PendingTx, group: readonly Intent[], journal: SenderDeps["journal"]): Promise<boolean> {
  return journal.durable("send transaction", ({ intents, transactions }) => {
    if (!group.every(({ id }) => intents.get(id)?.state === "filed")) return false;
    for (const { id } of group) intents.send(id, pendingTx.hash);
    transactions.add(pendingTx);
    return true;
  });
}

function signedTx(
  group: readonly Intent[],
  draft: Draft,
  { head, account }: SendPoint,
  { chainId, signer, pendingTxs }: SenderDeps,
): PendingTx {
  const { bytes, hash } = signTransaction(draft, signer, { chainId, accountNumber: account.number });
  const { kind: _kind, ...bounds } = draft.validity;
  // A cursor that begins later must not look as if the blocks before it had been seen.
  const gapped = pendingTxs.followed === undefined;
  const from = { firstHeight: head.height + 1n, ...(gapped && { gapped }) };
  return pendingTxOf({ hash, chainId, sender: signer.address, bytes, ...from, ...bounds }, group);
}
