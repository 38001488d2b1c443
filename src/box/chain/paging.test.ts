import assert from "node:assert/strict";
import { test } from "node:test";
import { PageRequest } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { paginate } from "./paging.ts";
import { createStore } from "./store.ts";

function tableOf(keys: Iterable<string>) {
  const table = createStore().table<string>("list");
  for (const key of keys) table.set(key, key);
  return table;
}

const letters = (count: number) => Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index));

test("a request without a limit returns a hundred entries and the total", () => {
  const table = tableOf(Array.from({ length: 130 }, (_, index) => `${1000 + index}`));
  const { items, pagination } = paginate(table, undefined);
  assert.equal(items.length, 100);
  assert.equal(pagination.total.toNumber(), 130);
  assert.equal(Buffer.from(pagination.nextKey).toString(), "1100");
});

test("a request with a limit returns the total only if it sets count_total", () => {
  const table = tableOf(letters(5));
  const { pagination } = paginate(table, PageRequest.fromPartial({ limit: 2 }));
  assert.deepEqual([Buffer.from(pagination.nextKey).toString(), pagination.total.toNumber()], ["c", 0]);
  const counted = paginate(table, PageRequest.fromPartial({ limit: 2, countTotal: true }));
  assert.equal(counted.pagination.total.toNumber(), 5);
});

test("the last page has no next key", () => {
  const { items, pagination } = paginate(tableOf(letters(4)), PageRequest.fromPartial({ limit: 2, offset: 2 }));
  assert.deepEqual(items, ["c", "d"]);
  assert.equal(pagination.nextKey.length, 0);
});

test("keys travel without the prefix that they share", () => {
  const table = tableOf(["a/1", "b/1", "b/2", "b/3", "c/1"]);
  const first = paginate(table, PageRequest.fromPartial({ limit: 2 }), { prefix: "b/" });
  assert.deepEqual(first.items, ["b/1", "b/2"]);
  assert.equal(Buffer.from(first.pagination.nextKey).toString(), "3");
  const key = first.pagination.nextKey;
  assert.deepEqual(paginate(table, PageRequest.fromPartial({ key }), { prefix: "b/" }).items, ["b/3"]);
});

test("an offset and a key together are rejected", () => {
  const request = PageRequest.fromPartial({ offset: 1, key: Buffer.from("a") });
  assert.throws(() => paginate(tableOf(letters(3)), request), /either offset or key is expected, got both/);
});

test("page after page gives every item once, in order, forward and backward, with and without a filter", () => {
  const keys = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 40 });
  fc.assert(
    fc.property(keys, fc.integer({ min: 1, max: 7 }), fc.boolean(), fc.boolean(), (keys, limit, reverse, filtered) => {
      const where = (value: string) => !filtered || value.length !== 2;
      const table = tableOf(keys);
      const seen: string[] = [];
      let key: Uint8Array = new Uint8Array();
      do {
        const page = paginate(table, PageRequest.fromPartial({ key, limit, reverse }), { where });
        assert.ok(page.items.length <= limit);
        seen.push(...page.items);
        key = page.pagination.nextKey;
      } while (key.length > 0);
      const expected = keys.filter(where).sort();
      assert.deepEqual(seen, reverse ? expected.reverse() : expected);
    }),
    { numRuns: runs(200, 5_000) },
  );
});
