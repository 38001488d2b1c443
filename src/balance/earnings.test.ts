import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { memoryFolder } from "../../test/support/folder.ts";
import { runs } from "../../test/support/runs.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { dayMs, type LedgerKind, ledgerKinds, type NewLedgerLine } from "../journal/ledger.ts";
import { openJournal } from "../journal/open.ts";
import type { PaymentRow } from "../journal/payments.ts";
import { silentLog } from "../runtime/log.ts";
import { createBlockPace, type EarningsRow, earningsOf, ofAccount, projectionOf, withoutLease } from "./earnings.ts";

const provider = "akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6";
const orderId = (dseq: number) => `akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/${dseq}/1/1`;
const leaseId = (dseq: number) => `${orderId(dseq)}/${provider}`;
const firstDay = 20_773 * dayMs;

async function openBooks(t: TestContext) {
  const { journal } = await openJournal({ dir: memoryFolder(t), clock: createVirtualClock(), log: silentLog });
  t.after(() => journal.close());
  return {
    read: journal.read,
    add: (lines: readonly NewLedgerLine[]) =>
      journal.durable("add", ({ ledger }) => {
        for (const line of lines) ledger.add(line);
      }),
    pay: (...rows: PaymentRow[]) =>
      journal.durable("pay", ({ payments }) => {
        for (const row of rows) payments.put(row);
      }),
  };
}

function line(kind: LedgerKind, subject: string, amount: bigint, day: number, denom = "uact"): NewLedgerLine {
  const atMs = firstDay + day * dayMs + 1_000;
  return { kind, subject, denom, amount, height: BigInt(100 + day * 14_400), atMs };
}

function payment(dseq: number, more: Partial<PaymentRow> = {}): PaymentRow {
  return {
    ...{ leaseId: leaseId(dseq), denom: "uact", rate: "10.500000000000000000", accrued: 0n, withdrawn: 0n },
    ...{ height: 1_000n, atMs: firstDay, sinceMs: firstDay, spentAt: undefined, withdrawnAtMs: undefined },
    ...{ ended: undefined, ...more },
  };
}

const show = ({ of, denom, accrued, withdrawn, fees, deposits, refunds, net }: EarningsRow) =>
  [of, denom, accrued, withdrawn, fees, deposits, refunds, net].join(" ");

const story = [
  line("deposit", orderId(1), 500n, 0, "uakt"),
  line("fee", orderId(1), 7n, 0, "uakt"),
  line("accrued", leaseId(1), 100n, 0),
  line("accrued", leaseId(1), 200n, 1),
  line("withdrawn", leaseId(1), 250n, 1),
  line("fee", leaseId(1), 5n, 1, "uakt"),
  line("refund", orderId(1), 500n, 2, "uakt"),
  line("deposit", orderId(2), 500n, 2, "uakt"),
  line("fee", provider, 3n, 2, "uakt"),
];
const whole = { fromMs: firstDay, toMs: firstDay + 9 * dayMs, nowMs: firstDay + 9 * dayMs };

test("by day: what was earned, what came in, what it cost, and what the wallet gained by it", async (t) => {
  const { read, add } = await openBooks(t);
  await add(story);
  const { rows, totals, begun } = earningsOf(read, { by: "day", ...whole });
  assert.deepEqual(rows.map(show), [
    "2026-11-16 uact 100 0 0 0 0 0",
    "2026-11-16 uakt 0 0 7 500 0 -507",
    "2026-11-17 uact 200 250 0 0 0 250",
    "2026-11-17 uakt 0 0 5 0 0 -5",
    "2026-11-18 uakt 0 0 3 500 500 -3",
  ]);
  assert.deepEqual(totals.map(show), ["total uact 300 250 0 0 0 250", "total uakt 0 0 15 1000 500 -515"]);
  assert.equal(begun, true);
});

test("by lease: what its bid cost stands with it, and what no lease came of in a row of its own", async (t) => {
  const { read, add, pay } = await openBooks(t);
  await add(story);
  const byLease = () => earningsOf(read, { by: "lease", ...whole }).rows.map(show);
  const before = byLease();
  await pay(payment(1), payment(2));
  assert.deepEqual(byLease().at(-1), `${leaseId(2)} uakt 0 0 0 500 0 -500`, "by its payment, where no line names it");
  assert.deepEqual(before, [
    `${ofAccount} uakt 0 0 3 0 0 -3`,
    `${leaseId(1)} uact 300 250 0 0 0 250`,
    `${leaseId(1)} uakt 0 0 12 500 500 -12`,
    `${withoutLease} uakt 0 0 0 500 0 -500`,
  ]);
});

test("by denomination, of a part of the time alone", async (t) => {
  const { read, add } = await openBooks(t);
  const question = { by: "denom", nowMs: whole.nowMs, fromMs: firstDay + dayMs, toMs: firstDay + 2 * dayMs } as const;
  assert.deepEqual([earningsOf(read, question).rows, earningsOf(read, question).begun], [[], false]);
  await add(story);
  assert.deepEqual(earningsOf(read, question).rows.map(show), [" uact 200 250 0 0 0 250", " uakt 0 0 5 0 0 -5"]);
});

test("whatever is booked: every grouping adds up to the same, page by page", async (t) => {
  const { read, add } = await openBooks(t);
  const some = fc.record({
    kind: fc.constantFrom(...ledgerKinds),
    subject: fc.constantFrom(orderId(1), leaseId(1), orderId(2), leaseId(3), provider),
    denom: fc.constantFrom("uact", "uakt"),
    amount: fc.bigInt(1n, 10n ** 30n),
    height: fc.bigInt(1n, 1_000n),
    atMs: fc.integer({ min: firstDay, max: firstDay + 5 * dayMs }),
  });
  const span = { fromMs: firstDay + dayMs, toMs: firstDay + 4 * dayMs, nowMs: firstDay + 9 * dayMs };
  await fc.assert(
    fc.asyncProperty(fc.array(some, { maxLength: 20 }), fc.integer({ min: 1, max: 7 }), async (lines, pageLines) => {
      // The books only grow: every run looks at all that the earlier ones have written, too.
      await add(lines);
      const all = read.ledger.after(0, span, 100_000);
      const by = (["day", "lease", "denom"] as const).map((each) => earningsOf(read, { by: each, ...span, pageLines }));
      for (const { totals } of by) assert.deepEqual(totals, by[0]?.totals);
      for (const { denom, accrued, net } of by[0]?.totals ?? []) {
        const sum = (...kinds: LedgerKind[]) =>
          all
            .filter((each) => each.denom === denom && kinds.includes(each.kind))
            .reduce((n, each) => n + each.amount, 0n);
        assert.deepEqual([accrued, net], [sum("accrued"), sum("withdrawn", "refund") - sum("fee", "deposit")]);
      }
    }),
    { numRuns: runs(15, 300) },
  );
});

test("what is to come ends where an escrow does", () => {
  const rows = [
    payment(1),
    payment(2, { spentAt: 1_100n }),
    payment(3, { spentAt: 900n }),
    payment(4, { denom: "uakt", rate: "0.000000000000000001" }),
  ];
  // The block time is unknown, so the default of 6 seconds is used.
  assert.deepEqual(projectionOf(rows, createBlockPace(), firstDay + 60_000), [
    { denom: "uact", leases: 3, perDay: 151_200n + 945n, in30Days: 4_536_000n + 945n, runOut: 2 },
    { denom: "uakt", leases: 1, perDay: 0n, in30Days: 0n, runOut: 0 },
  ]);
  assert.deepEqual(projectionOf([], createBlockPace(), firstDay), []);
});

test("how long a block takes is learned from blocks that are far enough apart", () => {
  const pace = createBlockPace();
  pace.note({ height: 500n, atMs: firstDay });
  pace.note({ height: 510n, atMs: firstDay + 10_000 });
  assert.equal(pace.blocksIn(dayMs), 14_400n);
  pace.note({ height: 1_500n, atMs: firstDay + 2_000_000 });
  assert.equal(pace.blocksIn(dayMs), 43_200n);
});
