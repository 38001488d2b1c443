import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../test/folder.ts";
import { fileBids, startOutbox } from "../../test/outbox-run.ts";
import { namespace, simulateKube } from "../../test/simulated-kube.ts";
import { troubleOf } from "../chain/outbox/outbox.ts";
import { kinds } from "../kube/kinds.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { measureKube, measureOutbox } from "./measures.ts";

test("every watch tells how old it is, how much it holds and what went wrong, added up for each resource", async (t) => {
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  const cluster = simulateKube(t);
  const kube = cluster.connect("test");
  t.after(() => kube.close());
  measureKube(metrics, kube);
  for (const name of ["one", "two"]) cluster.server.create(kinds.secret, { metadata: { namespace, name } }, "somebody");
  const all = kube.watch({ kind: kinds.secret, project: () => undefined });
  const one = kube.watch({ kind: kinds.secret, fieldSelector: "metadata.name=one", project: () => undefined });
  await Promise.all([all.synced(), one.synced()]);

  const line = async (name: string) =>
    (await metrics.text()).split("\n").find((each) => each.startsWith(`akash_provider_kube_watch_${name}{`));
  assert.equal(await line("objects"), 'akash_provider_kube_watch_objects{resource="secrets"} 3');
  assert.match((await line("age_seconds")) ?? "", /^\S+\{resource="secrets"\} [0-9.e-]+$/);
  for (const counter of ["relists", "silences", "errors", "handler_errors"])
    assert.match((await line(`${counter}_total`)) ?? "", / 0$/);
  await Promise.all([all.close(), one.close()]);
  assert.equal(await line("objects"), undefined);
});

test("an outbox that nobody answers is measured, and says why", async (t) => {
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  const run = await startOutbox(t, { dir: temporaryFolder(t) });
  measureOutbox(metrics, run.outbox);
  const silent = async () => /^akash_provider_outbox_silent (\d)$/m.exec(await metrics.text())?.[1];
  assert.equal(await silent(), "0");
  assert.equal(troubleOf(run.outbox.state), undefined);
  run.faults.silent = true;
  await fileBids(run, await run.stage.orders(1));
  await run.settle();
  assert.equal(await silent(), "1");
  assert.match(troubleOf(run.outbox.state) ?? "", /no route to host/);
  run.faults.silent = false;
  await run.block();
  await run.block();
  assert.equal(await silent(), "0");
});
