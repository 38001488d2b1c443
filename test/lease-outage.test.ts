/** What becomes of leases while the cluster or the chain cannot be reached, and afterwards. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../src/kube/kinds.ts";
import { faultTransport } from "./fault-transport.ts";
import { memoryFolder } from "./folder.ts";
import { cell } from "./lease-sdl.ts";
import { onLeaseStage } from "./lease-stage.ts";
import { createTenant } from "./lease-tenant.ts";
import { runs } from "./runs.ts";

/** Long enough for every patience to end; an hour where there is time for it. */
const longMs = runs(5, 60) * 60_000;

test("an API server that is away for long while leases close and open: nothing is wrongly destroyed, all converges", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t), manifestTimeoutMs: 2 * longMs }, async (stage) => {
    stage.start();
    const [kept, closed, opened] = [1n, 2n, 3n].map((dseq) => createTenant(stage, dseq));
    assert.ok(kept && closed && opened);
    await Promise.all([kept.deploy(cell()), closed.deploy(cell()), opened.post(cell())]);
    await opened.bidComes();
    await stage.atRest();
    const uidsOf = () =>
      stage.cluster.server.list(kinds.pod, { namespace: kept.namespace }).map(({ metadata }) => metadata.uid);
    const before = uidsOf();

    stage.cluster.faults.refuse({ status: 503, times: Number.POSITIVE_INFINITY });
    stage.cluster.faults.cutWatches();
    await closed.close();
    await opened.takeBid();
    await stage.meanwhile(longMs);
    assert.deepEqual(uidsOf(), before);
    assert.ok(stage.cluster.server.get(kinds.namespace, { name: closed.namespace }), "nobody could take it away");
    stage.cluster.faults.clear();

    await closed.isGone();
    await opened.sendManifest(cell());
    await opened.runs(cell());
    await stage.atRest();
    assert.deepEqual(uidsOf(), before, "what goes on was never touched");
  });
});

test("a chain that cannot be reached for long: nothing is destroyed, and what closed meanwhile goes afterwards", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t) }, async (stage) => {
    const transport = faultTransport(stage.node.transport());
    stage.start({ nodes: () => [transport] });
    const [kept, closed] = [1n, 2n].map((dseq) => createTenant(stage, dseq));
    assert.ok(kept && closed);
    await Promise.all([kept, closed].map((tenant) => tenant.deploy(cell())));
    await stage.atRest();
    const uidsOf = () => stage.cluster.server.list(kinds.pod).map(({ metadata }) => metadata.uid);
    const before = uidsOf();
    transport.hangs = () => true;
    await closed.close();
    await stage.meanwhile(longMs);
    assert.deepEqual(uidsOf(), before);
    transport.hangs = () => false;
    await closed.isGone();
    await stage.atRest();
    assert.deepEqual((await kept.pods()).length, 1);
  });
});
