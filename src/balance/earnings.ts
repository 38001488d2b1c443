/** What was earned and spent, summed up from the ledger page by page: it may have millions of lines. */
import { dayMs, type LedgerKind, type LedgerLine } from "../journal/ledger.ts";
import type { PaymentRow } from "../journal/payments.ts";
import type { TableReads } from "../journal/tables.ts";
import { decimalOf, mulDecimals, parseDecimal, toInteger } from "../market/decimal.ts";
import { isLeaseKey, isOrderKey } from "../market/ids.ts";
import { largest, smallest } from "../runtime/bigint.ts";
import { formatDay } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";

/** A megabyte or two. */
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

interface EarningsQuery {
  readonly by: Grouping;
  /** From then on, up to and without the end. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
  readonly pageLines?: number;
}

export const withoutLease = "bids without a lease";
/** Registration fees, for instance. */
export const ofAccount = "account";

export function earningsOf(read: TableReads, query: EarningsQuery): Earnings {
  const { by, fromMs, toMs, nowMs } = query;
  const pace = createBlockPace();
  const sums = createSums();
  /** By order; a row of the payments may be gone before the last ledger line of its lease. */
  const leases = new Map<string, string>();
  for (const line of linesOf(read, query)) {
    const group = groupOf(line, by);
    pace.note(line);
    sums.add(group, line);
    if (by === "lease" && isLeaseKey(line.subject)) leases.set(group, line.subject);
  }
  const leaseOf = (order: string) => leases.get(order) ?? read.payments.leaseOf(order) ?? withoutLease;
  const rows = mergedBy(sums.all(), ({ of }) => (by === "lease" && isOrderKey(of) ? leaseOf(of) : of));
  return {
    ...{ by, fromMs, toMs },
    rows: sorted(rows),
    totals: sorted(mergedBy(rows, () => "total")),
    projection: projectionOf(read.payments.running(), pace, nowMs),
    begun: read.ledger.totals().length > 0,
  };
}

function* linesOf({ ledger }: TableReads, query: EarningsQuery): IterableIterator<LedgerLine> {
  const { pageLines = earningsPageLines } = query;
  for (let id = ledger.beginning(query.fromMs); ; ) {
    const page = ledger.after(id, query, pageLines);
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < pageLines) return;
    id = last.id;
  }
}

/** Lines of a lease are under its id, those of its bid under the order: both begin with the order's id. */
function groupOf({ subject, atMs }: LedgerLine, by: Grouping): string {
  if (by === "day") return formatDay(atMs);
  if (by === "denom") return "";
  if (!isOrderKey(subject) && !isLeaseKey(subject)) return ofAccount;
  return subject.split("/").slice(0, 4).join("/");
}

function mergedBy(rows: readonly EarningsRow[], groupOf: (row: EarningsRow) => string): EarningsRow[] {
  const merged = createSums();
  for (const row of rows) merged.merge(groupOf(row), row);
  return merged.all();
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

/** Blocks between two moments from which the block time is derived: about ten minutes. */
const earningsPaceBlocks = 100n;
/** The network's target block time. */
const earningsBlockMs = 6 * second;

/** What the running leases of one denomination will earn if nothing changes, in micro-units. */
export interface Projection {
  readonly denom: string;
  readonly leases: number;
  /** As far as the escrows reach. */
  readonly perDay: bigint;
  readonly in30Days: bigint;
  /** Leases whose escrow does not reach that far. */
  readonly runOut: number;
}

type Moment = Pick<PaymentRow, "height" | "atMs">;
type BlockPace = ReturnType<typeof createBlockPace>;

export function createBlockPace() {
  let [first, last]: (Moment | undefined)[] = [];
  return {
    note(moment: Moment): void {
      if (!first || moment.height < first.height) first = moment;
      if (!last || moment.height > last.height) last = moment;
    },
    blocksIn(ms: number): bigint {
      const blocks = first && last ? last.height - first.height : 0n;
      const tookMs = first && last ? last.atMs - first.atMs : 0;
      const isKnown = blocks >= earningsPaceBlocks && tookMs > 0;
      const [perBlocks, perMs] = isKnown ? [blocks, BigInt(tookMs)] : [1n, BigInt(earningsBlockMs)];
      return (BigInt(Math.max(0, Math.round(ms))) * perBlocks) / perMs;
    },
  };
}

export function projectionOf(running: readonly PaymentRow[], pace: BlockPace, nowMs: number): Projection[] {
  for (const row of running) pace.note(row);
  const [perDay, in30Days] = [pace.blocksIn(dayMs), pace.blocksIn(30 * dayMs)];
  const byDenom = Map.groupBy(running, ({ denom }) => denom);
  return [...byDenom]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([denom, rows]) => {
      const paid = rows.map((row) => ({ row, blocks: blocksPaid(row, pace, nowMs) }));
      const sum = (most: bigint) =>
        paid.reduce((total, { row, blocks }) => total + earned(row, smallest(most, blocks ?? most)), 0n);
      return {
        denom,
        leases: rows.length,
        perDay: sum(perDay),
        in30Days: sum(in30Days),
        runOut: paid.filter(({ blocks }) => blocks !== undefined && blocks < in30Days).length,
      };
    });
}

/** Until the escrow is spent, if known. */
function blocksPaid({ spentAt, height, atMs }: PaymentRow, pace: BlockPace, nowMs: number): bigint | undefined {
  if (spentAt === undefined) return undefined;
  return largest(0n, spentAt - height - pace.blocksIn(nowMs - atMs));
}

function earned({ rate }: PaymentRow, blocks: bigint): bigint {
  return toInteger(mulDecimals(parseDecimal(rate), decimalOf(blocks)), "truncate");
}
