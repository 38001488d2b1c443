import assert from "node:assert/strict";
import { test } from "node:test";
import { wantsTrace } from "./trace.ts";

test("a trace is asked for by flag or environment, and the flag wins", () => {
  assert.equal(wantsTrace(["run"], {}), false);
  for (const args of [["--trace"], ["--trace", "--home", "/x"], ["--trace=true"], ["run", "--trace", "1"]]) {
    assert.equal(wantsTrace(args, {}), true, args.join(" "));
  }
  for (const args of [["--trace=false"], ["--trace", "false"], ["--trace", "0"]]) {
    assert.equal(wantsTrace(args, { AP_TRACE: "true" }), false, args.join(" "));
  }
  assert.equal(wantsTrace([], { AP_TRACE: "true" }), true);
  assert.equal(wantsTrace([], { AKASH_TRACE: "1" }), true);
  assert.equal(wantsTrace([], { AP_TRACE: "false", AKASH_TRACE: "1" }), false);
  assert.equal(wantsTrace([], { AP_TRACE: "nonsense" }), false);
});
