import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../runtime/limits.ts";
import type { BusLimits } from "./bus.ts";
import { type Letter, writeLetter } from "./message.ts";
import { createOutgoing } from "./outgoing.ts";
import { createTopicTally } from "./tally.ts";

const nodes = "inventory.nodes";

function open(own: Partial<BusLimits> = {}) {
  const tally = createTopicTally(limits.busTopics);
  return { outgoing: createOutgoing({ ...limits, ...own }, tally), dropped: () => tally.of(nodes).dropped };
}

function letter(n: number, retain = false): Letter {
  return writeLetter(nodes, { n }, retain, limits.busMessageBytes);
}

function numbers(letters: readonly Letter[]): number[] {
  return letters.map(({ text }) => JSON.parse(text).n);
}

test("a batch holds no more messages and bytes than one write should, but at least one message", () => {
  const { outgoing } = open({ busBatchMessages: 3, busBatchBytes: 30 });
  for (let n = 0; n < 4; n += 1) outgoing.push(letter(n));
  outgoing.push(writeLetter(nodes, { n: 4, text: "x".repeat(50) }, false, 1_000));
  outgoing.push(letter(5));
  const batches: number[][] = [];
  for (let batch = outgoing.take(); batch.length > 0; batch = outgoing.take()) {
    batches.push(numbers(batch));
    outgoing.acknowledged(new Map());
  }
  assert.deepEqual(batches, [[0, 1, 2], [3], [4], [5]]);
});

test("what was under way when the connection was lost is written first, in its order", () => {
  const { outgoing } = open({ busBatchMessages: 2 });
  for (let n = 0; n < 3; n += 1) outgoing.push(letter(n));
  outgoing.take();
  outgoing.push(letter(3));
  outgoing.putBack();
  assert.deepEqual(numbers(outgoing.take()), [0, 1]);
});

test("the last retained value that is pushed out goes ahead of the rest; an older one is dropped", () => {
  const { outgoing, dropped } = open({ busOutgoingMessages: 2 });
  for (const n of [0, 1]) outgoing.push(letter(n, true));
  for (const n of [2, 3, 4]) outgoing.push(letter(n));
  assert.equal(dropped(), 2);
  assert.deepEqual(numbers(outgoing.take()), [1, 3, 4]);
});

test("a retained value that waits ahead gives way to a newer one", () => {
  const { outgoing, dropped } = open({ busOutgoingMessages: 1 });
  outgoing.push(letter(0, true));
  outgoing.push(letter(1));
  outgoing.push(letter(2, true));
  assert.equal(dropped(), 2);
  assert.deepEqual(numbers(outgoing.take()), [2]);
});

test("a retained value that Redis has lost is written again, unless a newer one is on its way", () => {
  const { outgoing } = open();
  outgoing.push(letter(0, true));
  outgoing.take();
  outgoing.acknowledged(new Map([[nodes, "5-1"]]));
  assert.deepEqual([...outgoing.written], [[nodes, "5-1"]]);
  outgoing.push(letter(1));
  outgoing.writeAgain(nodes);
  assert.deepEqual(numbers(outgoing.take()), [0, 1]);
  outgoing.push(letter(2, true));
  outgoing.acknowledged(new Map([[nodes, "6-1"]]));
  assert.deepEqual([...outgoing.written], []);
  outgoing.writeAgain(nodes);
  assert.deepEqual(numbers(outgoing.take()), [2]);
});

test("what is given up is counted", () => {
  const { outgoing, dropped } = open({ busOutgoingMessages: 2 });
  for (let n = 0; n < 4; n += 1) outgoing.push(letter(n, n === 0));
  outgoing.giveUp();
  assert.equal(dropped(), 4);
  assert.deepEqual(outgoing.take(), []);
});
