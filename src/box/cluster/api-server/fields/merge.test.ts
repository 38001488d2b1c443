import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInShape } from "../schema/built-in.ts";
import { merge } from "./merge.ts";

const podSpec = builtInShape("core.v1.PodSpec");

function order(live: string, applied: string): string {
  const named = (names: string) => ({ containers: [...names].map((name) => ({ name })) });
  const { containers } = merge(named(live), named(applied), podSpec) as ReturnType<typeof named>;
  return containers.map(({ name }) => name).join("");
}

test("elements of a list keep their places, and those that are applied come in their own order", () => {
  assert.equal(order("", "ab"), "ab");
  assert.equal(order("ab", ""), "ab");
  assert.equal(order("ab", "abc"), "abc");
  assert.equal(order("ab", "xa"), "xab");
  assert.equal(order("abc", "ca"), "bca");
  assert.equal(order("abcd", "db"), "acdb");
});

test("elements with the same key are merged, others are added", () => {
  const live = { containers: [{ name: "a", image: "old", env: [{ name: "X", value: "1" }] }] };
  const applied = { containers: [{ name: "a", image: "new", env: [{ name: "Y", value: "2" }] }] };
  assert.deepEqual(merge(live, applied, podSpec), {
    containers: [
      {
        name: "a",
        image: "new",
        env: [
          { name: "X", value: "1" },
          { name: "Y", value: "2" },
        ],
      },
    ],
  });
});

test("what belongs together is replaced as a whole", () => {
  const live = { tolerations: [{ key: "a" }], nodeSelector: { a: "1" } };
  const applied = { tolerations: [{ key: "b" }], nodeSelector: { b: "1" } };
  assert.deepEqual(merge(live, applied, podSpec), applied);
});
