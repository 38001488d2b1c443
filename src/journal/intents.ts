/** Intents, which must happen exactly once on chain, and their transactions: both are written before they leave the process. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

/**
 * The life of an intent:
 *
 *   filed ──→ sent ──→ done        a block holds its transaction, and the message took effect
 *    │ ↑       │ └───→ failed      it cannot be done: the chain said so in a block or, without "sent", in simulations
 *    │ └───────┘                   its transaction is dead, or failed through no fault of its own: it gets another one
 *    └──→ expired, cancelled       it never left again
 *
 * Filed: waits for a transaction. Sent: in one, whose fate is not known yet. The others are settled for good.
 */
export type IntentState = "filed" | "sent" | SettledState;
export type SettledState = "done" | "failed" | "expired" | "cancelled";

/** Not settled: what is to come of it is not known yet. */
export function isUnderWay(intent: Pick<Intent, "state"> | undefined): boolean {
  return intent?.state === "filed" || intent?.state === "sent";
}

export interface NewIntent {
  /** "createBid", "closeLease" … */
  readonly what: string;
  /** The order or lease that it is about. */
  readonly subject: string;
  readonly why: string;
  /** What the message is made from; plain JSON. */
  readonly body: unknown;
  /** Smaller goes first. */
  readonly priority: number;
  /** After this it is worthless and must not be sent. */
  readonly expiresAtMs?: number;
}

export interface Intent extends NewIntent {
  readonly id: number;
  readonly state: IntentState;
  readonly filedAtMs: number;
  readonly txHash?: string;
  /** How often a transaction that carried it failed in a way that it may have caused. */
  readonly failures?: number;
  /** What its share of the gas must be at least, learned from a transaction that ran out. */
  readonly gasFloor?: bigint;
  /** Its share in what the failed transactions that carried it have cost. */
  readonly billed?: Billed;
  readonly settledAtMs?: number;
  readonly result?: unknown;
}

export interface Billed {
  /** Coins as the chain writes them: "120uakt". */
  readonly fee: string;
  readonly gasUsed: bigint;
}

export interface Refiling {
  /** A failure that this message may have caused is counted; one for lack of gas says what to ask for next time. */
  readonly failure?: { readonly gasFloor?: bigint };
  /** What it has cost so far, instead of what was noted before. */
  readonly billed?: Billed;
}

type IntentRow = Omit<Intent, "billed"> & { readonly fee: string; readonly gasUsed?: bigint };

const intentColumns = `id, what, subject, why, body, priority, state, filed_at AS filedAtMs, expires_at AS expiresAtMs,
  tx_hash AS txHash, nullif(failures, 0) AS failures, nullif(gas_floor, 0) AS gasFloor, fee,
  nullif(gas_used, 0) AS gasUsed, settled_at AS settledAtMs, result`;

export type Intents = ReturnType<typeof createIntents>;

export function createIntents(sql: Sql, clock: Clock) {
  const all = (rest: string) =>
    sql.all<IntentRow>(`SELECT ${intentColumns} FROM intents ${rest}`, {
      bigint: ["gasFloor", "gasUsed"],
      json: ["body", "result"],
    });
  const get = all("WHERE id = ?");
  const unsettled = all("WHERE settled_at IS NULL ORDER BY priority, id LIMIT ?");
  const waiting = all("WHERE state = 'filed' AND settled_at IS NULL ORDER BY priority, id LIMIT ?");
  const byTxHash = all("WHERE tx_hash = ? ORDER BY id");
  const about = all("WHERE subject = ? ORDER BY id DESC");
  const owed = sql.one<{ count: number }>(
    "SELECT count(*) AS count FROM intents WHERE settled_at IS NULL AND priority <= ?",
  );
  const file = sql.run(
    "INSERT INTO intents (what, subject, why, body, priority, state, filed_at, expires_at) VALUES (?, ?, ?, ?, ?, 'filed', ?, ?)",
  );
  const send = sql.run("UPDATE intents SET state = 'sent', tx_hash = ? WHERE id = ? AND state = 'filed'");
  const refile = sql.run(
    "UPDATE intents SET state = 'filed', tx_hash = NULL, failures = failures + ?, gas_floor = max(gas_floor, ?), fee = coalesce(?, fee), gas_used = coalesce(?, gas_used) WHERE id = ? AND state = 'sent'",
  );
  const cancel = sql.run(
    "UPDATE intents SET state = 'cancelled', settled_at = ?, result = ? WHERE id = ? AND state = 'filed'",
  );
  const settle = sql.run(
    "UPDATE intents SET state = ?, settled_at = ?, result = ? WHERE id = ? AND settled_at IS NULL",
  );

  return {
    get: (id: number) => get(id).map(intentFrom)[0],
    /** Those still owed, the most urgent first, then the oldest. */
    unsettled: (limit: number) => unsettled(limit).map(intentFrom),
    /** Those that wait for a transaction, the most urgent first, then the oldest. */
    waiting: (limit: number) => waiting(limit).map(intentFrom),
    /** How many are not settled; with a priority, of those that are at least as urgent. */
    owed: (priority = Number.MAX_SAFE_INTEGER) => owed(priority)?.count ?? 0,
    /** In the order of their messages: a transaction holds them by age. */
    byTxHash: (txHash: string) => byTxHash(txHash).map(intentFrom),
    /** Those about one order or lease, the newest first. */
    about: (subject: string) => about(subject).map(intentFrom),
    file({ what, subject, why, body, priority, expiresAtMs }: NewIntent): number {
      const text = JSON.stringify(body);
      return Number(file(what, subject, why, text, priority, clock.now(), expiresAtMs ?? null).lastInsertRowid);
    },
    /** Notes the transaction before it is broadcast. False when the intent is not waiting for one. */
    send: (id: number, txHash: string) => send(txHash, id).changes === 1,
    /** The transaction is provably dead: wait for another one. False when it was not sent. */
    refile(id: number, { failure, billed }: Refiling = {}): boolean {
      const noted = [billed?.fee ?? null, billed?.gasUsed ?? null] as const;
      return refile(failure ? 1 : 0, failure?.gasFloor ?? 0n, ...noted, id).changes === 1;
    },
    /** It is not wanted any more. False when it has left already or was settled. */
    cancel: (id: number, result: unknown = null) => cancel(clock.now(), JSON.stringify(result), id).changes === 1,
    /** False when it was settled already: the first verdict stands. */
    settle: (id: number, state: SettledState, result: unknown = null) =>
      settle(state, clock.now(), JSON.stringify(result), id).changes === 1,
  };
}

function intentFrom({ fee, gasUsed, ...intent }: IntentRow): Intent {
  return { ...intent, ...(gasUsed !== undefined && { billed: { fee, gasUsed } }) };
}

/** A transaction whose fate is not known yet, as it was signed. */
export interface SentTransaction {
  readonly hash: string;
  /** One journal serves one key on one chain; these say which. */
  readonly chainId: string;
  readonly sender: string;
  readonly bytes: Uint8Array;
  /** The first block that may hold it: who lacks that one cannot know that none does. */
  readonly firstHeight: bigint;
  /** Of an unordered transaction: the chain accepts one timeout timestamp once, and none that has passed. */
  readonly timeoutNs?: bigint;
  /** Of an ordered one: its place, and the last height that may hold it. */
  readonly sequence?: bigint;
  readonly timeoutHeight?: bigint;
  /** Whether blocks that might hold it were lost or never followed, so that those we have seen prove nothing. */
  readonly gapped?: boolean;
}

/** Those that are not settled, and the timeout timestamps that were ever used. */
export function createTransactions(sql: Sql) {
  const all = sql.all<SentTransaction>(
    `SELECT hash, chain_id AS chainId, sender, bytes, first_height AS firstHeight, stamp_ns AS timeoutNs, sequence,
       timeout_height AS timeoutHeight, nullif(gapped, 0) AS gapped FROM transactions ORDER BY id`,
    { bigint: ["firstHeight", "timeoutNs", "sequence", "timeoutHeight"], boolean: ["gapped"] },
  );
  const lastTimeout = sql.one<{ ns: bigint }>("SELECT last_ns AS ns FROM stamps WHERE chain_id = ? AND sender = ?", {
    bigint: ["ns"],
  });
  const add = sql.run(
    "INSERT INTO transactions (hash, chain_id, sender, bytes, first_height, stamp_ns, sequence, timeout_height, gapped) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const mark = sql.run(
    "INSERT INTO stamps (chain_id, sender, last_ns) VALUES (?, ?, ?) ON CONFLICT (chain_id, sender) DO UPDATE SET last_ns = max(last_ns, excluded.last_ns)",
  );
  const markGapped = sql.run("UPDATE transactions SET gapped = 1 WHERE hash = ?");
  const remove = sql.run("DELETE FROM transactions WHERE hash = ?");

  return {
    /** Every transaction that is not settled, the oldest first. */
    all: () => all(),
    /** The highest timeout timestamp that was ever written down for this key, also of transactions long settled. */
    lastTimeoutNs: (chainId: string, sender: string) => lastTimeout(chainId, sender)?.ns,
    /** Notes a transaction, and its timeout timestamp for ever, before it is broadcast. */
    add(tx: SentTransaction): void {
      const { hash, chainId, sender, bytes, firstHeight, timeoutNs = null, sequence = null, timeoutHeight = null } = tx;
      add(hash, chainId, sender, bytes, firstHeight, timeoutNs, sequence, timeoutHeight, tx.gapped ? 1 : 0);
      if (timeoutNs !== null) mark(chainId, sender, timeoutNs);
    },
    /** Blocks that might hold it are lost to us. */
    markGapped: (hash: string) => void markGapped(hash),
    /** Its fate is known; it needs no bytes any more. False when that was known before. */
    remove: (hash: string) => remove(hash).changes === 1,
  };
}
