import assert from "node:assert/strict";
import { test } from "node:test";
import { box, simulateBox } from "../../../../../test/support/kube/simulated-kube.ts";

test("a command whose signal is aborted before it begins does not begin", async (t) => {
  const kube = (await simulateBox(t)).connect("akash-provider");
  const reason = new Error("the tenant has gone");
  await assert.rejects(kube.exec(box, { command: ["cat"], stdin: true, signal: AbortSignal.abort(reason) }), reason);
  const stop = new AbortController();
  const late = kube.exec(box, { command: ["cat"], stdin: true, signal: stop.signal });
  stop.abort(reason);
  await assert.rejects(late, reason);
});
