/** What was earned and spent in a time, summed up from the ledger page by page: it may hold millions of lines. */
import { dayMs, type LedgerKind, type LedgerLine } from "../journal/ledger.ts";
import type { PaymentRow } from "../journal/payments.ts";
import type { TableReads } from "../journal/tables.ts";
import { decimalOf, mulDecimals, parseDecimal, toInteger } from "../market/decimal.ts";
import { isLeaseKey, isOrderKey } from "../market/ids.ts";
import { largest, smallest } from "../runtime/bigint.ts";
import { formatDay } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";

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

// What the running leases will bring if nothing changes: nobody funds them any more, and nobody closes them.

/** How far apart blocks must be to tell how fast the chain makes them: about ten minutes. */
const earningsPaceBlocks = 100n;
/** How long a block takes where nothing tells: what the network aims at. */
const earningsBlockMs = 6 * second;

/** Of one denomination, in micro-units. */
export interface Projection {
  readonly denom: string;
  readonly leases: number;
  /** In the next day and in the next thirty, as far as the escrows reach. */
  readonly perDay: bigint;
  readonly in30Days: bigint;
  /** Leases whose escrow does not reach that far. */
  readonly runOut: number;
}

/** A block that we know the height and the time of. */
interface Moment {
  readonly height: bigint;
  readonly atMs: number;
}

type BlockPace = ReturnType<typeof createBlockPace>;

/** How many blocks there are in a time, learned from blocks far enough apart. */
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

/** From now on until the escrow is spent; undefined where that is not known. */
function blocksPaid({ spentAt, height, atMs }: PaymentRow, pace: BlockPace, nowMs: number): bigint | undefined {
  if (spentAt === undefined) return undefined;
  return largest(0n, spentAt - height - pace.blocksIn(nowMs - atMs));
}

function earned({ rate }: PaymentRow, blocks: bigint): bigint {
  return toInteger(mulDecimals(parseDecimal(rate), decimalOf(blocks)), "truncate");
}
