import assert from "node:assert/strict";
import { test } from "node:test";
import { fileBids, startOutbox } from "../../test/support/outbox-run.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { measureOutbox } from "./chain-service.ts";
import { outboxReason } from "./outbox/outbox.ts";

test("no node answers the outbox → the metric and the reason say so", async (t) => {
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  const run = await startOutbox(t);
  measureOutbox(metrics, run.outbox);
  const silent = async () => /^akash_provider_outbox_silent (\d)$/m.exec(await metrics.text())?.[1];
  assert.equal(await silent(), "0");
  assert.equal(outboxReason(run.outbox.state), undefined);
  run.faults.silent = true;
  await fileBids(run, await run.stage.orders(1));
  await run.settle();
  assert.equal(await silent(), "1");
  assert.match(outboxReason(run.outbox.state) ?? "", /no route to host/);
  run.faults.silent = false;
  await run.block();
  await run.block();
  assert.equal(await silent(), "0");
});
