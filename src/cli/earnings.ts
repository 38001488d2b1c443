/** `akash-provider earnings`: what the leases brought and what it cost, from the books in the journal. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Projection } from "../balance/earnings.ts";
import { type Earnings, type EarningsRow, earningsOf, type Grouping, groupings } from "../balance/earnings.ts";
import type { JsonOf } from "../bidengine/control-handlers.ts";
import { dayMs } from "../journal/ledger.ts";
import { formatDay, formatTime, parseTime, realClock } from "../runtime/clock.ts";
import { aligned } from "./answer-text.ts";
import {
  controlCommand,
  type OutputOptions,
  openControlClient,
  print,
  printError,
  printJson,
  wholeNumber,
} from "./control.ts";

/** What a question about earnings may go back: longer than the books are kept. */
const earningsDays = 3_660;

interface EarningsOptions extends OutputOptions, Span {
  readonly by: Grouping;
  readonly csv: boolean;
}

interface Span {
  readonly days?: number;
  readonly since?: TimeOption;
  readonly until?: TimeOption;
}

/** A moment, or a whole day. */
interface TimeOption {
  readonly fromMs: number;
  readonly toMs: number;
}

const help = `
All amounts are whole numbers of micro-units, and days are those of UTC.
  accrued        earned by leases, whether or not it has come in yet
  withdrawn      came in from the escrow of leases
  fees           of our transactions, also of those that failed
  deposits out   locked in bids; deposits home: given back by the chain
  net            what the wallet gained: withdrawn + deposits home - fees - deposits out
The books are read from the journal, with and without a running provider; --ledger-retention says how long they are kept.

Examples:
  akash-provider earnings --days 7
  akash-provider earnings --by lease --since 2026-11-01 --until 2026-11-30
  akash-provider earnings --since 2026-01-01 --csv > earnings.csv`;

export function earningsCommand(): Command {
  const command = controlCommand("earnings", "show what was earned and spent: by day, lease or denomination")
    .addOption(new Option("--by <what>", "what the rows are").choices(groupings).default("day"))
    .addOption(
      new Option("--days <number>", "the last so many days, with today (default: 30)")
        .argParser(wholeNumber(earningsDays))
        .conflicts("since"),
    )
    .option("--since <time>", "from this day or time on, like 2026-11-01 or 2026-11-01T12:00:00Z", readTime)
    .option("--until <time>", "up to the end of this day, or up to this time", readTime)
    .addOption(
      new Option("--csv", "print CSV: the rows, without totals and projection").default(false).conflicts("json"),
    )
    .addHelpText("after", help);
  return command.action((options: EarningsOptions, given: Command) => {
    const { by, csv, json } = options;
    const nowMs = realClock.now();
    const span = spanOf(options, nowMs);
    if (span.fromMs >= span.toMs) given.error("error: the time to show ends before it begins");
    const earnings = openControlClient(given).readJournal((read) => earningsOf(read, { by, ...span, nowMs }));
    if (json) return printJson(earnings);
    if (earnings.rows.length === 0) printError(emptyWords(earnings));
    if (csv) return print(earningsCsv(earnings));
    if (earnings.rows.length > 0 || earnings.projection.length > 0) print(earningsTable(earnings));
  });
}

export function spanOf({ days = 30, since, until }: Span, nowMs: number): { fromMs: number; toMs: number } {
  const tomorrowMs = nowMs - (nowMs % dayMs) + dayMs;
  const toMs = until?.toMs ?? tomorrowMs;
  // The last days before the end, which is the end of a day unless somebody named a time.
  return { fromMs: since?.fromMs ?? toMs - days * dayMs, toMs };
}

export function readTime(text: string): TimeOption {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isTime = isDay || /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(text);
  const fromMs = isTime && isDayOfCalendar(text.slice(0, 10)) ? parseTime(text) : Number.NaN;
  if (!Number.isNaN(fromMs)) return { fromMs, toMs: isDay ? fromMs + dayMs : fromMs };
  throw new InvalidArgumentError("It must be a day like 2026-11-01, or a time like 2026-11-01T12:00:00Z.");
}

/** The 31st of a shorter month would be read as a day of the next one. */
function isDayOfCalendar(day: string): boolean {
  const ms = parseTime(day);
  return !Number.isNaN(ms) && formatDay(ms) === day;
}

/** Earnings as a table for people and as CSV for spreadsheets. Amounts are in micro-units, as everywhere. */
const columns = ["accrued", "withdrawn", "fees", "deposits", "refunds", "net"] as const;
const headings = ["ACCRUED", "WITHDRAWN", "FEES", "DEPOSITS OUT", "DEPOSITS HOME", "NET"];

export function earningsTable({ by, rows, totals, projection }: JsonOf<Earnings>): string[] {
  const named = by !== "denom";
  const cells = (row: JsonOf<EarningsRow>) => [
    ...(named ? [row.of] : []),
    row.denom,
    ...columns.map((column) => grouped(row[column])),
  ];
  const heading = [...(named ? [by.toUpperCase()] : []), "DENOM", ...headings];
  const shown = named ? [...rows, ...totals] : rows;
  const table = shown.length > 0 ? [...aligned(heading, shown.map(cells), named ? 2 : 1), ""] : [];
  return [...table, ...projectionLines(projection)];
}

/** What is to come is no row of the books: it stands below, in the words that limit it. */
function projectionLines(projection: readonly JsonOf<Projection>[]): string[] {
  if (projection.length === 0) return ["No lease runs, so nothing is to come."];
  const heading = ["DENOM", "LEASES", "IN A DAY", "IN 30 DAYS", "RUN OUT BY THEN"];
  const cells = projection.map(({ denom, leases, perDay, in30Days, runOut }) => [
    denom,
    `${leases}`,
    grouped(perDay),
    grouped(in30Days),
    `${runOut}`,
  ]);
  return ["To come, if no lease is closed and no escrow is topped up:", ...aligned(heading, cells, 1)];
}

export function emptyWords({ begun, fromMs, toMs }: JsonOf<Earnings>): string {
  if (!begun) return "nothing is booked yet: the books begin with the first bid or lease of a provider that runs";
  return `nothing is booked from ${formatTime(fromMs)} to ${formatTime(toMs)}; --since goes further back`;
}

const firstColumn: Record<Grouping, string[]> = { day: ["day"], lease: ["lease"], denom: [] };

/** Rows alone: whoever adds them up must not find totals among them. */
function earningsCsv({ by, rows }: JsonOf<Earnings>): string[] {
  const heading = ["accrued", "withdrawn", "fees", "deposits_out", "deposits_home", "net"];
  return [
    csvLine([...firstColumn[by], "denom", ...heading]),
    ...rows.map((row) =>
      csvLine([...(by === "denom" ? [] : [row.of]), row.denom, ...columns.map((column) => row[column])]),
    ),
  ];
}

/** As RFC 4180 has it. */
export function csvLine(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",");
}

/** "-1234567" → "-1,234,567". */
export function grouped(amount: string): string {
  return amount.replace(/\B(?=(\d{3})+$)/g, ",");
}
