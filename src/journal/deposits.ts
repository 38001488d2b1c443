/** Deposits of our bids that are out: each stands here until the chain has paid it back. */
import type { Coin } from "../market/coin.ts";
import type { Sql } from "./connection.ts";

interface DepositRow extends Coin {
  readonly bidId: string;
  /** At which it was first seen. */
  readonly height: bigint;
}

type Row = Omit<DepositRow, "amount"> & { readonly amount: string };

export type Deposits = ReturnType<typeof createDeposits>;

export function createDeposits(sql: Sql) {
  const columns = "bid_id AS bidId, denom, amount, height";
  const get = sql.one<Row>(`SELECT ${columns} FROM deposits WHERE bid_id = ?`, { bigints: true });
  const all = sql.all<Row>(`SELECT ${columns} FROM deposits ORDER BY bid_id`, { bigints: true });
  const put = sql.run("INSERT OR REPLACE INTO deposits (bid_id, denom, amount, height) VALUES (?, ?, ?, ?)");
  const remove = sql.run("DELETE FROM deposits WHERE bid_id = ?");
  const fromRow = (row: Row): DepositRow => ({ ...row, amount: BigInt(row.amount) });
  return {
    get(bidId: string): DepositRow | undefined {
      const row = get(bidId);
      return row && fromRow(row);
    },
    /** There are never more than our bids and leases. */
    all: () => all().map(fromRow),
    put: ({ bidId, denom, amount, height }: DepositRow) => void put(bidId, denom, `${amount}`, height),
    remove: (bidId: string) => void remove(bidId),
  };
}
