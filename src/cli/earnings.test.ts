import assert from "node:assert/strict";
import { test } from "node:test";
import { CommanderError } from "commander";
import { temporaryFolder } from "../../test/support/folder.ts";
import { runCommand } from "../../test/support/live-provider.ts";
import type { Owner } from "../../test/support/owner.ts";
import { dayMs } from "../journal/ledger.ts";
import { openJournal } from "../journal/open.ts";
import { parseTime, realClock } from "../runtime/clock.ts";
import { silentLog } from "../runtime/log.ts";
import { throwOnWrongUsage } from "./commands.ts";
import { csvLine, earningsCommand, earningsTable, emptyWords, grouped, readTime, spanOf } from "./earnings.ts";

const order = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/7/1/1";
const lease = `${order}/akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6`;

async function openBooks(owner: Owner) {
  const dir = temporaryFolder(owner);
  const { journal } = await openJournal({ dir, clock: realClock, log: silentLog });
  owner.after(() => journal.close());
  return { dir, journal };
}

test("the command reads the books beside a provider that has them open: table, CSV and JSON", async (t) => {
  const { dir, journal } = await openBooks(t);
  const nothing = await runCommand("earnings", "--data-dir", dir);
  assert.deepEqual([nothing.code, nothing.stdout], [0, ""]);
  assert.match(nothing.stderr, /nothing is booked yet: the books begin with the first bid or lease/);

  const atMs = parseTime("2026-11-16T12:00:00Z");
  await journal.durable("book", ({ ledger, payments }) => {
    const about = { height: 500n, atMs };
    ledger.add({ kind: "deposit", subject: order, denom: "uakt", amount: 500_000n, ...about });
    ledger.add({ kind: "fee", subject: order, denom: "uakt", amount: 2_500n, ...about });
    ledger.add({ kind: "accrued", subject: lease, denom: "uact", amount: 1_234_567n, ...about });
    ledger.add({ kind: "withdrawn", subject: lease, denom: "uact", amount: 1_000_000n, ...about });
    payments.put({
      ...{ leaseId: lease, denom: "uact", rate: "100.000000000000000000", accrued: 1_234_567n, withdrawn: 1_000_000n },
      ...{ height: 500n, atMs, sinceMs: atMs, spentAt: undefined, withdrawnAtMs: atMs, ended: undefined },
    });
  });
  const span = ["--since", "2026-11-16", "--until", "2026-11-16", "--data-dir", dir];
  const [table, csv, json] = await Promise.all([
    runCommand("earnings", ...span),
    runCommand("earnings", "--by", "lease", "--csv", ...span),
    runCommand("earnings", "--by", "denom", "--json", ...span),
  ]);
  assert.equal(table.code, 0, table.stderr);
  assert.deepEqual(table.stdout.split("\n"), [
    "DAY         DENOM    ACCRUED  WITHDRAWN   FEES  DEPOSITS OUT  DEPOSITS HOME        NET",
    "2026-11-16  uact   1,234,567  1,000,000      0             0              0  1,000,000",
    "2026-11-16  uakt           0          0  2,500       500,000              0   -502,500",
    "total       uact   1,234,567  1,000,000      0             0              0  1,000,000",
    "total       uakt           0          0  2,500       500,000              0   -502,500",
    "",
    "To come, if no lease is closed and no escrow is topped up:",
    "DENOM  LEASES   IN A DAY  IN 30 DAYS  RUN OUT BY THEN",
    "uact        1  1,440,000  43,200,000                0",
    "",
  ]);
  assert.deepEqual(csv.stdout.split("\n"), [
    "lease,denom,accrued,withdrawn,fees,deposits_out,deposits_home,net",
    `${lease},uact,1234567,1000000,0,0,0,1000000`,
    `${lease},uakt,0,0,2500,500000,0,-502500`,
    "",
  ]);
  const told = JSON.parse(json.stdout);
  assert.deepEqual([told.by, told.fromMs, told.toMs], ["denom", atMs - dayMs / 2, atMs + dayMs / 2]);
  assert.deepEqual(told.rows[0], {
    ...{ of: "", denom: "uact", accrued: "1234567", withdrawn: "1000000" },
    ...{ fees: "0", deposits: "0", refunds: "0", net: "1000000" },
  });
  assert.equal(told.projection[0].perDay, "1440000");
});

test("a time that makes no sense is rejected", () => {
  const refused = (...args: string[]) => {
    const said: string[] = [];
    const command = throwOnWrongUsage(earningsCommand()).configureOutput({ writeErr: (text) => void said.push(text) });
    assert.throws(() => command.parse(args, { from: "user" }), CommanderError);
    return said.join("");
  };
  assert.match(refused("--since", "yesterday"), /It must be a day like 2026-11-01/);
  assert.match(refused("--since", "2026-11-01", "--days", "3"), /cannot be used with/);
  assert.match(refused("--since", "2026-11-02", "--until", "2026-11-01"), /ends before it begins/);
  assert.match(refused("--csv", "--json"), /cannot be used with/);
});

test("a time without a line is told as such, and that nothing runs", () => {
  const span = { fromMs: parseTime("2026-10-01"), toMs: parseTime("2026-11-01") };
  const earnings = { by: "day" as const, ...span, rows: [], totals: [], projection: [], begun: true };
  const from = "from 2026-10-01T00:00:00.000Z to 2026-11-01T00:00:00.000Z";
  assert.equal(emptyWords(earnings), `nothing is booked ${from}; --since goes further back`);
  assert.deepEqual(earningsTable(earnings), ["No lease runs, so nothing is to come."]);
});

test("the last days are whole ones, with today", () => {
  const nowMs = parseTime("2026-11-16T15:30:00Z");
  assert.deepEqual(spanOf({}, nowMs), {
    fromMs: parseTime("2026-10-18T00:00:00Z"),
    toMs: parseTime("2026-11-17T00:00:00Z"),
  });
  assert.deepEqual(spanOf({ days: 1 }, nowMs).fromMs, parseTime("2026-11-16T00:00:00Z"));
  const [since, until] = [readTime("2026-11-01T12:00:00Z"), readTime("2026-11-03")];
  assert.deepEqual(spanOf({ since, until }, nowMs), {
    fromMs: parseTime("2026-11-01T12:00:00Z"),
    toMs: parseTime("2026-11-04T00:00:00Z"),
  });
  for (const text of ["2026-11", "1", "2026-13-01", "2026-11-01T12:00", ""]) assert.throws(() => readTime(text));
  for (const text of ["2026-02-29", "2026-11-31", "2026-02-30T12:00:00Z"]) assert.throws(() => readTime(text), text);
  assert.equal(readTime("2024-02-29").fromMs, parseTime("2024-02-29"));
});

test("a table may have more rows than a function takes arguments", () => {
  const sums = { accrued: "1", withdrawn: "0", fees: "0", deposits: "0", refunds: "0", net: "0" };
  const rows = Array.from({ length: 150_000 }, () => ({ of: lease, denom: "uact", ...sums }));
  const earnings = { by: "lease", fromMs: 0, toMs: 1, totals: [], projection: [], begun: true } as const;
  assert.equal(earningsTable({ ...earnings, rows }).length, rows.length + 3);
});

test("cells with commas, quotes and breaks are quoted, and digits stand in threes", () => {
  assert.equal(csvLine(["a", "b,c", 'say "x"', "two\nlines", "-5"]), 'a,"b,c","say ""x""","two\nlines",-5');
  assert.deepEqual(["0", "999", "1000", "-1234567", "12345678901"].map(grouped), [
    ...["0", "999", "1,000", "-1,234,567", "12,345,678,901"],
  ]);
});
