import assert from "node:assert/strict";
import { test } from "node:test";
import { tenant } from "../../../test/support/samples/decision-samples.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { parseAddress } from "../../market/address.ts";
import type { ClusterSummary } from "../../market/cluster-summary.ts";
import {
  type ChainPart,
  createProviderStatus,
  gatewayChainOldMs,
  gatewayStatusMs,
  type StatusParts,
} from "./provider-status.ts";
import { createStatusSnapshot } from "./status-document.ts";

function open(parts: Partial<StatusParts> = {}) {
  const clock = createVirtualClock();
  const deps = { provider: parseAddress(tenant), publicHost: "provider.example.com" };
  const notRead = { status: { mirrorAgeMs: undefined, reason: "not read" }, mirror: { ready: false } };
  const status = createProviderStatus({ chain: notRead, reclamationWindowMs: 86_400_000, ...parts });
  const snapshot = createStatusSnapshot({ ...deps, status, clock });
  return { clock, snapshot, shown: () => JSON.parse(Buffer.from(snapshot().body).toString()) };
}

function aChain(change: Partial<ChainPart["status"]> = {}): {
  status: ChainPart["status"];
  mirror: { ready: boolean };
} {
  return { status: { mirrorAgeMs: 6_000, reason: undefined, ...change }, mirror: { ready: true } };
}

function aCluster(): ClusterSummary & { leases: number; inventory: ClusterSummary["inventory"] } {
  const amounts = { cpuMilli: -5n, gpus: 1n, memoryBytes: 2n ** 100n, ephemeralBytes: 2n ** 60n };
  return {
    leases: 1,
    reservations: () => [],
    nodes: () => [{ name: "one", allocatable: amounts, free: amounts }],
    inventoryMessage: undefined,
    addresses: { total: 0n, left: 0n },
    storage: () => [],
    inventory: { ageMs: 2_000, error: undefined },
    workloads: { ageMs: 1_000, error: undefined },
  };
}

test("before anything was read → empty status with all parts stale, as old as the process", async () => {
  const unread = { ageMs: undefined, error: "not read" };
  const cluster = { ...aCluster(), leases: 0, nodes: () => [], inventory: unread, workloads: unread };
  const { clock, snapshot, shown } = open({ cluster });
  await clock.advance(3_400);
  assert.equal(snapshot().ageS, 3);
  const { stale, ...rest } = shown();
  assert.deepEqual(rest, {
    cluster: { leases: 0, inventory: { available: {} } },
    ...{ bidengine: { orders: 0 }, manifest: { deployments: 0 } },
    cluster_public_hostname: "provider.example.com",
    reclamation_window: 86_400_000_000_000,
    address: tenant,
  });
  assert.deepEqual(
    stale.map(({ what, why }: { what: string; why: string }) => `${what}: ${why}`),
    ["chain: not read yet", "inventory: not read yet", "workloads: not read yet"],
  );
});

test("provider that does not bid → only the chain can be stale", async () => {
  const { clock, shown } = open();
  await clock.advance(1);
  assert.deepEqual(
    shown().stale.map(({ what }: { what: string }) => what),
    ["chain"],
  );
});

test("all parts fresh → nothing stale, age of the oldest part", async () => {
  const { clock, snapshot, shown } = open({
    chain: aChain(),
    cluster: aCluster(),
    orders: () => 4,
    deployments: () => 7,
  });
  await clock.advance(1);
  const { stale, bidengine, manifest } = shown();
  assert.deepEqual(
    { stale, bidengine, manifest },
    { stale: undefined, bidengine: { orders: 4 }, manifest: { deployments: 7 } },
  );
  assert.equal(snapshot().ageS, 6);
});

test("overbooked resource → 0, unlimited resource → largest signed 64-bit number", async () => {
  const { clock, snapshot } = open({ cluster: aCluster() });
  await clock.advance(1);
  const text = Buffer.from(snapshot().body).toString();
  assert.match(
    text,
    /"available":\{"cpu":0,"gpu":1,"memory":9223372036854775807,"storage_ephemeral":1152921504606846976\}/,
  );
});

test("failing part → still shown, with the time when it was last read", async () => {
  const cluster = aCluster();
  const { clock, snapshot, shown } = open({ chain: aChain(), cluster: cluster });
  await clock.advance(60_000);
  assert.equal(shown().stale, undefined);
  cluster.inventory = { ageMs: 10_000, error: "the operator is silent" };
  const since = new Date(clock.now() + gatewayStatusMs - 10_000).toISOString();
  await clock.advance(gatewayStatusMs);
  assert.deepEqual(shown().stale, [{ what: "inventory", since, why: "the inventory is not confirmed" }]);
  assert.equal(shown().cluster.leases, 1);
  assert.equal(snapshot().ageS, 10);
  cluster.inventory = { ageMs: 30_000, error: "the operator is silent" };
  await clock.advance(20_000);
  assert.equal(shown().stale[0].since, since);
  assert.equal(snapshot().ageS, 30);
  cluster.inventory = { ageMs: 0, error: undefined };
  await clock.advance(gatewayStatusMs);
  assert.equal(shown().stale, undefined);
});

test("change → shown within a second, requests before that share one body", async () => {
  const cluster = aCluster();
  const { clock, snapshot, shown } = open({ cluster: cluster });
  await clock.advance(1);
  const before = snapshot();
  cluster.leases = 2;
  for (let n = 0; n < 1_000; n += 1) assert.equal(snapshot(), before);
  await clock.advance(1_000);
  assert.equal(shown().cluster.leases, 2);
});

test("chain without new blocks → stale, even if its nodes answer", async () => {
  const chain = aChain({ mirrorAgeMs: gatewayChainOldMs });
  const { clock, shown } = open({ chain: chain, cluster: undefined });
  await clock.advance(1);
  assert.equal(shown().stale, undefined);
  chain.status = { mirrorAgeMs: gatewayChainOldMs + 1, reason: undefined };
  await clock.advance(gatewayStatusMs);
  const [{ what, why }] = shown().stale;
  assert.deepEqual([what, why], ["chain", "no new block of the chain can be read"]);
});
