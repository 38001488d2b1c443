import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import type { Chain, MirrorView, Queries } from "../chain/chain.ts";
import type { Bid, EscrowPayment, Lease } from "../chain/records.ts";
import { openJournal } from "../journal/open.ts";
import type { PaymentRow } from "../journal/payments.ts";
import { parseDecimal } from "../market/decimal.ts";
import { formatLeaseId, type LeaseId, parseLeaseId } from "../market/ids.ts";
import { silentLog } from "../runtime/log.ts";
import { booksDebts, booksDebtsEveryMs, createBookkeeper } from "./bookkeeper.ts";

const tenant = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";
const provider = "akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6";
const leaseOf = (dseq: number) => parseLeaseId(`${tenant}/${dseq}/1/1/${provider}`);
const height = 100n;

/** A lease that is over, as the chain shows it at the height. */
function ended(id: LeaseId, state: EscrowPayment["state"], withdrawn: bigint): Lease {
  const coin = (amount: string) => ({ denom: "uact", amount: parseDecimal(amount) });
  const payment: EscrowPayment = {
    ...{ key: `deployment/${formatLeaseId(id)}`, height, owner: provider, state, rate: coin("1") },
    ...{ balance: coin("0"), unsettled: coin("0"), withdrawn: { denom: "uact", amount: withdrawn } },
  };
  return { id, state: "closed", payment } as Lease;
}

/** A chain of one block, whose mirror shows only these. */
async function openBooks(t: TestContext, leases: readonly Lease[], answer: (id: LeaseId) => Lease | undefined) {
  const clock = createVirtualClock();
  const { journal } = await openJournal({ dir: temporaryFolder(t), clock, log: silentLog });
  const shown = new Map(leases.map((lease) => [formatLeaseId(lease.id), lease]));
  const bidOf = ({ id }: Lease): Bid => ({ id, state: "closed" }) as Bid;
  const mirror: Partial<MirrorView> = {
    ...{ ready: true, height, timeNs: 0n },
    bids: () => leases.map(bidOf).values(),
    bid: (id) => [...leases].filter((lease) => shown.get(formatLeaseId(id)) === lease).map(bidOf)[0],
    lease: (id) => shown.get(formatLeaseId(id)),
  };
  let calls = 0;
  const queries: Partial<Queries> = {
    async lease(id) {
      calls += 1;
      return { value: answer(id), height, node: "one" };
    },
    blockTimeNs: async () => 0n,
  };
  const chain = { mirror, queries, provider } as unknown as Chain;
  const bookkeeper = createBookkeeper({ chain, journal, clock, log: silentLog });
  const ending = new AbortController();
  let running: Promise<void> | undefined;
  t.after(async () => {
    ending.abort();
    await running;
    await journal.close();
  });
  const start = () => {
    running = bookkeeper.run(ending.signal);
  };
  return { journal, clock, bookkeeper, start, queryCount: () => calls };
}

test("paid debt is found among many debts, some at a time", async (t) => {
  const [paid, count] = [75, 150];
  const answer = (id: LeaseId) => (id.dseq === BigInt(paid) ? ended(id, "closed", 9n) : ended(id, "overdrawn", 5n));
  const { journal, clock, start, queryCount } = await openBooks(t, [], answer);
  const atMs = clock.now();
  await journal.durable("put", ({ payments }) => {
    for (let dseq = 1; dseq <= count; dseq++) {
      const row: PaymentRow = {
        ...{ leaseId: formatLeaseId(leaseOf(dseq)), denom: "uact", rate: "1", accrued: 5n, withdrawn: 5n, height: 10n },
        ...{ atMs: 0, sinceMs: 0, spentAt: undefined, withdrawnAtMs: 0, ended: { how: "overdrawn", atMs } },
      };
      payments.put(row);
    }
  });
  start();
  await clock.advance(booksDebtsEveryMs / 2);
  assert.ok(queryCount() <= 2 * booksDebts, `${queryCount()}`);
  await clock.advance(10 * booksDebtsEveryMs);
  assert.deepEqual(journal.read.payments.get(formatLeaseId(leaseOf(paid)))?.ended, { how: "closed", atMs });
  assert.deepEqual(
    journal.read.ledger.totals().map(({ kind, amount }) => [kind, amount]),
    [
      ["accrued", 4n],
      ["withdrawn", 4n],
    ],
  );
  assert.equal(queryCount(), count);
});

test("a lease that ended so long ago that its row is gone is not booked again, also after a gap", async (t) => {
  const { journal, clock, bookkeeper, start } = await openBooks(
    t,
    [ended(leaseOf(1), "closed", 500n)],
    () => undefined,
  );
  start();
  await clock.settle();
  await bookkeeper.onStep({ gap: { from: 1n, to: height }, changed: [] });
  await clock.advance(booksDebtsEveryMs);
  assert.deepEqual([journal.read.ledger.totals(), journal.read.payments.all()], [[], []]);
});
