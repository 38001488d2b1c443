import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { silentLog } from "../runtime/log.ts";
import { openJournal } from "./open.ts";
import type { PaymentRow } from "./payments.ts";

function row(leaseId: string, ended?: NonNullable<PaymentRow["ended"]>["how"]): PaymentRow {
  return {
    ...{ leaseId, denom: "uact", rate: "0.000000000000000001", accrued: 10n ** 60n, withdrawn: 2n ** 200n },
    ...{ height: 2n ** 62n, atMs: 2 ** 45, sinceMs: 5, spentAt: ended ? undefined : 2n ** 62n + 1n },
    ...{ withdrawnAtMs: 7, ended: ended && { how: ended, atMs: 2 ** 45 } },
  };
}

test("what is put comes back to the last digit, also after a restart, and when it was first seen stays", async (t) => {
  const options = { dir: temporaryFolder(t), clock: createVirtualClock(), log: silentLog };
  const rows = [row("o/1/1/1/p"), row("o/2/1/1/p", "closed"), row("o/3/1/1/p", "overdrawn"), row("o/4/1/1/p", "open")];
  const first = await openJournal(options);
  await first.journal.durable("put", ({ payments, deposits }) => {
    for (const each of rows) payments.put(each);
    deposits.put({ bidId: "b", denom: "uakt", amount: 10n ** 60n, height: 2n ** 62n });
  });
  await first.journal.close();
  const { journal } = await openJournal(options);
  t.after(() => journal.close());
  const { payments, deposits } = journal.read;
  assert.deepEqual(payments.all(), rows);
  assert.deepEqual(deposits.get("b"), { bidId: "b", denom: "uakt", amount: 10n ** 60n, height: 2n ** 62n });
  assert.deepEqual(payments.running(), rows.slice(0, 1));
  assert.deepEqual(payments.mayGrow(2n ** 63n - 1n, 9), [rows[3], rows[2]]);
  assert.deepEqual(payments.mayGrow(2n ** 62n, 9), []);
  await journal.durable("put", (tables) => tables.payments.put({ ...row("o/1/1/1/p"), sinceMs: 99, height: 1n }));
  assert.deepEqual(payments.get("o/1/1/1/p"), { ...rows[0], height: 1n });
});

test("of those that may grow the newest are given, and those whose figures are the oldest", async (t) => {
  const { journal } = await openJournal({ dir: temporaryFolder(t), clock: createVirtualClock(), log: silentLog });
  t.after(() => journal.close());
  await journal.durable("put", ({ payments }) => {
    for (let dseq = 1; dseq <= 9; dseq++) {
      payments.put({ ...row(`o/${dseq}/1/1/p`, "overdrawn"), height: BigInt(dseq === 5 ? 50 : 100 + dseq) });
    }
  });
  const given = (before: bigint) =>
    journal.read.payments.mayGrow(before, 2).map(({ leaseId }) => leaseId.split("/")[1]);
  assert.deepEqual(given(200n), ["9", "8", "5", "1"]);
  assert.deepEqual(given(102n), ["5", "1"]);
  assert.deepEqual(given(50n), []);
});

test("the lease that came of an order is found by the order, and no other", async (t) => {
  const { journal } = await openJournal({ dir: temporaryFolder(t), clock: createVirtualClock(), log: silentLog });
  t.after(() => journal.close());
  await journal.durable("put", ({ payments }) => {
    for (const lease of ["o/1/1/1/p", "o/1/1/10/p", "o/11/1/1/p"]) payments.put(row(lease));
  });
  const found = ["o/1/1/1", "o/1/1/10", "o/11/1/1", "o/1/1/2", "o/1/1", "o"].map(journal.read.payments.leaseOf);
  assert.deepEqual(found.slice(0, 4), ["o/1/1/1/p", "o/1/1/10/p", "o/11/1/1/p", undefined]);
});
