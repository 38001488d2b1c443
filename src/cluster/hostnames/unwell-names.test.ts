import assert from "node:assert/strict";
import { test } from "node:test";
import { leaseOf } from "../../../test/declaration-stage.ts";
import { formatLeaseId, type LeaseId } from "../../market/ids.ts";
import { unwellConditions } from "./unwell-names.ts";

function unwell(host: string, lease: LeaseId) {
  return { host, lease: formatLeaseId(lease), health: "refused", why: "" } as const;
}

test("an owner with many names that are not well hides none of another's, and how many are left is told", () => {
  const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1)];
  const many = [1, 2, 3, 4].map((at) => unwell(`a${at}.example.com`, at % 2 ? ann : annToo));
  const told = [...unwellConditions([...many, unwell("b.example.com", ben)], 3)];
  assert.deepEqual(
    told.map(({ subject = "" }) => subject),
    ["a1.example.com", "b.example.com", "a2.example.com", ""],
  );
  assert.equal(told.at(-1)?.message, "2 more host names are not well");
  assert.match(told[0]?.message ?? "", /^lease .+: a1\.example\.com is refused$/);
  assert.deepEqual([...unwellConditions([], 3)], []);
});
