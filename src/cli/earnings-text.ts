/** Earnings as a table for people and as CSV for spreadsheets. Amounts are in micro-units, as everywhere. */
import type { Earnings, EarningsRow, Grouping, Projection } from "../balance/earnings.ts";
import type { Told } from "../bidengine/questions.ts";
import { formatTime } from "../runtime/clock.ts";
import { aligned } from "./columns.ts";

const columns = ["accrued", "withdrawn", "fees", "deposits", "refunds", "net"] as const;
const headings = ["ACCRUED", "WITHDRAWN", "FEES", "DEPOSITS OUT", "DEPOSITS HOME", "NET"];

export function earningsTable({ by, rows, totals, projection }: Told<Earnings>): string[] {
  const named = by !== "denom";
  const cells = (row: Told<EarningsRow>) => [
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
function projectionLines(projection: readonly Told<Projection>[]): string[] {
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

export function emptyWords({ begun, fromMs, toMs }: Told<Earnings>): string {
  if (!begun) return "nothing is booked yet: the books begin with the first bid or lease of a provider that runs";
  return `nothing is booked from ${formatTime(fromMs)} to ${formatTime(toMs)}; --since goes further back`;
}

const firstColumn: Record<Grouping, string[]> = { day: ["day"], lease: ["lease"], denom: [] };

/** Rows alone: whoever adds them up must not find totals among them. */
export function earningsCsv({ by, rows }: Told<Earnings>): string[] {
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
