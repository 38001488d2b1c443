import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { openJournal } from "../journal/open.ts";
import type { PaymentRow } from "../journal/payments.ts";
import { silentLog } from "../runtime/log.ts";
import { formatBalance, readBalanceStatus } from "./balance-status.ts";

const quiet = { spent: 0, next: undefined, withdrawals: { waiting: 0, done: 0, failed: 0 }, error: undefined };

function payment(leaseId: string, ended: PaymentRow["ended"]): PaymentRow {
  return {
    ...{ leaseId, denom: "uact", rate: "1", accrued: 10n, withdrawn: 4n, height: 1n, atMs: 0, sinceMs: 0 },
    ...{ spentAt: undefined, withdrawnAtMs: undefined, ended },
  };
}

test("earned, withdrawn, owed, locked and fees are summed by denomination", async (t) => {
  const { journal } = await openJournal({ dir: memoryFolder(t), clock: createVirtualClock(), log: silentLog });
  t.after(() => journal.close());
  const huge = 2n ** 70n;
  await journal.durable("book", ({ ledger, payments }) => {
    const line = { subject: "a", height: 1n, atMs: 0 };
    ledger.add({ ...line, kind: "accrued", denom: "uact", amount: 70n });
    ledger.add({ ...line, kind: "accrued", denom: "uact", amount: 30n });
    ledger.add({ ...line, kind: "withdrawn", denom: "uact", amount: 60n });
    ledger.add({ ...line, kind: "fee", denom: "uakt", amount: 5n });
    for (const amount of [500n, 500n, 7n, huge, 9n]) ledger.add({ ...line, kind: "deposit", denom: "uakt", amount });
    ledger.add({ ...line, kind: "refund", denom: "uakt", amount: 9n });
    payments.put(payment("one", undefined));
    payments.put(payment("two", undefined));
    payments.put(payment("three", { how: "closed", atMs: 1 }));
  });
  const status = readBalanceStatus(journal, [], quiet);
  assert.deepEqual(status.money, [
    { denom: "uact", earned: 100n, withdrawn: 60n, owed: 40n, locked: 0n, fees: 0n },
    { denom: "uakt", earned: 0n, withdrawn: 0n, owed: 0n, locked: huge + 1_007n, fees: 5n },
  ]);
  assert.equal(status.leases, 2);
  assert.equal(formatBalance(status), "nothing in the wallet; 2 lease(s) owe 40uact");
});

test("a line says what is low, under way, unpaid and wrong", () => {
  const wallet = [
    { denom: "uact", amount: 3n, low: undefined },
    { denom: "uakt", amount: 8n, low: "2uakt below warn-balance" },
  ];
  const withdrawals = { waiting: 4, done: 0, failed: 0 };
  const error = "escrows cannot be read: no node answers";
  assert.equal(
    formatBalance({ wallet, money: [], leases: 5, spent: 1, next: undefined, withdrawals, error }),
    "3uact, 8uakt; 5 lease(s); 1 without escrow; 4 withdrawal(s) under way; 2uakt below warn-balance; escrows cannot be read: no node answers",
  );
});
