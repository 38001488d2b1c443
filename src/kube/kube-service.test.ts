import assert from "node:assert/strict";
import { test } from "node:test";
import { namespace, simulateKube } from "../../test/support/kube/simulated-kube.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { kinds } from "./kinds.ts";
import { measureKube } from "./kube-service.ts";

test("every watch reports how old it is, how much it holds and what went wrong, added up for each resource", async (t) => {
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  const cluster = simulateKube(t);
  const kube = cluster.connect("test");
  t.after(() => kube.close());
  measureKube(metrics, kube);
  for (const name of ["one", "two"])
    cluster.server.create(kinds.secret, { metadata: { namespace, name } }, "other-manager");
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
