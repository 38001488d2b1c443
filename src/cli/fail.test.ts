import assert from "node:assert/strict";
import { test } from "node:test";
import { ProviderError } from "../runtime/errors.ts";
import { describeFailure } from "./fail.ts";

test("a failure says what happened, what to do and its code, and ends with the code's exit code", () => {
  const { text, exitCode } = describeFailure(new ProviderError("AKP_DISK_FULL", { path: "/data" }));
  assert.match(
    text,
    /^akash-provider: the disk that holds \/data is full\n {2}→ Free some room.*\n {2}\(AKP_DISK_FULL/,
  );
  assert.equal(exitCode, 3);
});

test("what nobody foresaw shows its stack, without the secrets that may stand in it", () => {
  const thrown = new Error("cannot reach redis://someone:correct-horse@10.0.0.5:6379");
  const { text, exitCode } = describeFailure(thrown);
  assert.match(text, /AKP_INTERNAL[\s\S]*fail\.test\.ts/);
  assert.doesNotMatch(text, /correct-horse/);
  assert.equal(exitCode, 1);
});
