/** The cluster service with the real inventory operator in the same process, on a simulated cluster. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { createMemoryBus } from "../../src/bus/memory.ts";
import type { JsonObject } from "../../src/bus/topics.ts";
import { feedOldMs } from "../../src/cluster/capacity/inventory/feed.ts";
import { createMemoryFeed } from "../../src/cluster/capacity/inventory/memory-feed.ts";
import { createClusterService } from "../../src/cluster/cluster-service.ts";
import { clusterStatusLookMs } from "../../src/cluster/cluster-status.ts";
import { leaseDefaults } from "../../src/cluster/leases/lease-options.ts";
import { openJournal } from "../../src/journal/open.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { noOvercommit } from "../../src/market/fit.ts";
import { formatBidId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import type { Inventory } from "../../src/operators/inventory/inventory.ts";
import { createPublisher, type Publisher } from "../../src/operators/inventory/serving/publisher.ts";
import { createLifecycle } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { statusEveryMs } from "../../src/runtime/throttle.ts";
import { memoryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import { gi, sampleUnit } from "../support/samples/placement-samples.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { stage as operatorStage } from "../support/stages/inventory-stage.ts";
import { defineCustomResources } from "../support/stages/lease-keeper-stage.ts";
import {
  bidOf,
  chainOf,
  createWorld,
  groupOf,
  leaseOf,
  openBid,
  orderKey,
} from "../support/stages/reservation-stage.ts";

const order = orderKey(1);
const namespace = leaseNamespace(bidOf(order));

async function start(t: Owner) {
  /** How long the operator is said not to have heard of the cluster. */
  const silent: { ageMs: number | undefined } = { ageMs: undefined };
  let show: (inventory: Inventory) => void = () => undefined;
  const { cluster, clock, operator, until } = await operatorStage(t, { onInventory: (inventory) => show(inventory) });
  const publisher: Publisher = createPublisher({
    clock,
    log: silentLog,
    waitingFor: () => operator.waitingFor,
    ageMs: () => silent.ageMs ?? operator.ageMs,
  });
  show = publisher.show;
  cluster.server.create(kinds.namespace, { metadata: { name: leaseDefaults.manifestNamespace } }, "operator");
  defineCustomResources(cluster);
  const deps = { clock, random: createSeededRandom(1), log: silentLog };
  const world = createWorld(clock);
  const { chain, step } = chainOf(world);
  const { journal } = await openJournal({ dir: memoryFolder(t), clock, log: silentLog });
  const bus = createMemoryBus(deps);
  const kube = cluster.connect("akash-provider");
  const inventory = createMemoryFeed({ source: Promise.resolve(publisher), ...deps });
  const service = createClusterService(
    { overcommit: noOvercommit },
    {
      chain: Promise.resolve(chain),
      kube: Promise.resolve(kube),
      bus: Promise.resolve(bus),
      journal: Promise.resolve(journal),
      inventory,
      ipOperator: undefined,
      ...deps,
    },
  );
  const told: JsonObject[] = [];
  bus.subscribe("akash.provider.inventory.status", ({ data }) => void told.push(data));
  const stopping = new AbortController();
  const running = createLifecycle({ services: [service], clock, log: silentLog }).run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await clock.advance(1_000);
    await running;
    publisher.close();
    await kube.close();
    await bus.close();
    await journal.close();
  });
  const [{ capacity }] = await Promise.all([service.opened, clock.settle()]);
  await until("all hardware", () =>
    service.status?.()?.resources.some(({ resource }) => resource === "gpu nvidia/h200"),
  );
  const freeOf = (resource: string) =>
    service.status?.()?.resources.find((sum) => sum["resource"] === resource)?.["free"];
  return { cluster, clock, world, step, service, capacity, journal, told, freeOf, until, operator: silent };
}

/** As the Go provider would make it: its labels are what tells it apart. */
function deploy(cluster: SimulatedCluster, replicas: number): void {
  const labels = { "akash.network": "true", "akash.network/namespace": namespace, app: "web" };
  const requests = { cpu: "1500m", memory: "1Gi", "ephemeral-storage": "1Gi", "nvidia.com/gpu": "1" };
  const resources = { requests, limits: { ...requests } };
  cluster.server.create(kinds.namespace, { metadata: { name: namespace, labels } }, "test");
  cluster.server.create(
    kinds.deployment,
    {
      metadata: { name: "web", namespace, labels },
      spec: {
        replicas,
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web", resources }] } },
      },
    },
    "test",
  );
}

const unit = sampleUnit({ cpuMilli: 1_500n, count: 3, gpus: 1n, models: ["nvidia/model/*"] });

test("what is free stays the same while the replicas of a lease start, and through their whole life", async (t) => {
  const { cluster, clock, world, step, service, capacity, journal, told, freeOf, until } = await start(t);
  assert.deepEqual([freeOf("cpu"), freeOf("gpu")], ["16", "4"]);
  const group = groupOf(unit);
  const fit = capacity.fit(group);
  assert.ok(fit.fits, JSON.stringify(fit.fits ? "" : fit.reason));
  const request = { orderId: order, group, offer: fit.offer, expiresAtMs: clock.now() + 300_000 };
  const reserved = capacity.reserve(request);
  assert.ok(reserved.fits);
  await journal.durable("bid", reserved.write);
  const key = formatBidId(bidOf(order));
  world.bids.set(key, openBid(order));
  const free = () => [freeOf("cpu"), freeOf("gpu"), freeOf("gpu nvidia/h200")];
  const left = ["11500m", "1", "1"];
  assert.deepEqual(free(), left);

  world.leases.set(key, leaseOf(order));
  await step({ kind: "lease", key });
  told.length = 0;
  deploy(cluster, 3);
  const bound = () => [...cluster.server.list(kinds.pod, { namespace })].length;
  await until("all pods", () => bound() === 3);
  await until("the hand-over", () => service.status?.()?.awaited === 0 && reservedGpus() === "0");
  await clock.advance(60_000);
  assert.deepEqual(free(), left);
  const seen = new Set(told.map((status) => JSON.stringify(freeIn(status, "cpu"))));
  assert.deepEqual([...seen], ['"11500m"'], "at no time was a replica counted twice, or not at all");

  function reservedGpus() {
    return service.status?.()?.resources.find(({ resource }) => resource === "gpu")?.["reserved"];
  }

  world.leases.set(key, leaseOf(order, "closed"));
  await step({ kind: "lease", key });
  const { uid } = cluster.server.get(kinds.namespace, { name: namespace })?.metadata ?? {};
  cluster.server.delete(kinds.namespace, { name: namespace }, { uid: uid ?? "" });
  await until("all of it back", () => freeOf("cpu") === "16" && freeOf("gpu") === "4");
  assert.deepEqual(journal.read.reservations.all(), []);
});

function freeIn(status: JsonObject, resource: string) {
  const sums = status["resources"] as readonly JsonObject[];
  return sums.find((sum) => sum["resource"] === resource)?.["free"];
}

test("an old snapshot is reported, and so is a new one", async (t) => {
  const { clock, told, operator, until } = await start(t);
  await clock.advance(10_000);
  assert.equal(told.at(-1)?.["trouble"], null);
  operator.ageMs = feedOldMs + 1;
  await clock.advance(clusterStatusLookMs + statusEveryMs);
  assert.match(String(told.at(-1)?.["trouble"]), /has not heard of the cluster for 120 s/);
  operator.ageMs = undefined;
  await until("the end of it", () => told.at(-1)?.["trouble"] === null);
});

test("the status is published when it changes, at most once a second, and measured under the network's names", async (t) => {
  const { clock, service, capacity, told } = await start(t);
  await clock.advance(10_000);
  const quiet = told.length;
  await clock.advance(60_000);
  assert.equal(told.length, quiet, "nothing has changed");
  for (let number = 1; number <= 20; number += 1) {
    const group = groupOf(sampleUnit({ cpuMilli: 100n }));
    const fit = capacity.fit(group);
    assert.ok(fit.fits);
    capacity.reserve({ orderId: orderKey(number), group, offer: fit.offer, expiresAtMs: clock.now() + 300_000 });
    await clock.advance(100);
  }
  await clock.advance(1_000);
  assert.ok(told.length <= quiet + 6, `${told.length - quiet} times in three seconds`);
  const last = told.at(-1) ?? {};
  assert.equal(freeIn(last, "cpu"), "14");
  assert.equal(last["trouble"], null);
  assert.equal(service.detail?.(), "2 nodes, 0 leases, 20 reservations");

  const metrics = createMetrics();
  t.after(() => metrics.stop());
  service.measure?.(metrics);
  const text = await metrics.text();
  for (const line of [
    'provider_inventory_requests{action="reserve",result="create"} 20',
    'provider_inventory_reservations_total{classification="none",quantity="quantity"} 20',
    'provider_inventory_reservations_total{classification="pending",quantity="cpu"} 2',
    'provider_inventory_allocatable_total{quantity="nodes"} 2',
    'provider_inventory_allocatable_total{quantity="gpu"} 4',
    'provider_inventory_available_total{quantity="gpu"} 4',
    'provider_inventory_available_total{quantity="cpu"} 14',
    `provider_inventory_allocatable_total{quantity="memory"} ${64n * gi}`,
    'provider_reservation{action="open",result="success"} 20',
    "provider_reservation_duration_count 20",
    "provider_deployment_manager 0",
    'akash_provider_leases{state="deployed"} 0',
    "akash_provider_leases_known 1",
  ])
    assert.ok(text.includes(`${line}\n`), `${line} in ${text}`);
  assert.doesNotMatch(text, /metric_read_failures_total\{/);
});
