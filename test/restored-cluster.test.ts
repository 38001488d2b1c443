/** A cluster whose etcd was put back to what it was an hour ago, under a provider that runs on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../src/kube/kinds.ts";
import { leaseLabels } from "../src/kube/objects/lease-labels.ts";
import { formatLeaseId } from "../src/market/ids.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { limits } from "../src/runtime/limits.ts";
import { memoryFolder } from "./folder.ts";
import { cell } from "./lease-sdl.ts";
import { type LeaseStage, onLeaseStage } from "./lease-stage.ts";
import { createTenant } from "./lease-tenant.ts";

const hourMs = 3_600_000;

test("etcd restored from an hour ago: drift is told, each lease becomes what it should be, and nothing else is touched", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t) }, async (stage) => {
    stage.start();
    const { server, faults } = stage.cluster;
    const [kept, closed, updated, opened] = [1n, 2n, 3n, 4n].map((dseq) => createTenant(stage, dseq));
    assert.ok(kept && closed && updated && opened);
    await Promise.all([kept, closed, updated].map((tenant) => tenant.deploy(cell())));
    const others = { ...kept.lease, provider: stage.tenant.address };
    const unknown = { ...kept.lease, dseq: 99n };
    for (const lease of [others, unknown]) {
      server.create(
        kinds.namespace,
        { metadata: { name: leaseNamespace(lease), labels: leaseLabels(lease) } },
        "somebody",
      );
    }
    await stage.atRest();
    const asTheyAre = () => ({
      pods: server.list(kinds.pod, { namespace: kept.namespace }).map(({ metadata }) => metadata.uid),
      namespaces: [kept.lease, others, unknown].map((lease) => {
        return server.get(kinds.namespace, { name: leaseNamespace(lease) })?.metadata.resourceVersion;
      }),
    });
    const before = asTheyAre();
    const snapshot = versionNow(stage);
    await closed.close();
    await Promise.all([closed.isGone(), updated.update(newer), opened.deploy(cell())]);
    await stage.meanwhile(hourMs);
    faults.goBack(versionNow(stage) - snapshot);
    assert.ok(server.get(kinds.namespace, { name: closed.namespace }), "what was torn down is back");
    assert.equal(server.get(kinds.namespace, { name: opened.namespace }), undefined);

    await Promise.all([updated.runs(newer), opened.runs(cell()), closed.isGone()]);
    await stage.atRest();
    assert.deepEqual(asTheyAre(), before);
    const { cluster, journal } = (await stage.life?.house) ?? assert.fail("it runs");
    const told = (subject: string) => {
      const lines = journal.read.history.about(subject, 99).filter(({ kind }) => kind === "reconcile");
      return lines.map(({ line }) => line.split(": ").slice(0, 2).join(": ")).reverse();
    };
    assert.deepEqual(told("cluster"), ["drift found: cluster-restored"]);
    assert.deepEqual(told(formatLeaseId(closed.lease)), ["drift found: namespace-left"]);
    assert.deepEqual(told(formatLeaseId(updated.lease)), ["drift found: resource-outdated"]);
    assert.deepEqual(told(formatLeaseId(opened.lease)), ["drift found: namespace-missing"]);
    assert.deepEqual(told(formatLeaseId(kept.lease)), []);
    await stage.meanwhile(limits.reconcileUnderWayMs);
    const { drifts } = await cluster.reconcile({ dryRun: false }, new AbortController().signal);
    assert.deepEqual(drifts.map(({ kind }) => kind).sort(), ["namespace-foreign", "namespace-unknown"]);
    assert.deepEqual(told("cluster"), ["drift found: cluster-restored", "drift is gone: cluster-restored"]);
  });
});

const newer = cell("example.com/cell:2");

/** The version of the last change. */
function versionNow({ cluster: { server } }: LeaseStage): number {
  const at = { name: "version", namespace: "lease" };
  server.delete(kinds.configMap, at);
  return Number(server.create(kinds.configMap, { metadata: at }, "test").metadata.resourceVersion);
}
