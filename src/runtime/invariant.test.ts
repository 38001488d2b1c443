import assert from "node:assert/strict";
import { test } from "node:test";
import { InvariantError, invariant } from "./invariant.ts";

test("what holds passes, and the compiler believes it", () => {
  const value: string | undefined = ["text"][0];
  invariant(value !== undefined, "there is a value");
  assert.equal(value.length, 4);
});

test("what does not hold throws with what was seen", () => {
  for (const broken of [false, 0, "", null, undefined, Number.NaN]) {
    assert.throws(
      () => invariant(broken, "allocated is at most allocatable", { allocated: 5n, allocatable: 4n }),
      (error) => {
        assert.ok(error instanceof InvariantError);
        assert.equal(error.name, "InvariantError");
        assert.equal(error.message, "allocated is at most allocatable");
        assert.deepEqual(error.details, { allocated: 5n, allocatable: 4n });
        return true;
      },
    );
  }
  assert.throws(() => invariant(false, "no details"), { details: {} });
});
