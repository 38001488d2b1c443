/** `/status` of a running provider, also while chain and cluster do not answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createProviderStatus } from "../../src/gateway/status/provider-status.ts";
import { createStatusSnapshot } from "../../src/gateway/status/status-document.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { faultTransport } from "../support/fault-transport.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant } from "../support/lease-tenant.ts";
import { cell } from "../support/samples/lease-sdl.ts";
import { onLeaseStage } from "../support/stages/lease-stage.ts";

test("status shows leases, bids and free resources within a second, and their age while chain and cluster do not answer", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t), blockMs: 6_000 }, async (stage) => {
    const rpc = faultTransport(stage.node.transport());
    const { services } = stage.start({ nodes: () => [rpc] });
    const { chain, cluster: service, manifests } = await services;
    const deployments = () => manifests.deployments;
    const snapshot = createStatusSnapshot({
      ...{ provider: stage.provider.address, publicHost: undefined, clock: stage.clock },
      status: createProviderStatus({ chain, cluster: service.view, deployments, reclamationWindowMs: 0 }),
    });
    const shown = () => JSON.parse(Buffer.from(snapshot().body).toString());
    const [first, second] = [1n, 2n].map((dseq) => createTenant(stage, dseq));
    assert.ok(first && second);

    await first.deploy(cell());
    await stage.atRest();
    const { cluster, manifest, stale } = shown();
    assert.deepEqual({ stale, leases: cluster.leases, ...manifest }, { stale: undefined, leases: 1, deployments: 1 });
    assert.equal(cluster.inventory.active.length, 1);
    assert.equal(cluster.inventory.pending, undefined);
    const [node] = cluster.inventory.available.nodes;
    assert.ok(node.available.cpu < node.allocatable.cpu, "what runs is not free");
    assert.deepEqual(Object.keys(cluster.inventory.active[0]).slice(0, 4), [
      "cpu",
      "gpu",
      "memory",
      "storage_ephemeral",
    ]);

    await second.post(cell());
    await second.bidComes();
    await sleep(stage.clock, 1_000);
    assert.equal(shown().cluster.inventory.pending.length, 1, "a bid is a promise");

    stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
    stage.cluster.faults.cutWatches();
    rpc.hangs = () => true;
    await sleep(stage.clock, 300_000);
    const away = shown();
    assert.deepEqual(
      away.stale.map(({ what }: { what: string }) => what).filter((what: string) => what !== "inventory"),
      ["chain", "workloads"],
    );
    for (const { since, why } of away.stale) {
      assert.ok(Date.parse(since) <= stage.clock.now() - 100_000, since);
      assert.notEqual(why, "");
    }
    assert.ok(snapshot().ageS >= 290, `${snapshot().ageS} s`);
    assert.equal(away.cluster.leases, 1);
    assert.equal(away.cluster.inventory.active.length, 1);

    stage.cluster.faults.clear();
    rpc.hangs = () => false;
    await stage.until("everything is fresh again", () => shown().stale === undefined);
    await stage.until("and young", () => snapshot().ageS < 30);

    // One kind alone can be away, while pods are heard of as ever.
    for (const verb of ["list", "watch"] as const) stage.cluster.faults.forbid(verb, kinds.deployment);
    stage.cluster.faults.cutWatches();
    await sleep(stage.clock, 300_000);
    const [workloads] = shown().stale;
    assert.equal(workloads.what, "workloads");
    assert.ok(Date.parse(workloads.since) <= stage.clock.now() - 290_000, workloads.since);
    assert.ok(snapshot().ageS >= 290, `${snapshot().ageS} s`);
  });
});
