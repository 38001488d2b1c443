import assert from "node:assert/strict";
import { test } from "node:test";
import { messageOf, optional, plain, repeated, text, withFewItems } from "./protobuf.ts";

test("a message of very many empty items is given up before they are held", () => {
  const group = messageOf({ services: repeated(2, messageOf({ name: plain(1, text, "") })) });
  const many = Buffer.alloc(2 * 11, Buffer.from([0x12, 0x00]));
  assert.throws(() => withFewItems(group, 10).decode(many), /more items than are read/);
  assert.equal(withFewItems(group, 11).decode(many).services.length, 11);
  assert.equal(group.decode(many).services.length, 11, "and nobody else is bound by it");
});

test("a message whose only item is sent again and again is given up before all are read", () => {
  const asked = messageOf({ lease: optional(1, messageOf({ owner: plain(1, text, "") })) });
  const again = Buffer.alloc(2 * 12, Buffer.from([0x0a, 0x00]));
  assert.throws(() => withFewItems(asked, 10).decode(again), /more items than are read/);
  assert.deepEqual(withFewItems(asked, 11).decode(again), { lease: { owner: "" } });
});
