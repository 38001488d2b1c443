import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { memoryFolder } from "../../test/support/folder.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { closeBidMessage } from "../chain/closing.ts";
import { intentOf } from "../chain/outbox/intent.ts";
import type { Journal } from "../journal/journal.ts";
import { openJournal } from "../journal/open.ts";
import { formatDeploymentId, formatLeaseId, type LeaseId, parseLeaseId } from "../market/ids.ts";
import { outboxIntents } from "../runtime/limits.ts";
import { silentLog } from "../runtime/log.ts";
import { fileWithdrawals } from "./withdrawals.ts";

const example = parseLeaseId(
  "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/1/1/1/akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6",
);
const lease = (dseq: number): LeaseId => ({ ...example, dseq: BigInt(dseq) });
const outbox = {
  intentOf: (request: Parameters<typeof intentOf>[0]) => intentOf(request, { chainId: "x", sender: "y" }),
};

function closing(dseq: number) {
  const id = lease(dseq);
  return outbox.intentOf({ subject: formatLeaseId(id), why: "", message: closeBidMessage(id), priority: "close" });
}

function decided(dseq: number, kind: "settle" | "withdraw", fellDueMs: number) {
  const id = lease(dseq);
  return {
    key: formatDeploymentId(id),
    escrow: { height: 10n },
    leases: [id],
    verdict: { kind, lease: formatLeaseId(id), why: "it is due", fellDueMs, mostPauseMs: 3_600_000 } as const,
  };
}

async function open(t: TestContext): Promise<Journal> {
  const { journal } = await openJournal({ dir: memoryFolder(t), clock: createVirtualClock(0), log: silentLog });
  t.after(() => journal.close());
  return journal;
}

const file = (journal: Journal, ...all: ReturnType<typeof decided>[]) =>
  journal.durable("file", (tables) => fileWithdrawals(tables, all, outbox, 0).map(({ filing }) => filing.kind));

test("what ends a spent escrow is filed first, then what fell due first", async (t) => {
  const journal = await open(t);
  await file(
    journal,
    decided(1, "withdraw", 5),
    decided(2, "withdraw", 3),
    decided(3, "settle", 9),
    decided(4, "settle", 8),
  );
  const dseqs = [1, 2, 3, 4].map((id) => parseLeaseId(journal.read.intents.get(id)?.subject ?? "").dseq);
  assert.deepEqual(dseqs, [4n, 3n, 2n, 1n]);
});

test("nothing is filed of an escrow with an intent in flight", async (t) => {
  const journal = await open(t);
  assert.deepEqual(await file(journal, decided(1, "withdraw", 1)), ["filed"]);
  assert.deepEqual(await file(journal, decided(1, "settle", 1)), ["busy"]);
  await journal.durable("settle", ({ intents }) => intents.settle(1, "done"));
  assert.deepEqual(await file(journal, decided(1, "settle", 1)), ["filed"]);
  await journal.durable("close", ({ intents }) => intents.file(closing(2)));
  assert.deepEqual(await file(journal, decided(2, "withdraw", 1)), ["busy"], "closing it pays it out");
});

test("nothing is filed by a reading from before the last one landed: there may be nothing left", async (t) => {
  const journal = await open(t);
  await file(journal, decided(1, "withdraw", 1));
  await journal.durable("settle", ({ intents }) => intents.settle(1, "done", { height: "11" }));
  assert.deepEqual(await file(journal, decided(1, "withdraw", 1)), ["busy"]);
  assert.deepEqual(await file(journal, { ...decided(1, "withdraw", 1), escrow: { height: 11n } }), ["filed"]);
});

test("after a failure the next one waits", async (t) => {
  const journal = await open(t);
  await file(journal, decided(1, "withdraw", 1));
  await journal.durable("fail", ({ intents }) => intents.settle(1, "failed"));
  assert.deepEqual(await file(journal, decided(1, "withdraw", 1)), ["paused"]);
});

test("files nothing into a full outbox", async (t) => {
  const journal = await open(t);
  await file(journal, decided(1, "withdraw", 1));
  await journal.durable("fill", ({ intents }) => {
    for (let left = outboxIntents - intents.owed(); left > 0; left -= 1) {
      intents.file({ ...closing(10_000 + left), priority: 10 });
    }
  });
  assert.deepEqual(await file(journal, decided(9_999, "withdraw", 1), decided(9_998, "settle", 1)), ["filed", "full"]);
});
