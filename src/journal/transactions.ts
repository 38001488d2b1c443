/** Transactions whose fate is not known yet, as they were signed, and the stamps that were ever used. */
import type { Sql } from "./connection.ts";

export interface SentTransaction {
  readonly hash: string;
  /** One journal serves one key on one chain; these say which. */
  readonly chainId: string;
  readonly sender: string;
  readonly bytes: Uint8Array;
  /** The first block that may hold it: who lacks that one cannot know that none does. */
  readonly firstHeight: bigint;
  /** Of an unordered transaction: the chain accepts one stamp once, and none that has passed. */
  readonly stampNs?: bigint;
  /** Of an ordered one: its place, and the last height that may hold it. */
  readonly sequence?: bigint;
  readonly timeoutHeight?: bigint;
  /** Whether blocks that might hold it were lost or never followed, so that those we have seen prove nothing. */
  readonly gapped?: boolean;
}

export interface TransactionReads {
  /** Every transaction that is not settled, the oldest first. */
  all(): SentTransaction[];
  /** The highest stamp that was ever written down for this key, also of transactions long settled. */
  lastStampNs(chainId: string, sender: string): bigint | undefined;
}

export interface Transactions extends TransactionReads {
  /** Notes a transaction, and its stamp for ever, before it is broadcast. */
  add(tx: SentTransaction): void;
  /** Blocks that might hold it are lost to us. */
  markGapped(hash: string): void;
  /** Its fate is known; it needs no bytes any more. False when that was known before. */
  remove(hash: string): boolean;
}

interface Row {
  hash: string;
  chain_id: string;
  sender: string;
  bytes: Uint8Array;
  first_height: bigint;
  stamp_ns: bigint | null;
  sequence: bigint | null;
  timeout_height: bigint | null;
  gapped: bigint;
}

export function createTransactions(sql: Sql): Transactions {
  const all = sql.all<Row>("SELECT * FROM transactions ORDER BY id", { bigints: true });
  const lastStamp = sql.one<{ last_ns: bigint }>("SELECT last_ns FROM stamps WHERE chain_id = ? AND sender = ?", {
    bigints: true,
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
    all: () => all().map(fromRow),
    lastStampNs: (chainId, sender) => lastStamp(chainId, sender)?.last_ns,
    add({ hash, chainId, sender, bytes, firstHeight, stampNs = null, sequence = null, timeoutHeight = null, gapped }) {
      add(hash, chainId, sender, bytes, firstHeight, stampNs, sequence, timeoutHeight, gapped ? 1 : 0);
      if (stampNs !== null) mark(chainId, sender, stampNs);
    },
    markGapped(hash) {
      markGapped(hash);
    },
    remove: (hash) => remove(hash).changes === 1,
  };
}

function fromRow(row: Row): SentTransaction {
  return {
    hash: row.hash,
    chainId: row.chain_id,
    sender: row.sender,
    bytes: row.bytes,
    firstHeight: row.first_height,
    ...(row.stamp_ns !== null && { stampNs: row.stamp_ns }),
    ...(row.sequence !== null && { sequence: row.sequence }),
    ...(row.timeout_height !== null && { timeoutHeight: row.timeout_height }),
    ...(row.gapped > 0n && { gapped: true }),
  };
}
