/** What becomes of leases while the cluster or the chain cannot be reached, and afterwards. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { type FaultTransport, faultTransport } from "../support/fault-transport.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant, type Tenant } from "../support/lease-tenant.ts";
import { cell } from "../support/samples/lease-sdl.ts";
import { type LeaseStage, machine, onLeaseStage } from "../support/stages/lease-stage.ts";
import { counts, thorough } from "../support/thorough.ts";

/** Long enough for every patience to end; an hour where there is time for it. */
const longMs = counts(5, 10, 60) * 60_000;
const outageMs = counts(5, 10, 30) * 60_000;
const leases = counts(3, 8, 100);

test("an API server is down for long while leases close and open: nothing is wrongly destroyed, all converges", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t), manifestTimeoutMs: 2 * longMs, blockMs: 6_000 }, async (stage) => {
    stage.start();
    const [kept, closed, opened] = [1n, 2n, 3n].map((dseq) => createTenant(stage, dseq));
    assert.ok(kept && closed && opened);
    await Promise.all([kept.deploy(cell()), closed.deploy(cell()), opened.post(cell())]);
    await opened.bidComes();
    await stage.atRest();
    const uidsOf = () =>
      stage.cluster.server.list(kinds.pod, { namespace: kept.namespace }).map(({ metadata }) => metadata.uid);
    const before = uidsOf();

    stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
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

interface Outage {
  readonly what: string;
  begin(stage: LeaseStage, rpc: FaultTransport): void;
}

const apiGone = ({ cluster: { faults } }: LeaseStage) => {
  faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
  faults.cutWatches();
};
const rpcGone = (_: LeaseStage, rpc: FaultTransport) => {
  rpc.hangs = () => true;
};

/** The first two always: of an API server that is away, a test of its own tells more. */
const outages: readonly Outage[] = [
  { what: "no node of the chain can be reached", begin: rpcGone },
  { what: "etcd takes no writes", begin: ({ cluster }) => cluster.faults.readOnly() },
  { what: "the API server is away", begin: apiGone },
  { what: "etcd has no leader", begin: ({ cluster }) => cluster.faults.leaderless() },
  {
    what: "neither chain nor API server can be reached",
    begin(stage, rpc) {
      apiGone(stage);
      rpcGone(stage, rpc);
    },
  },
];

test(`${leases} leases, and for long`, async (t) => {
  await onLeaseStage({ dir: memoryFolder(t), blockMs: 6_000 }, async (stage) => {
    const rpc = faultTransport(stage.node.transport());
    stage.start({ nodes: () => [rpc] });
    const tenants = Array.from({ length: leases }, (_, n) => createTenant(stage, BigInt(100 + n)));
    await Promise.all(tenants.map((tenant) => tenant.deploy(cell())));
    await stage.atRest();
    for (const { what, begin } of outages.slice(0, counts(2, outages.length))) {
      await t.test(
        `${what}: no lease is closed, no workload touched; what closed meanwhile goes within a minute`,
        async () => {
          const closed = tenants.shift();
          assert.ok(closed);
          const [before, sent] = [objectsOf(stage, tenants), stage.sent];
          begin(stage, rpc);
          await closed.close();
          await stage.meanwhile(outageMs);
          assert.deepEqual(objectsOf(stage, tenants), before);
          assert.notDeepEqual(objectsOf(stage, [closed]), [], "nobody could take it away");
          stage.cluster.faults.clear();
          rpc.hangs = () => false;
          const healedMs = stage.clock.now();
          await closed.isGone();
          const tookMs = stage.clock.now() - healedMs;
          assert.ok(tookMs <= 60_000, `${tookMs} ms`);
          await stage.atRest();
          assert.deepEqual(objectsOf(stage, tenants), before, "all is as it was");
          assert.deepEqual(await statesOf(stage, tenants), ["active"]);
          assert.equal(stage.sent, sent, "nothing was sent");
        },
      );
    }
  });
});

test("nodes silent for longer than any lease may be unhealthy, also during an outage of the API server: none is closed, all runs again", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t), blockMs: 6_000 }, async (stage) => {
    stage.start();
    const tenants = Array.from({ length: counts(1, 4, 20) }, (_, n) => createTenant(stage, BigInt(100 + n)));
    await Promise.all(tenants.map((tenant) => tenant.deploy(cell())));
    await stage.atRest();
    const { nodes, faults } = stage.cluster;
    const wanted = () =>
      objectsOf(stage, tenants, ["namespaces", "manifests", "deployments", "services"], "generation");
    const [before, sent] = [wanted(), stage.sent];
    for (const isAway of thorough ? [false, true] : [false]) {
      nodes.lose(machine.name);
      // Long enough for the cluster to give the machine up, and its pods.
      await stage.meanwhile(6 * 60_000);
      if (isAway) apiGone(stage);
      await stage.meanwhile(counts(8, 8, 30) * 60_000);
      assert.deepEqual([await statesOf(stage, tenants), stage.sent, wanted()], [["active"], sent, before]);
      faults.clear();
      nodes.bringBack(machine.name);
      await Promise.all(tenants.map((tenant) => tenant.runs(cell())));
      await stage.atRest();
      assert.deepEqual([await statesOf(stage, tenants), stage.sent, wanted()], [["active"], sent, before]);
    }
  });
});

/** Whatever there is of these leases in the cluster, as every write would change it. */
function objectsOf(
  { cluster }: LeaseStage,
  tenants: readonly Tenant[],
  plurals?: readonly string[],
  mark: "generation" | "resourceVersion" = "resourceVersion",
): string[] {
  const names = new Set(tenants.map(({ namespace }) => namespace));
  const { namespace, manifest, deployment, replicaSet, service, networkPolicy, pod } = kinds;
  return [namespace, manifest, deployment, replicaSet, service, networkPolicy, pod]
    .filter(({ plural }) => !plurals || plurals.includes(plural))
    .flatMap((kind) => cluster.server.list(kind).map((object) => ({ kind, object })))
    .filter(({ object: { metadata } }) => names.has(metadata.namespace ?? "") || names.has(metadata.name))
    .map(({ kind, object: { metadata } }) => `${kind.plural} ${metadata.name} ${metadata.uid} ${metadata[mark]}`);
}

async function statesOf({ queries }: LeaseStage, tenants: readonly Tenant[]): Promise<string[]> {
  const found = await Promise.all(
    tenants.map(async ({ lease }) => (await queries.lease(lease)).value?.state ?? "none"),
  );
  return [...new Set(found)];
}
