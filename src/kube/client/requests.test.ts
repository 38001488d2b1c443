import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../runtime/log.ts";
import { kubeCauses, kubeReasonChars } from "./api-errors.ts";
import { createWarnings, kubeWarnings, readWarnings } from "./requests.ts";

test("the texts of warnings are read out of the header, and all else in it is left", () => {
  assert.deepEqual(readWarnings('299 - "one"'), ["one"]);
  assert.deepEqual(readWarnings('299 kube "say \\"no\\", or \\\\", 299 - "two"'), ['say "no", or \\', "two"]);
  assert.deepEqual(readWarnings(['299 - "one"', '299 - "two"']), ["one", "two"]);
  assert.deepEqual(readWarnings('110 proxy "Response is Stale", nonsense'), []);
  assert.equal(readWarnings(Array.from({ length: 1_000 }, (_, n) => `299 - "${n}"`)).length, kubeCauses);
  assert.equal(readWarnings(`299 - "${"x".repeat(100_000)}"`)[0]?.length, kubeReasonChars);
});

test("a warning is logged once and counted each time, without what is to be hidden", () => {
  const lines: unknown[] = [];
  const log = { ...silentLog, info: (_: string, fields?: object) => void lines.push(fields) };
  const counts = { requests: 0, retries: 0, applied: 0, unchanged: 0, warnings: 0 };
  const warningsOf = createWarnings(log, counts);
  const peer = {
    server: new URL("https://10.0.0.1"),
    path: "",
    mask: (text: string) => text.replaceAll("token", "***"),
  };
  const hide = (text: string) => text.replaceAll("hunter2", "#");
  const requested = { verb: "list", resource: "ingresses" };
  for (let n = 0; n < 3; n += 1) {
    const headers = { warning: '299 - "old version, token, hunter2"' };
    assert.deepEqual(warningsOf({ headers, peer, hide }, requested), ["old version, ***, #"]);
  }
  assert.deepEqual(warningsOf({ headers: {}, peer, hide }, requested), []);
  assert.deepEqual(lines, [{ ...requested, warning: "old version, ***, #" }]);
  assert.equal(counts.warnings, 3);
  for (let n = 0; n < 2 * kubeWarnings; n += 1) {
    warningsOf({ headers: { warning: `299 - "number ${n}"` }, peer, hide }, requested);
  }
  assert.equal(lines.length, 1 + 2 * kubeWarnings);
});
