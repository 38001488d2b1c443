import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { memoryFolder } from "../../test/support/folder.ts";
import { runs } from "../../test/support/runs.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import type { Bid, Lease } from "../chain/records.ts";
import { dayMs, type LedgerLine } from "../journal/ledger.ts";
import { openJournal } from "../journal/open.ts";
import { decimalOf, parseDecimal } from "../market/decimal.ts";
import { formatLeaseId, formatOrderId, parseLeaseId } from "../market/ids.ts";
import { silentLog } from "../runtime/log.ts";
import { type BidDeposit, bidDepositOf, bookDeposits, bookPayments, type Figures, lastFigures } from "./bookkeeping.ts";

const tenant = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";
const provider = "akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6";
const lease = parseLeaseId(`${tenant}/7/1/1/${provider}`);
const noon = 100 * dayMs + dayMs / 2;

async function openBooks(t: TestContext) {
  const { journal } = await openJournal({ dir: memoryFolder(t), clock: createVirtualClock(), log: silentLog });
  t.after(() => journal.close());
  return {
    read: journal.read,
    book: (...figures: Figures[]) => journal.durable("book", (tables) => bookPayments(tables, figures)),
    deposit: (...bids: BidDeposit[]) => journal.durable("book", (tables) => bookDeposits(tables, bids)),
    lines: (subject = formatLeaseId(lease)) => journal.read.ledger.about(subject, 1_000).reverse().map(short),
  };
}

function short({ kind, amount, denom, height }: LedgerLine): string {
  return `${kind} ${amount}${denom} at ${height}`;
}

function at(height: bigint, accrued: bigint, withdrawn: bigint, more: Partial<Figures> = {}): Figures {
  const timeMs = noon + Number(height) * 6_000;
  return {
    ...{ lease, denom: "uact", rate: "10.000000000000000000", accrued, withdrawn, height, timeMs },
    ...{ spentAt: 900n, ended: undefined, ...more },
  };
}

test("what a lease earns in a day is one line that grows; each withdrawal is a line of its own", async (t) => {
  const { book, lines, read } = await openBooks(t);
  await book(at(10n, 100n, 0n));
  await book(at(20n, 200n, 150n));
  await book(at(30n, 300n, 300n));
  assert.deepEqual(lines(), ["accrued 300uact at 30", "withdrawn 150uact at 20", "withdrawn 150uact at 30"]);
  await book(at(40n, 400n, 300n, { timeMs: noon + dayMs }));
  assert.deepEqual(lines().at(-1), "accrued 100uact at 40");
  const row = read.payments.get(formatLeaseId(lease));
  assert.deepEqual([row?.accrued, row?.withdrawn, row?.height, row?.spentAt], [400n, 300n, 40n, 900n]);
  assert.deepEqual([row?.sinceMs, row?.withdrawnAtMs], [noon + 60_000, noon + 180_000]);
});

test("the same shown twice, or something older than what is booked, changes nothing", async (t) => {
  const { book, lines, read } = await openBooks(t);
  await book(at(20n, 200n, 50n), at(20n, 200n, 50n));
  const [before, row] = [lines(), read.payments.all()];
  await book(at(20n, 200n, 50n));
  await book(at(19n, 190n, 0n));
  assert.deepEqual(lines(), before);
  assert.deepEqual(read.payments.all(), row);
});

test("what the chain lost of what had accrued is taken back, so that the books are what it shows", async (t) => {
  const { book, lines, read } = await openBooks(t);
  await book(at(10n, 100n, 0n));
  await book(at(12n, 20n, 0n, { timeMs: noon + dayMs }));
  assert.deepEqual(lines(), ["accrued 100uact at 10", "accrued -80uact at 12"]);
  assert.deepEqual(read.ledger.totals(), [{ kind: "accrued", denom: "uact", amount: 20n }]);
});

test("a lease ends once, and what comes in afterwards is booked all the same", async (t) => {
  const { book, lines, read } = await openBooks(t);
  await book(at(10n, 100n, 0n));
  await book(at(20n, 120n, 120n, { ended: "overdrawn", spentAt: undefined }));
  const leaseId = formatLeaseId(lease);
  const endedAtMs = noon + 120_000;
  assert.deepEqual(read.payments.get(leaseId)?.ended, { how: "overdrawn", atMs: endedAtMs });
  assert.deepEqual([read.payments.running(), read.payments.mayGrow(99n, 9).length], [[], 1]);
  // An open payment of an ended lease, as the account's list shows it.
  await book(at(25n, 130n, 120n));
  assert.deepEqual(read.payments.get(leaseId)?.ended, { how: "overdrawn", atMs: endedAtMs });
  assert.equal(read.payments.get(leaseId)?.spentAt, undefined);
  await book(at(30n, 200n, 200n, { ended: "closed" }));
  assert.deepEqual(read.payments.get(leaseId)?.ended, { how: "closed", atMs: endedAtMs });
  assert.deepEqual(read.payments.mayGrow(99n, 9), []);
  assert.deepEqual(lines(), ["accrued 200uact at 30", "withdrawn 120uact at 20", "withdrawn 80uact at 30"]);
});

test("that a lease is over is booked, also when newer figures came first", async (t) => {
  const { book, lines, read } = await openBooks(t);
  await book(at(20n, 200n, 50n));
  const before = lines();
  await book(at(19n, 190n, 50n, { ended: "open", spentAt: undefined }));
  const row = read.payments.get(formatLeaseId(lease));
  assert.deepEqual([row?.height, row?.spentAt, row?.ended?.how], [20n, undefined, "open"]);
  assert.deepEqual(lines(), before);
  assert.deepEqual([read.payments.running(), read.payments.mayGrow(99n, 9).length], [[], 1]);
});

test("a deposit goes out once and is refunded once, under its order", async (t) => {
  const { deposit, lines, read } = await openBooks(t);
  const out = { bid: lease, locked: { denom: "uact", amount: 500_000n }, height: 5n, timeMs: noon };
  const home = { ...out, locked: undefined, height: 9n };
  await deposit(home);
  await deposit(out);
  await deposit(out, out);
  assert.deepEqual(
    read.deposits.all().map(({ bidId, amount }) => [bidId, amount]),
    [[formatLeaseId(lease), 500_000n]],
  );
  await deposit(home, home);
  assert.deepEqual(read.deposits.all(), []);
  assert.deepEqual(lines(formatOrderId(lease)), ["deposit 500000uact at 5", "refund 500000uact at 9"]);
});

test("of records of the chain: the last figures of a lease, and what a bid has locked", () => {
  const coin = (amount: string) => ({ denom: "uact", amount: parseDecimal(amount) });
  const payment = {
    ...{ key: "deployment/x", height: 12n, owner: provider, state: "overdrawn" as const, rate: coin("1.5") },
    ...{ balance: coin("7"), unsettled: coin("3"), withdrawn: { denom: "uact", amount: 20n } },
  };
  const ended = { id: lease, payment } as unknown as Lease;
  assert.deepEqual(
    lastFigures(ended, () => noon),
    {
      ...{
        lease,
        denom: "uact",
        rate: "1.500000000000000000",
        accrued: 27n,
        withdrawn: 20n,
        height: 12n,
        timeMs: noon,
      },
      ...{ spentAt: undefined, ended: "overdrawn" },
    },
  );
  assert.equal(
    lastFigures({ ...ended, payment: undefined }, () => noon),
    undefined,
  );
  const funds = [{ denom: "uakt", amount: decimalOf(0n) }, coin("500000")];
  const bid = { id: lease, escrow: { state: "open", height: 3n, funds } } as unknown as Bid;
  assert.deepEqual(bidDepositOf(bid, () => noon)?.locked, { denom: "uact", amount: 500_000n });
  // Any account may deposit; the remainder is refunded to the depositor.
  const opened = { ...bid, escrow: { ...bid.escrow, opening: coin("499999") } } as Bid;
  assert.deepEqual(bidDepositOf(opened, () => noon)?.locked, { denom: "uact", amount: 499_999n });
  const closed = { id: lease, escrow: { state: "closed", height: 3n, funds: [] } } as unknown as Bid;
  assert.deepEqual(
    bidDepositOf(closed, () => noon),
    { bid: lease, locked: undefined, height: 3n, timeMs: noon },
  );
});

test("whatever is shown, in whatever order and how often: the lines add up to the newest figures", async (t) => {
  const shown = fc.record({
    lease: fc.integer({ min: 1, max: 3 }),
    height: fc.bigInt(1n, 40n),
    ended: fc.constantFrom(undefined, undefined, "closed" as const, "overdrawn" as const),
  });
  const { book, read } = await openBooks(t);
  let dseq = 0n;
  await fc.assert(
    fc.asyncProperty(fc.array(shown, { maxLength: 30 }), fc.array(fc.bigInt(0n, 99n)), async (news, amounts) => {
      dseq += 1n;
      const newest = new Map<string, Figures>();
      for (const { lease: gseq, height, ended } of news) {
        // A height has one state, so its figures are a function of it.
        const mark = amounts[Number(height) % (amounts.length || 1)] ?? 7n;
        const id = { ...lease, dseq, gseq };
        const figures = at(height, height * 10n + mark, height * 5n, { lease: id, ended });
        await book(figures);
        if ((newest.get(formatLeaseId(id))?.height ?? 0n) <= height) newest.set(formatLeaseId(id), figures);
      }
      for (const [leaseId, { accrued, withdrawn }] of newest) {
        const lines = read.ledger.about(leaseId, 1_000);
        const sum = (kind: string) => lines.reduce((all, line) => (line.kind === kind ? all + line.amount : all), 0n);
        assert.deepEqual([sum("accrued"), sum("withdrawn")], [accrued, withdrawn]);
      }
    }),
    { numRuns: runs(20, 500) },
  );
});
