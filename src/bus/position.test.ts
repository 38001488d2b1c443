import assert from "node:assert/strict";
import { test } from "node:test";
import { createPosition } from "./position.ts";

const most = { ids: 3, topics: 2 };

test("a new position reads after the last entry, or from the beginning of an empty stream", () => {
  assert.equal(createPosition("5-0", new Map(), most).cursor, "5-0");
  assert.equal(createPosition("0-0", new Map(), most).cursor, "0-0");
});

test("the ids read last are remembered, the newest first, and no more than the bound", () => {
  const position = createPosition("1-0", new Map(), most);
  for (let ms = 2; ms <= 9; ms += 1) position.pass(`${ms}-0`);
  assert.deepEqual(position.recentIds, ["9-0", "8-0", "7-0"]);
  position.stepBack("8-0");
  assert.equal(position.cursor, "8-0");
  position.stepBack("0-0");
  assert.equal(position.cursor, "0-0");
});

test("a jump in the numbers of a topic is the count of what went missing", () => {
  const position = createPosition("1-0", new Map([["a", 7]]), most);
  assert.equal(position.count("a", 8), 0);
  assert.equal(position.count("a", 12), 3);
  assert.equal(position.count("b", 1), 0);
  assert.equal(position.count("b", 3), 1);
});

test("numbers that begin again are no loss, and topics beyond the bound are not counted", () => {
  const position = createPosition("1-0", new Map([["a", 7]]), most);
  assert.equal(position.count("a", 1), 0);
  assert.equal(position.count("a", 2), 0);
  assert.equal(position.count("b", 1), 0);
  assert.equal(position.count("c", 9), 0);
});
