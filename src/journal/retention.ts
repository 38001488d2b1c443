/** Everything has an end: old rows go, in slices, and never one that is still owed or alive. */
import type { Clock, Timer } from "../runtime/clock.ts";
import { day, minute } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import { journalLedgerKeepMs, journalOrdersKeepMs } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import type { Sql } from "./connection.ts";
import type { TableName } from "./tables.ts";
import type { Writer } from "./writer.ts";

/** How often old rows are looked for. */
export const journalRetentionEveryMs = 10 * minute;
/** Rows deleted in one go, for the same reason as journalGroupWrites. */
const journalRetentionRows = 2_000;
/** Settled intents are kept long enough to answer a dispute about last month's bill. */
const journalIntentsKeepMs = 45 * day;
/** Rows bound the file where age alone would not: fifteen intents a minute for 45 days, about 1 GB. */
const journalIntentsKeepRows = 1_000_000;
/** Decisions answer "why did you not bid?", which is asked within days. */
const journalDecisionsKeepMs = 14 * day;
const journalDecisionsKeepRows = 500_000;
export const journalHistoryKeepMs = 90 * day;
const journalHistoryKeepRows = 200_000;
/** Tenants and operators ask about the last days; a lease in a crash loop has a handful, each counted. */
const journalOccurrencesKeepMs = 30 * day;
/** A thousand leases with as many as one may have, or ten times as many with a handful; under 200 MB. */
const journalOccurrencesKeepRows = 200_000;
/** 2,000 leases, each with what it earned, a withdrawal and its fee every day of that time: about 1 GB. */
const journalLedgerKeepRows = 3_300_000;
/** Leases that ended: three hundred a day for that time. */
const journalPaymentsKeepRows = 165_000;
/** Three thousand orders a day for that time, about 300 MB. */
const journalOrdersKeepRows = 270_000;

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

/** Tables that are not here have rows of living things only, and go with them. */
export const policies: readonly RetentionPolicy[] = [
  policy("intents", "settled_at", journalIntentsKeepMs, journalIntentsKeepRows),
  policy("decisions", "at", journalDecisionsKeepMs, journalDecisionsKeepRows),
  policy("ledger", "at", journalLedgerKeepMs, journalLedgerKeepRows),
  policy("payments", "ended_at", journalLedgerKeepMs, journalPaymentsKeepRows),
  { ...policy("history", "at", journalHistoryKeepMs, journalHistoryKeepRows), counted: true },
  policy("orders", "ended_at", journalOrdersKeepMs, journalOrdersKeepRows),
  {
    ...policy("occurrences", "last_at", journalOccurrencesKeepMs, journalOccurrencesKeepRows),
    counted: true,
  },
];

/** How long an operator wants to keep what is his to say. */
export interface Keep {
  /** The orders that were seen. */
  readonly ordersMs?: number;
  /** The books. */
  readonly ledgerMs?: number;
}

export function policiesKeeping({ ordersMs, ledgerMs }: Keep): readonly RetentionPolicy[] {
  const kept: Partial<Record<TableName, number | undefined>> = {
    orders: ordersMs,
    ledger: ledgerMs,
    payments: ledgerMs,
  };
  return policies.map((each) => ({ ...each, keepMs: kept[each.table] ?? each.keepMs }));
}

function policy(table: TableName, endedAt: string, keepMs: number, keepRows: number): RetentionPolicy {
  return { table, endedAt, keepMs, keepRows };
}

interface RetentionDeps {
  readonly sql: Sql;
  readonly writer: Pick<Writer, "durable">;
  readonly clock: Clock;
  /** The time of the newest block; undefined until one is known. Without it the local clock is used. */
  readonly chainNowMs?: (() => number | undefined) | undefined;
  readonly log: Log;
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
      // What storage has to say, the journal itself says; the next sweep tries again if there is one.
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
  // Ids only grow, so the rows newer than one are counted without reading them; where they do not tell, by reading an index.
  const older = counted
    ? `ORDER BY ${endedAt}, id LIMIT min(?, max(0, (SELECT count(*) FROM ${table}) - ${keepRows}))`
    : `WHERE ${endedAt} IS NOT NULL AND id <= (SELECT max(id) FROM ${table}) - ${keepRows} ORDER BY id LIMIT ?`;
  const tooMany = sql.run(`DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} ${older})`);
  return (cutoffMs, most) => {
    const old = Number(tooOld(cutoffMs, most).changes);
    return old + Number(tooMany(most - old).changes);
  };
}
