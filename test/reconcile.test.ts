/** Chain, cluster and journal compared by a whole provider: what is found, who is woken, what is left alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Report } from "../src/cluster/reconcile/drift.ts";
import { kinds } from "../src/kube/kinds.ts";
import { leaseLabels } from "../src/kube/objects/lease-labels.ts";
import { formatLeaseId } from "../src/market/ids.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { limits } from "../src/runtime/limits.ts";
import { memoryFolder } from "./folder.ts";
import { cell } from "./lease-sdl.ts";
import { type LeaseStage, onLeaseStage } from "./lease-stage.ts";
import { createTenant } from "./lease-tenant.ts";

const oldEnoughMs = limits.reconcileUnderWayMs + 10_000;

async function reconcile(stage: LeaseStage, dryRun = true): Promise<Report> {
  const { cluster } = (await stage.life?.house) ?? assert.fail("no provider runs");
  return cluster.reconcile({ dryRun }, new AbortController().signal);
}

test("where all three agree there is nothing to tell, also while a lease is young and while one goes", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t) }, async (stage) => {
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

test("namespaces that look like ours and belong to no lease that we know are told and left alone", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t) }, async (stage) => {
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
    await stage.meanwhile(2 * limits.reconcileEveryMs);
    const names = stage.cluster.server.list(kinds.namespace).map(({ metadata }) => metadata.name);
    for (const name of [leaseNamespace(unknown), leaseNamespace(foreign), "wrong-name"])
      assert.ok(names.includes(name));
    const types = stage.life?.status().cluster?.conditions.map(({ type }) => type) ?? [];
    assert.equal(types.filter((type) => type === "Drift").length, 3);
    const lines = (await stage.life?.house)?.journal.read.history.about("wrong-name", 9) ?? [];
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
