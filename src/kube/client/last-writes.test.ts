import assert from "node:assert/strict";
import { test } from "node:test";
import type { OwnedFields } from "../owned-fields.ts";
import { createLastWrites } from "./writes.ts";

const path = "/api/v1/namespaces/lease/configmaps/one";

function sight(resourceVersion: string): OwnedFields {
  return { uid: "u", resourceVersion, deleting: false, fields: { is: "record", fields: {} } };
}

test("a view of an object that we never wrote is current", () => {
  const writes = createLastWrites(10);
  assert.equal(writes.isShownBy(path, sight("1")), true);
  assert.equal(writes.isShownBy(path, null), true);
});

test("only a view at or after our last write is current", () => {
  const writes = createLastWrites(10);
  writes.note(path, { version: "99" });
  assert.deepEqual(
    ["9", "98", "99", "100"].map((version) => writes.isShownBy(path, sight(version))),
    [false, false, true, true],
  );
  assert.equal(writes.isShownBy(path, null), false, "it was there, so the cache has not heard of it or it was deleted");
});

test("no view is current while the outcome of a write is unknown", () => {
  const writes = createLastWrites(10);
  writes.note(path, { version: "99" });
  writes.begin(path);
  assert.equal(writes.isShownBy(path, sight("100")), false);
  assert.equal(writes.isShownBy(path, null), false);
});

test("versions that are no numbers are the same or not", () => {
  const writes = createLastWrites(10);
  writes.note(path, { version: "a" });
  assert.equal(writes.isShownBy(path, sight("a")), true);
  assert.equal(writes.isShownBy(path, sight("b")), false);
});

test("of more objects than the limit the one that was longest left alone is forgotten", () => {
  const writes = createLastWrites(2);
  for (const each of ["a", "b", "a", "c"]) writes.note(each, { version: "9" });
  assert.deepEqual(
    ["a", "b", "c"].map((each) => writes.get(each) !== undefined),
    [true, false, true],
  );
});
