/** The operator's bookkeeping: what was earned, what came in and what it cost, line by line, as seen on chain. */
import type { Coin } from "../market/coin.ts";
import type { Sql } from "./connection.ts";
import { createRecords } from "./records.ts";

/**
 * Accrued: earned by a lease, one line per lease and day, which may shrink where the chain takes it back. Withdrawn: came in.
 * Deposit and refund: what a bid locks, and its way home. The wallet gained withdrawn + refund − fee − deposit.
 */
export const ledgerKinds = ["accrued", "withdrawn", "fee", "deposit", "refund"] as const;
export type LedgerKind = (typeof ledgerKinds)[number];

export interface NewLedgerLine extends Coin {
  readonly kind: LedgerKind;
  /** The lease, or the order that a bid was about, or whose account it was. */
  readonly subject: string;
  readonly height: bigint;
  /** The time of that block; of a fee whose block was lost to us, when we learned of it. */
  readonly atMs: number;
}

export interface LedgerLine extends NewLedgerLine {
  readonly id: number;
}

interface LedgerTotal extends Coin {
  readonly kind: LedgerKind;
}

export const dayMs = 86_400_000;

export function createLedger(sql: Sql) {
  const rows = "SELECT id, kind, subject, denom, amount, height, at AS atMs FROM ledger";
  const read = { bigint: ["amount", "height"] } as const;
  const about = sql.all<LedgerLine>(`${rows} WHERE subject = ? ORDER BY id DESC LIMIT ?`, read);
  // A plus says which index is not to be used: by ids it would read all that is older, by times sort it all for every page.
  const first = sql.one<{ id?: number }>("SELECT min(+id) AS id FROM ledger WHERE at >= ?");
  const after = sql.all<LedgerLine>(`${rows} WHERE id > ? AND +at >= ? AND +at < ? ORDER BY id LIMIT ?`, read);
  const ofDay = sql.one<LedgerLine>(
    `${rows} WHERE subject = ? AND kind = 'accrued' AND denom = ? AND at >= ? AND at < ? ORDER BY at DESC LIMIT 1`,
    read,
  );
  const add = sql.run("INSERT INTO ledger (kind, subject, denom, amount, height, at) VALUES (?, ?, ?, ?, ?, ?)");
  const grow = sql.run("UPDATE ledger SET amount = ?, height = ?, at = ? WHERE id = ?");
  const totals = createRecords<LedgerTotal>(sql, {
    table: "ledger_totals",
    columns: { kind: "kind", denom: "denom", amount: "amount" },
    key: ["kind", "denom"],
    read: { bigint: ["amount"] },
  });

  return {
    /** The lines about one lease or order, the newest first. */
    about: (subject: string, limit: number) => about(subject, limit),
    /** Lines of a time, in the order they were made, from after `id`: the next page. */
    after: (id: number, { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }, limit: number) =>
      after(id, fromMs, toMs, limit),
    /** After which id lines of this time or a later one begin: where the first page starts. */
    beginning: (fromMs: number): number => (first(fromMs)?.id ?? 1) - 1,
    /** What all lines ever written come to, also those that are no longer kept. */
    totals: totals.all,
    /** What a lease has earned in a day stands in one line, which grows. */
    add(line: NewLedgerLine): void {
      const fromMs = line.atMs - (line.atMs % dayMs);
      const today = line.kind === "accrued" && ofDay(line.subject, line.denom, fromMs, fromMs + dayMs);
      if (today) grow(`${today.amount + line.amount}`, line.height, line.atMs, today.id);
      else add(line.kind, line.subject, line.denom, `${line.amount}`, line.height, line.atMs);
      const { kind, denom } = line;
      const { amount = 0n } = totals.get(kind, denom) ?? {};
      totals.put({ kind, denom, amount: amount + line.amount });
    },
  };
}
