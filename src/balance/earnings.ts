/** What was earned and spent in a time, summed up from the ledger page by page: it may hold millions of lines. */
import type { LedgerKind, LedgerLine } from "../journal/ledger.ts";
import type { TableReads } from "../journal/tables.ts";
import { isLeaseKey, isOrderKey } from "../market/ids.ts";
import { formatDay } from "../runtime/clock.ts";
import { createBlockPace, type Projection, projectionOf } from "./earnings-projection.ts";

/** Lines of the ledger that are read at once to sum them up: a megabyte or two. */
const earningsPageLines = 5_000;

export const groupings = ["day", "lease", "denom"] as const;
export type Grouping = (typeof groupings)[number];

/** In micro-units of one denomination. */
export interface Sums {
  /** Earned, whether or not it came in. */
  readonly accrued: bigint;
  readonly withdrawn: bigint;
  readonly fees: bigint;
  /** Deposits of bids that went out and that came home. */
  readonly deposits: bigint;
  readonly refunds: bigint;
  /** What the wallet gained by all of it. */
  readonly net: bigint;
}

export interface EarningsRow extends Sums {
  /** The day in UTC, or the lease; of costs that belong to none, what they were for. Empty where only denominations count. */
  readonly of: string;
  readonly denom: string;
}

export interface Earnings {
  readonly by: Grouping;
  readonly fromMs: number;
  readonly toMs: number;
  readonly rows: readonly EarningsRow[];
  /** Of the rows, per denomination. */
  readonly totals: readonly EarningsRow[];
  readonly projection: readonly Projection[];
  /** Whether anything was ever booked. */
  readonly begun: boolean;
}

interface EarningsQuestion {
  readonly by: Grouping;
  /** From then on, up to and without the end. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
  readonly pageLines?: number;
}

/** What a bid cost that no lease came of. */
export const withoutLease = "bids without a lease";
/** For instance the fee of a registration. */
export const ofAccount = "account";

export function earningsOf(read: TableReads, question: EarningsQuestion): Earnings {
  const { by, fromMs, toMs, nowMs } = question;
  const pace = createBlockPace();
  const sums = createSums();
  /** By the order. A row of the payments tells as well, but goes before the last line of a lease may. */
  const leases = new Map<string, string>();
  for (const line of linesOf(read, question)) {
    const group = groupOf(line, by);
    pace.note(line);
    sums.add(group, line);
    if (by === "lease" && isLeaseKey(line.subject)) leases.set(group, line.subject);
  }
  const leaseOf = (order: string) => leases.get(order) ?? read.payments.leaseOf(order) ?? withoutLease;
  const rows = by === "lease" ? nameLeases(sums.all(), leaseOf) : sums.all();
  return {
    ...{ by, fromMs, toMs },
    rows: sorted(rows),
    totals: sorted(totalsOf(rows)),
    projection: projectionOf(read.payments.running(), pace, nowMs),
    begun: read.ledger.totals().length > 0,
  };
}

function* linesOf({ ledger }: TableReads, question: EarningsQuestion): IterableIterator<LedgerLine> {
  const { pageLines = earningsPageLines } = question;
  for (let id = ledger.beginning(question.fromMs); ; ) {
    const page = ledger.after(id, question, pageLines);
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < pageLines) return;
    id = last.id;
  }
}

/** What a lease brought stands under its id, what its bid cost under the order: both begin with the order's. */
function groupOf({ subject, atMs }: LedgerLine, by: Grouping): string {
  if (by === "day") return formatDay(atMs);
  if (by === "denom") return "";
  if (!isOrderKey(subject) && !isLeaseKey(subject)) return ofAccount;
  return subject.split("/").slice(0, 4).join("/");
}

function nameLeases(rows: readonly EarningsRow[], leaseOf: (order: string) => string): EarningsRow[] {
  const named = createSums();
  for (const row of rows) named.merge(isOrderKey(row.of) ? leaseOf(row.of) : row.of, row);
  return named.all();
}

function totalsOf(rows: readonly EarningsRow[]): EarningsRow[] {
  const totals = createSums();
  for (const row of rows) totals.merge("total", row);
  return totals.all();
}

const columnOf = {
  accrued: "accrued",
  withdrawn: "withdrawn",
  fee: "fees",
  deposit: "deposits",
  refund: "refunds",
} as const satisfies Record<LedgerKind, Exclude<keyof Sums, "net">>;

type Adding = { -readonly [Name in keyof Omit<Sums, "net">]: bigint };

function createSums() {
  const sums = new Map<string, { readonly of: string; readonly denom: string; readonly adding: Adding }>();
  function sumOf(of: string, denom: string): Adding {
    const key = `${of} ${denom}`;
    const none = { accrued: 0n, withdrawn: 0n, fees: 0n, deposits: 0n, refunds: 0n };
    const found = sums.get(key) ?? { of, denom, adding: none };
    sums.set(key, found);
    return found.adding;
  }
  return {
    add(of: string, { kind, denom, amount }: LedgerLine): void {
      sumOf(of, denom)[columnOf[kind]] += amount;
    },
    merge(of: string, row: EarningsRow): void {
      const adding = sumOf(of, row.denom);
      for (const column of Object.values(columnOf)) adding[column] += row[column];
    },
    all: (): EarningsRow[] =>
      [...sums.values()].map(({ of, denom, adding }) => {
        const { withdrawn, fees, deposits, refunds } = adding;
        return { of, denom, ...adding, net: withdrawn + refunds - fees - deposits };
      }),
  };
}

function sorted(rows: readonly EarningsRow[]): EarningsRow[] {
  const compare = (left: string, right: string) => (left === right ? 0 : left < right ? -1 : 1);
  return rows.toSorted((left, right) => compare(left.of, right.of) || compare(left.denom, right.denom));
}
