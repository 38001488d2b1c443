import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { silentLog } from "../runtime/log.ts";
import { openJournal } from "./open.ts";

const seen = { spec: { name: "web" }, most: "10uact", createdAt: 7n };

test("an order is remembered with its first end, our bid and what became of that", async (t) => {
  const clock = createVirtualClock();
  const { journal } = await openJournal({ dir: temporaryFolder(t), clock, log: silentLog });
  t.after(() => journal.close());
  const added = await journal.durable("order", ({ orders }) => {
    orders.see({ orderId: "o/1/1/1", ...seen });
    orders.see({ orderId: "o/1/1/1", ...seen, most: "99uact" });
    orders.noteBid("o/1/1/1", "8uact");
    const outcomes = [orders.noteOutcome("o/1/1/1", "lost"), orders.noteOutcome("o/1/1/1", "won")];
    const end = { how: "leased", winner: "w", price: "5uact", height: 9n } as const;
    return [...outcomes, orders.end("o/1/1/1", end), orders.end("o/1/1/1", { how: "closed" })];
  });
  assert.deepEqual(added, [true, false, true, false]);
  assert.deepEqual(journal.read.orders.get("o/1/1/1"), {
    id: 1,
    orderId: "o/1/1/1",
    ...seen,
    seenAtMs: clock.now(),
    ourPrice: "8uact",
    outcome: "lost",
    end: { how: "leased", winner: "w", price: "5uact", height: 9n, atMs: clock.now() },
  });
  assert.deepEqual(journal.read.orders.unfinished(), []);
});

test("the orders of a deployment are those of its number and no other", async (t) => {
  const { journal } = await openJournal({ dir: temporaryFolder(t), clock: createVirtualClock(), log: silentLog });
  t.after(() => journal.close());
  await journal.durable("orders", ({ orders }) => {
    for (const orderId of ["o/1/1/1", "o/1/2/1", "o/10/1/1", "p/1/1/1"]) orders.see({ orderId, ...seen });
  });
  const found = journal.read.orders.ofDeployment("o/1", 10).map(({ orderId }) => orderId);
  assert.deepEqual(found, ["o/1/2/1", "o/1/1/1"]);
  assert.equal(journal.read.orders.unfinished().length, 4);
});

test("a switch is on until it is taken away, and says since when and why", async (t) => {
  const clock = createVirtualClock();
  const { journal } = await openJournal({ dir: temporaryFolder(t), clock, log: silentLog });
  t.after(() => journal.close());
  const pause = { name: "pause", reason: "new disks", fromMs: 5 };
  await journal.durable("pause", ({ switches }) => switches.put(pause));
  assert.deepEqual(journal.read.switches.get("pause"), {
    ...pause,
    sinceMs: clock.now(),
  });
  assert.equal(await journal.durable("resume", ({ switches }) => switches.remove("pause")), true);
  assert.equal(await journal.durable("resume", ({ switches }) => switches.remove("pause")), false);
  assert.equal(journal.read.switches.get("pause"), undefined);
});
