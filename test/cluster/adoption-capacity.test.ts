/** What is sold of a cluster that the Go provider had: its leases are counted from the first snapshot on, and once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/box/cluster/components/shapes/pod.ts";
import type { Chain } from "../../src/chain/chain.ts";
import { createClusterSide } from "../../src/cluster/cluster-parts.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { createManifestLoop } from "../../src/manifest/manifest-loop.ts";
import { createManifestStates } from "../../src/manifest/manifest-status.ts";
import { formatDeploymentId, formatLeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { adjustable, createLedger, type Wish } from "../support/capacity-ledger.ts";
import { deployAsGoProvider } from "../support/go-provider-objects.ts";
import { gi } from "../support/samples/placement-samples.ts";
import { type CapacityStage, capacityStage } from "../support/stages/capacity-stage.ts";
import { bidOf, chainOf, leaseOf, orderKey } from "../support/stages/reservation-stage.ts";
import { isRunningAndReady } from "../support/stages/simulated-cluster-stage.ts";
import { audited } from "./capacity-history.ts";

const size = { cpuMilli: 4_000n, memoryBytes: 16n * gi, ephemeralBytes: 200n * gi };
/** Several replicas, some of them with a volume; and one lease beside it that is all pages. */
const wishes: readonly Wish[] = [
  { pages: 3, apis: 1, stores: 2, caches: 0 },
  { pages: 2, apis: 0, stores: 0, caches: 0 },
];
const leases = wishes.map((wish, at) => ({ dseq: at + 1, wish, lease: bidOf(orderKey(at + 1)) }));

/** They run, and the chain has them; of ours there is nothing. */
async function theirs({ cluster, world }: Pick<CapacityStage, "cluster" | "world">): Promise<void> {
  const kube = cluster.connect("provider-services");
  for (const { dseq, wish, lease } of leases) {
    const { groups, manifest } = adjustable(wish);
    const [group] = manifest;
    assert.ok(group);
    await deployAsGoProvider(kube, { lease, group, offer: [] });
    world.leases.set(formatLeaseId(lease), leaseOf(orderKey(dseq)));
    const deployment = { groups: groups.map((spec) => ({ id: lease, spec })), hash: new Uint8Array() };
    world.deployments.set(formatDeploymentId(lease), deployment as never);
  }
  await kube.close();
  await world.clock.advance(10_000);
}

test("leases of the Go provider are counted once when we take over, when we start again, and when they change", async (t) => {
  const stage = await capacityStage(t, { machines: ["a", "b"], size, before: theirs });
  const ledger = createLedger(stage.truth);
  for (const { dseq, wish, lease } of leases) {
    ledger.promised(dseq, wish);
    const promised = ledger.bids()[0];
    assert.ok(promised);
    promised.lease = lease;
  }
  const pods = () =>
    leases.flatMap(
      ({ lease }) =>
        stage.cluster.server.list(kinds.pod, { namespace: leaseNamespace(lease) }) as unknown as readonly Pod[],
    );
  const uids = () => pods().map(({ metadata }) => metadata.uid);
  const before = uids();
  assert.equal(before.length, 8);

  await findManifests(stage);
  await audited(stage, ledger);
  assert.ok(pods().every(isRunningAndReady));
  assert.deepEqual(uids(), before, "taken over");
  const rows = stage.life.journal.read.reservations.all();
  assert.deepEqual([...rows].map(({ orderId }) => orderId).sort(), leases.map(({ dseq }) => orderKey(dseq)).sort());
  const left = stage.life.keeper.book.room.nodes.reduce((sum, { free: [cpuMilli = 0n] }) => sum + cpuMilli, 0n);
  assert.equal(left, 2n * size.cpuMilli - 6n * 700n - 2n * 500n);

  await stage.restart();
  await audited(stage, ledger);
  assert.deepEqual(uids(), before, "started again");

  const [first] = ledger.leases();
  assert.ok(first?.lease);
  first.wish = { pages: 2, apis: 2, stores: 1, caches: 1 };
  await stage.send(first.lease, adjustable(first.wish, "web:2").manifest);
  await audited(stage, ledger);
  assert.ok(pods().every(isRunningAndReady));
  assert.equal(
    uids().filter((uid) => before.includes(uid)).length,
    2,
    "only the other lease's pods are those of before",
  );
  await stage.restart();
  await audited(stage, ledger);
});

/** As the manifest service does for each lease after a start. */
async function findManifests({ world, life, clock }: CapacityStage): Promise<void> {
  const chain: Chain = chainOf(world).chain;
  const loop = createManifestLoop({
    ...{ chain, journal: life.journal, cluster: createClusterSide(life.leases), timeoutMs: 0 },
    ...{ states: createManifestStates(() => undefined), clock, log: silentLog },
    missed: { settle: async () => true, away: () => undefined },
    onRestored: (key) => life.leases.wake(key),
  });
  const all = leases.map(({ lease }) => loop.reunite({ id: lease }, formatLeaseId(lease)));
  await Promise.all([...all, clock.settle()]);
}
