import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { silentLog } from "../runtime/log.ts";
import type { SentTransaction } from "./intents.ts";
import { openJournal } from "./open.ts";

const unordered: SentTransaction = {
  hash: "AA",
  chainId: "c-1",
  sender: "akash1a",
  bytes: Buffer.from([1, 2, 3]),
  firstHeight: 2n ** 53n + 1n,
  timeoutNs: 1_767_225_600_000_000_007n,
};
const ordered: SentTransaction = {
  hash: "BB",
  chainId: "c-1",
  sender: "akash1a",
  bytes: Buffer.from([4]),
  firstHeight: 81n,
  sequence: 7n,
  timeoutHeight: 90n,
};

test("transactions are kept as they were sent until their fate is known, and their stamps for ever", async (t) => {
  const dir = temporaryFolder(t);
  const deps = { dir, clock: createVirtualClock(), log: silentLog };
  const { journal } = await openJournal(deps);
  await journal.durable("add", ({ transactions }) => {
    transactions.add(unordered);
    transactions.add(ordered);
    transactions.add({ ...unordered, hash: "CC", timeoutNs: 5n });
  });
  await journal.durable("remove", ({ transactions }) => transactions.remove("CC"));
  await journal.close();

  const { journal: next } = await openJournal(deps);
  t.after(() => next.close());
  const { transactions } = next.read;
  assert.deepEqual(
    transactions.all().map((tx) => ({ ...tx, bytes: Buffer.from(tx.bytes) })),
    [unordered, ordered],
  );
  await next.durable("remove", (tables) => tables.transactions.remove("AA"));
  assert.equal(transactions.lastTimeoutNs("c-1", "akash1a"), unordered.timeoutNs);
  assert.equal(transactions.lastTimeoutNs("c-1", "akash1b"), undefined);
});

test("an intent that is filed again remembers its failures, the gas that it needs and what it has cost", async (t) => {
  const { journal } = await openJournal({ dir: temporaryFolder(t), clock: createVirtualClock(), log: silentLog });
  t.after(() => journal.close());
  const wish = { what: "createBid", subject: "order 1", why: "test", body: {}, priority: 10 };
  const id = await journal.durable("work", ({ intents }) => {
    const id = intents.file(wish);
    for (const refiling of [
      { billed: { fee: "7uakt", gasUsed: 5n } },
      { failure: { gasFloor: 900n }, billed: { fee: "9uakt", gasUsed: 6n } },
      { failure: { gasFloor: 500n } },
    ]) {
      intents.send(id, "AA");
      intents.refile(id, refiling);
    }
    return id;
  });
  const { failures, gasFloor, billed, state, txHash } = journal.read.intents.get(id) ?? {};
  assert.deepEqual(
    { failures, gasFloor, billed, state, txHash },
    { failures: 2, gasFloor: 900n, billed: { fee: "9uakt", gasUsed: 6n }, state: "filed", txHash: undefined },
  );
  assert.deepEqual(
    journal.read.intents.waiting(10).map((intent) => intent.id),
    [id],
  );
  assert.equal(journal.read.intents.owed(), 1);
});
