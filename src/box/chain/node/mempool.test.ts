import assert from "node:assert/strict";
import { test } from "node:test";
import { createFakeApp } from "../../../../test/support/fake-app.ts";
import type { App } from "../abci.ts";
import type { Block } from "./block-store.ts";
import { makeBlock } from "./blocks.ts";
import { createMempool, type Mempool, mempoolBounds } from "./mempool.ts";
import { createValidator } from "./validator.ts";

const tx = (words: string) => Buffer.from(words);
const texts = (txs: Uint8Array[]) => txs.map((each) => Buffer.from(each).toString());

function block(app: App, mempool: Mempool): Block {
  const input = { height: app.height + 1n, timeNs: 1n, txs: mempool.nextBlock() };
  const made = makeBlock(app, createValidator(app.chainId), undefined, input);
  mempool.settle(made);
  return made;
}

test("transactions go into the block in the order they came", () => {
  const mempool = createMempool(createFakeApp());
  for (const words of ["one", "two", "three"]) mempool.take(tx(words));
  assert.deepEqual(texts(mempool.nextBlock()), ["one", "two", "three"]);
  assert.equal(mempool.bytes, "onetwothree".length);
});

test("what the application rejects does not wait, and may be sent again", () => {
  const mempool = createMempool(createFakeApp());
  assert.equal(mempool.take(tx("bad one")).code, 5);
  assert.equal(mempool.take(tx("bad one")).code, 5);
  assert.equal(mempool.size, 0);
});

test("the same bytes are taken once, also after their block", () => {
  const app = createFakeApp();
  const mempool = createMempool(app);
  mempool.take(tx("one"));
  assert.throws(() => mempool.take(tx("one")), /^NodeError: tx already exists in cache$/);
  block(app, mempool);
  assert.equal(mempool.size, 0);
  assert.throws(() => mempool.take(tx("one")), /tx already exists in cache/);
});

test("a transaction that failed in its block may be sent again", () => {
  const app = createFakeApp();
  const mempool = createMempool(app);
  mempool.take(tx("fail one"));
  assert.equal(block(app, mempool).output.txResults[0]?.code, 12);
  assert.equal(mempool.take(tx("fail one")).code, 0);
});

test("the cache forgets what was seen longest ago", () => {
  const app = createFakeApp();
  const mempool = createMempool(app, { ...mempoolBounds, seenTxs: 2 });
  for (const words of ["one", "two"]) mempool.take(tx(words));
  block(app, mempool);
  assert.throws(() => mempool.take(tx("one")), /cache/, "seen again, so it is the youngest now");
  mempool.take(tx("three"));
  assert.equal(mempool.take(tx("two")).code, 0);
  assert.throws(() => mempool.take(tx("three")), /cache/);
});

test("a full pool rejects more, by number and by bytes, and has room again after a block", () => {
  const app = createFakeApp();
  const byNumber = createMempool(app, { ...mempoolBounds, txs: 2 });
  for (const words of ["one", "two"]) byNumber.take(tx(words));
  const full = /mempool is full: number of txs 2 \(max: 2\), total txs bytes 6 \(max: \d+\)/;
  assert.throws(() => byNumber.take(tx("three")), full);
  block(app, byNumber);
  assert.equal(byNumber.take(tx("three")).code, 0);

  const byBytes = createMempool(createFakeApp(), { ...mempoolBounds, bytes: 5 });
  byBytes.take(tx("one"));
  assert.throws(() => byBytes.take(tx("two")), /mempool is full/);
});

test("a transaction beyond the size limit is rejected unseen", () => {
  const app = createFakeApp();
  const mempool = createMempool(app, { ...mempoolBounds, txBytes: 3 });
  assert.throws(() => mempool.take(tx("four")), /^NodeError: Tx too large\. Max size is 3, but got 4$/);
  assert.deepEqual(app.checked, []);
});

test("a block takes what fits, and the rest goes into the next", () => {
  const app = createFakeApp();
  const bounds = { ...mempoolBounds, blockBytes: 100_000 };
  const mempool = createMempool(app, bounds);
  for (let index = 0; index < 12; index++) mempool.take(tx(`${index} ${"x".repeat(10_000)}`));
  const first = block(app, mempool);
  assert.equal(first.txs.length, 9);
  assert.ok(first.sizeBytes <= bounds.blockBytes);
  assert.equal(block(app, mempool).txs.length, 3);
});

test("what a block has made invalid is dropped, and may be sent again", () => {
  const app = createFakeApp();
  const mempool = createMempool(app, { ...mempoolBounds, blockBytes: 2_048 + 10 });
  for (const words of ["one", "until 1 two", "three"]) mempool.take(tx(words));
  block(app, mempool);
  assert.deepEqual(texts(mempool.waiting(10)), ["three"]);
  assert.equal(mempool.take(tx("until 1 two")).code, 42, "checked again, not from the cache");
});

test("a transaction does not keep the buffer alive in which it came", () => {
  const mempool = createMempool(createFakeApp());
  mempool.take(Buffer.alloc(65_536, "one").subarray(0, 3));
  const [kept] = mempool.nextBlock();
  assert.equal(kept?.buffer.byteLength, "one".length);
});
