import assert from "node:assert/strict";
import { test } from "node:test";
import { messageOf, plain, repeated, text, withFewItems } from "./protobuf.ts";

test("a message of very many empty items is given up before they are held", () => {
  const group = messageOf({ services: repeated(2, messageOf({ name: plain(1, text, "") })) });
  const many = Buffer.alloc(2 * 11, Buffer.from([0x12, 0x00]));
  assert.throws(() => withFewItems(group, 10).decode(many), /more items than are read/);
  assert.equal(withFewItems(group, 11).decode(many).services.length, 11);
  assert.equal(group.decode(many).services.length, 11, "and nobody else is bound by it");
});
