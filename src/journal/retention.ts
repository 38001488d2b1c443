/** Deletes old rows in slices, never one that is still in use. */
import type { Timer } from "../runtime/clock.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { day, minute } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import { journalLedgerKeepMs, journalOrdersKeepMs } from "../runtime/limits.ts";
import type { Sql } from "./connection.ts";
import type { TableName } from "./tables.ts";
import type { Writer } from "./writer.ts";

/** How often old rows are looked for. */
export const journalRetentionEveryMs = 10 * minute;
/** Rows deleted in one go, for the same reason as journalGroupWrites. */
const journalRetentionRows = 2_000;
export interface RetentionPolicy {
  readonly table: TableName;
  /** When the row was over and done with; empty while it is not, and then it stays. */
  readonly endedAt: string;
  readonly keepMs: number;
  /** A row goes when this many newer ones have come. */
  readonly keepRows: number;
  /** Rows of such a table are rewritten or removed, so they are counted, and the newest is the one that ended last. */
  readonly counted?: boolean;
}

export const journalHistoryKeepMs = 90 * day;

/** Tables that are not here have rows of living things only, and go with them. */
export const policies: readonly RetentionPolicy[] = [
  // Long enough for a dispute about last month's bill; fifteen a minute for that time, about 1 GB.
  { table: "intents", endedAt: "settled_at", keepMs: 45 * day, keepRows: 1_000_000 },
  // "Why did you not bid?" is a question of the following days.
  { table: "decisions", endedAt: "at", keepMs: 14 * day, keepRows: 500_000 },
  // 2,000 leases, each with what it earned, a withdrawal and its fee every day of that time: about 1 GB.
  { table: "ledger", endedAt: "at", keepMs: journalLedgerKeepMs, keepRows: 3_300_000 },
  // Leases that ended: three hundred a day for that time.
  { table: "payments", endedAt: "ended_at", keepMs: journalLedgerKeepMs, keepRows: 165_000 },
  { table: "history", endedAt: "at", keepMs: journalHistoryKeepMs, keepRows: 200_000, counted: true },
  // Three thousand a day for that time, about 300 MB.
  { table: "orders", endedAt: "ended_at", keepMs: journalOrdersKeepMs, keepRows: 270_000 },
  // Covers questions about the last days for a thousand leases; under 200 MB.
  { table: "occurrences", endedAt: "last_at", keepMs: 30 * day, keepRows: 200_000, counted: true },
];

/** How long an operator wants to keep the orders that were seen, and the books. */
export interface Keep {
  readonly ordersMs?: number;
  readonly ledgerMs?: number;
}

export function policiesKeeping({ ordersMs, ledgerMs }: Keep): readonly RetentionPolicy[] {
  const kept: { [Table in TableName]?: number | undefined } = {
    orders: ordersMs,
    ledger: ledgerMs,
    payments: ledgerMs,
  };
  return policies.map((each) => ({ ...each, keepMs: kept[each.table] ?? each.keepMs }));
}

interface RetentionDeps extends Pick<RuntimeDeps, "clock" | "log"> {
  readonly sql: Sql;
  readonly writer: Pick<Writer, "durable">;
  /** The time of the newest block; undefined until one is known. Without it the local clock is used. */
  readonly chainNowMs?: (() => number | undefined) | undefined;
  readonly policies?: readonly RetentionPolicy[];
  readonly sliceRows?: number;
}

/** After the start: by then the chain is read, and what the services begin with is done. */
export const firstSweepMs = 60_000;
/** Between local clock and block time: nothing is kept for less than days, and a chain may halt for some minutes. */
const mostSkewMs = 3_600_000;

export function createRetention(deps: RetentionDeps) {
  const { sql, writer, clock, log, sliceRows = journalRetentionRows } = deps;
  const { chainNowMs = clock.now } = deps;
  const removals = (deps.policies ?? policies).map((policy) => ({ ...policy, remove: createRemoval(sql, policy) }));
  let timer: Timer | undefined;
  let sweeping: Promise<void> = Promise.resolve();
  let stopped = false;

  /** Undefined unless local clock and block time agree: a clock that is years ahead would delete the ledger. */
  function certainNowMs(): number | undefined {
    const nowMs = chainNowMs();
    return nowMs !== undefined && Math.abs(clock.now() - nowMs) <= mostSkewMs ? nowMs : undefined;
  }

  function removeSlice(nowMs: number): number {
    let removed = 0;
    for (const { keepMs, remove } of removals) removed += remove(nowMs - keepMs, sliceRows - removed);
    return removed;
  }

  /** Removes what is too old or too much now, and says how many rows that were. */
  async function sweep(): Promise<number> {
    const nowMs = certainNowMs();
    if (nowMs === undefined) return 0;
    let total = 0;
    for (let removed = sliceRows; removed === sliceRows && !stopped; total += removed) {
      removed = await writer.durable("retention", () => removeSlice(nowMs));
    }
    if (total > 0) log.debug("old journal rows removed", { rows: total });
    return total;
  }

  async function sweepAndGoOn(): Promise<void> {
    try {
      await sweep();
    } catch (thrown) {
      // Errors of storage are reported by the journal itself; the next sweep tries again if there is one.
      log.warn("old journal rows were not removed", { reason: ProviderError.from(thrown).message });
    }
    if (!stopped) startIn(journalRetentionEveryMs);
  }

  function startIn(ms: number): void {
    timer = clock.timer(ms, () => {
      sweeping = sweepAndGoOn();
    });
  }

  return {
    sweep,
    /** Sweeps every so often, until stopped. */
    start: () => startIn(firstSweepMs),
    /** Resolves when the last slice is through. */
    async stop(): Promise<void> {
      stopped = true;
      timer?.cancel();
      await sweeping;
    },
  };
}

/** Removes up to `most` rows of one table: those that ended before `cutoffMs` first, then those that are too many. */
function createRemoval(
  sql: Sql,
  { table, endedAt, keepRows, counted = false }: RetentionPolicy,
): (cutoffMs: number, most: number) => number {
  const tooOld = sql.run(
    `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE ${endedAt} < ? ORDER BY ${endedAt} LIMIT ?)`,
  );
  // Ids only grow, so newer rows are counted by id without reading them; tables whose ids do not show the order use an index.
  const older = counted
    ? `ORDER BY ${endedAt}, id LIMIT min(?, max(0, (SELECT count(*) FROM ${table}) - ${keepRows}))`
    : `WHERE ${endedAt} IS NOT NULL AND id <= (SELECT max(id) FROM ${table}) - ${keepRows} ORDER BY id LIMIT ?`;
  const tooMany = sql.run(`DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} ${older})`);
  return (cutoffMs, most) => {
    const old = Number(tooOld(cutoffMs, most).changes);
    return old + Number(tooMany(most - old).changes);
  };
}
