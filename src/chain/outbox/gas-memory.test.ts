import assert from "node:assert/strict";
import { test } from "node:test";
import type { Intent } from "../../journal/intents.ts";
import { createGasMemory, outboxLandedBatches, outboxSparedMessages } from "./gas-memory.ts";

const batch: number = outboxSparedMessages;

/** With messages of so many characters, and one that is added lest it be none. */
function bids(length: number, count = batch, more: Partial<Intent> = {}): Intent[] {
  const value = "A".repeat(length - 1);
  return Array.from({ length: count }, (_, id) => ({
    id,
    what: "createBid",
    subject: `${id}`,
    why: "test",
    body: { typeUrl: "/akash.market.v1beta5.MsgCreateBid", value, chainId: "", sender: "" },
    priority: 10,
    state: "filed",
    filedAtMs: 0,
    ...more,
  }));
}

test("a larger message is expected to cost more, a smaller one as much", () => {
  const memory = createGasMemory();
  memory.landed(bids(100), 1_000n * BigInt(batch));
  assert.equal(memory.expected(bids(100)), 1_001n * BigInt(batch));
  assert.equal(memory.expected(bids(300)), 3_003n * BigInt(batch));
  assert.equal(memory.expected(bids(50)), 1_001n * BigInt(batch));
});

test("the dearest of the last batches counts, and is forgotten in time", () => {
  const memory = createGasMemory();
  memory.landed(bids(100), 5_000n * BigInt(batch));
  for (let each = 1; each < outboxLandedBatches; each++) memory.landed(bids(100), 1_000n * BigInt(batch));
  assert.equal(memory.expected(bids(100)), 5_001n * BigInt(batch));
  memory.landed(bids(100), 1_000n * BigInt(batch));
  assert.equal(memory.expected(bids(100)), 1_001n * BigInt(batch));
});

test("nothing is known of few, of what failed, of mixed batches, and of kinds that never landed", () => {
  const memory = createGasMemory();
  memory.landed(bids(100, batch - 1), 1_000n);
  memory.landed([...bids(100), ...bids(100, 1, { what: "closeBid" })], 1_000n);
  assert.equal(memory.expected(bids(100)), undefined);
  memory.landed(bids(100), 1_000n);
  assert.equal(memory.expected(bids(100, batch - 1)), undefined);
  assert.equal(memory.expected(bids(100, batch, { failures: 1 })), undefined);
  assert.equal(memory.expected(bids(100, batch, { billed: { fee: "1uakt", gasUsed: 1n } })), undefined);
  assert.equal(memory.expected(bids(100, batch, { what: "closeBid" })), undefined);
  memory.failed(bids(100, 1));
  assert.equal(memory.expected(bids(100)), undefined);
});
