/** Chain, cluster and journal compared by a whole provider: what is found, who is woken, what is left alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { reconcileUnderWayMs } from "../../src/cluster/leases/reconcile/drift.ts";
import type { Report } from "../../src/cluster/leases/reconcile/reconciler.ts";
import { reconcileEveryMs } from "../../src/cluster/leases/reconcile/reconciler.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { leaseLabels } from "../../src/kube/objects/lease-labels.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant } from "../support/lease-tenant.ts";
import { runs } from "../support/runs.ts";
import { cell } from "../support/samples/lease-sdl.ts";
import { type LeaseStage, onLeaseStage } from "../support/stages/lease-stage.ts";

/** How old the backup is: an hour where there is time for it. */
const agoMs = runs(5, 60) * 60_000;
const oldEnoughMs = reconcileUnderWayMs + 10_000;

async function reconcile(stage: LeaseStage, dryRun = true): Promise<Report> {
  const { cluster } = (await stage.life?.services) ?? assert.fail("no provider runs");
  return cluster.reconcile({ dryRun }, new AbortController().signal);
}

test("where all three agree there is nothing to tell, also while a lease is young and while one goes", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t), blockMs: 6_000 }, async (stage) => {
    stage.start();
    const [kept, closed] = [createTenant(stage, 1n), createTenant(stage, 2n)];
    await Promise.all([kept.post(cell()), closed.deploy(cell())]);
    await kept.takeBid();
    assert.deepEqual((await reconcile(stage)).drifts, [], "a lease that waits for its manifest");
    await kept.sendManifest(cell());
    await closed.close();
    assert.deepEqual((await reconcile(stage)).drifts, [], "one that is deployed and one that is torn down");
    await closed.isGone();
    await stage.meanwhile(oldEnoughMs);
    const { drifts, compared, height } = await reconcile(stage);
    assert.deepEqual(drifts, []);
    assert.deepEqual(compared, { leases: 1, namespaces: 1, resources: 1, manifests: 1, reservations: 1 });
    assert.ok(height > 0n);
  });
});

test("namespaces that look like ours and belong to no known lease are reported and left alone", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t), blockMs: 6_000 }, async (stage) => {
    stage.start();
    const tenant = createTenant(stage, 1n);
    await tenant.deploy(cell());
    await stage.meanwhile(oldEnoughMs);
    const unknown = { ...tenant.lease, dseq: 99n };
    const foreign = { ...tenant.lease, dseq: 98n, provider: stage.tenant.address };
    const put = (name: string, labels: object) =>
      stage.cluster.server.create(kinds.namespace, { metadata: { name, labels: { ...labels } } }, "somebody");
    put(leaseNamespace(unknown), leaseLabels(unknown));
    put(leaseNamespace(foreign), leaseLabels(foreign));
    put("wrong-name", leaseLabels(tenant.lease));
    put("operators-own", { "akash.network": "true", "akash.network/name": "operators-own" });
    const { drifts } = await reconcile(stage, false);
    assert.deepEqual(drifts.map(({ kind, subject }) => [kind, subject]).sort(), [
      ["namespace-foreign", leaseNamespace(foreign)],
      ["namespace-mislabelled", "wrong-name"],
      ["namespace-unknown", formatLeaseId(unknown)],
    ]);
    await stage.meanwhile(2 * reconcileEveryMs);
    const names = stage.cluster.server.list(kinds.namespace).map(({ metadata }) => metadata.name);
    for (const name of [leaseNamespace(unknown), leaseNamespace(foreign), "wrong-name"])
      assert.ok(names.includes(name));
    const types = stage.life?.status().cluster?.conditions.map(({ type }) => type) ?? [];
    assert.equal(types.filter((type) => type === "Drift").length, 3);
    const lines = (await stage.life?.services)?.journal.read.history.about("wrong-name", 9) ?? [];
    assert.deepEqual(
      lines.map(({ line }) => line.split(":")[0]),
      ["drift found"],
    );
    stage.cluster.server.delete(kinds.namespace, { name: "wrong-name" });
    await stage.until("it is gone from the reports", () => {
      const about = stage.life?.open?.journal.read.history.about("wrong-name", 9) ?? [];
      return about[0]?.line === "drift is gone: namespace-mislabelled";
    });
  });
});

test("etcd restored from a while ago: drift is reported, each lease is repaired, and nothing else is touched", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t), blockMs: 6_000 }, async (stage) => {
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
    await stage.meanwhile(agoMs);
    faults.goBack(versionNow(stage) - snapshot);
    assert.ok(server.get(kinds.namespace, { name: closed.namespace }), "what was torn down is back");
    assert.equal(server.get(kinds.namespace, { name: opened.namespace }), undefined);

    await Promise.all([updated.runs(newer), opened.runs(cell()), closed.isGone()]);
    await stage.atRest();
    assert.deepEqual(asTheyAre(), before);
    const { cluster, journal } = (await stage.life?.services) ?? assert.fail("it runs");
    const told = (subject: string) => {
      const lines = journal.read.history.about(subject, 99).filter(({ kind }) => kind === "reconcile");
      return lines.map(({ line }) => line.split(": ").slice(0, 2).join(": ")).reverse();
    };
    assert.deepEqual(told("cluster"), ["drift found: cluster-restored"]);
    assert.deepEqual(told(formatLeaseId(closed.lease)), ["drift found: namespace-left"]);
    assert.deepEqual(told(formatLeaseId(updated.lease)), ["drift found: resource-outdated"]);
    assert.deepEqual(told(formatLeaseId(opened.lease)), ["drift found: namespace-missing"]);
    assert.deepEqual(told(formatLeaseId(kept.lease)), []);
    await stage.meanwhile(reconcileUnderWayMs);
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
