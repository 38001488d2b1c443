import assert from "node:assert/strict";
import { test } from "node:test";
import { tenant } from "../../../test/a-decision.ts";
import { createVirtualClock } from "../../../test/virtual-clock.ts";
import { parseAddress } from "../../market/address.ts";
import {
  type ChainPart,
  type ClusterPart,
  gatewayChainOldMs,
  gatewayStatusMs,
  type StatusParts,
} from "./provider-status.ts";
import { createStatusSnapshot } from "./status-document.ts";

const never = new Promise<never>(() => undefined);
const nothingUp: StatusParts = {
  chain: never,
  cluster: never,
  orders: never,
  deployments: never,
  reclamationWindowMs: 86_400_000,
};

function open(parts: Partial<StatusParts> = {}) {
  const clock = createVirtualClock();
  const deps = { provider: parseAddress(tenant), publicHost: "provider.example.com" };
  const snapshot = createStatusSnapshot({ ...deps, parts: { ...nothingUp, ...parts }, clock });
  return { clock, snapshot, shown: () => JSON.parse(Buffer.from(snapshot().body).toString()) };
}

function aChain(change: Partial<ChainPart["status"]> = {}): {
  status: ChainPart["status"];
  mirror: { ready: boolean };
} {
  return { status: { mirrorAgeMs: 6_000, trouble: undefined, ...change }, mirror: { ready: true } };
}

function aCluster(): ClusterPart & { leases: number; inventory: ClusterPart["inventory"] } {
  const amounts = { cpuMilli: -5n, gpus: 1n, memoryBytes: 2n ** 100n, ephemeralBytes: 2n ** 60n };
  return {
    leases: 1,
    reservations: () => [],
    nodes: () => [{ name: "one", allocatable: amounts, free: amounts }],
    inventoryMessage: undefined,
    addresses: { total: 0n, left: 0n },
    storage: () => [],
    inventory: { ageMs: 2_000, trouble: undefined },
    workloads: { ageMs: 1_000, trouble: undefined },
  };
}

test("before anything has come up it answers, says what is missing and is as old as we are", async () => {
  const { clock, snapshot, shown } = open();
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

test("of a provider that sells nothing, only the chain can be old", async () => {
  const { clock, shown } = open({ cluster: undefined, orders: undefined, deployments: undefined });
  await clock.advance(1);
  assert.deepEqual(
    shown().stale.map(({ what }: { what: string }) => what),
    ["chain"],
  );
});

test("while everything is fresh nothing is stale, and the age is that of the oldest part", async () => {
  const { clock, snapshot, shown } = open({
    chain: Promise.resolve(aChain()),
    cluster: Promise.resolve(aCluster()),
    orders: Promise.resolve(() => 4),
    deployments: Promise.resolve(() => 7),
  });
  await clock.advance(1);
  const { stale, bidengine, manifest } = shown();
  assert.deepEqual(
    { stale, bidengine, manifest },
    { stale: undefined, bidengine: { orders: 4 }, manifest: { deployments: 7 } },
  );
  assert.equal(snapshot().ageS, 6);
});

test("what is overbooked has nothing free, and what has no end is the largest number that clients read", async () => {
  const { clock, snapshot } = open({ cluster: Promise.resolve(aCluster()) });
  await clock.advance(1);
  const text = Buffer.from(snapshot().body).toString();
  assert.match(
    text,
    /"available":\{"cpu":0,"gpu":1,"memory":9223372036854775807,"storage_ephemeral":1152921504606846976\}/,
  );
});

test("a part that is in trouble stays shown, with the moment at which it was last known to be so", async () => {
  const cluster = aCluster();
  const { clock, snapshot, shown } = open({ chain: Promise.resolve(aChain()), cluster: Promise.resolve(cluster) });
  await clock.advance(60_000);
  assert.equal(shown().stale, undefined);
  cluster.inventory = { ageMs: 10_000, trouble: "the operator is silent" };
  const since = new Date(clock.now() + gatewayStatusMs - 10_000).toISOString();
  await clock.advance(gatewayStatusMs);
  assert.deepEqual(shown().stale, [{ what: "inventory", since, why: "the inventory is not confirmed" }]);
  assert.equal(shown().cluster.leases, 1);
  assert.equal(snapshot().ageS, 10);
  cluster.inventory = { ageMs: 30_000, trouble: "the operator is silent" };
  await clock.advance(20_000);
  assert.equal(shown().stale[0].since, since);
  assert.equal(snapshot().ageS, 30);
  cluster.inventory = { ageMs: 0, trouble: undefined };
  await clock.advance(gatewayStatusMs);
  assert.equal(shown().stale, undefined);
});

test("a change shows within a second, and any number of questions in between is answered with the same bytes", async () => {
  const cluster = aCluster();
  const { clock, snapshot, shown } = open({ cluster: Promise.resolve(cluster) });
  await clock.advance(1);
  const before = snapshot();
  cluster.leases = 2;
  for (let asked = 0; asked < 1_000; asked += 1) assert.equal(snapshot(), before);
  await clock.advance(1_000);
  assert.equal(shown().cluster.leases, 2);
});

test("a chain that stands still is told of as not fresh, however well its nodes answer", async () => {
  const chain = aChain({ mirrorAgeMs: gatewayChainOldMs });
  const { clock, shown } = open({ chain: Promise.resolve(chain), cluster: undefined });
  await clock.advance(1);
  assert.equal(shown().stale, undefined);
  chain.status = { mirrorAgeMs: gatewayChainOldMs + 1, trouble: undefined };
  await clock.advance(gatewayStatusMs);
  const [{ what, why }] = shown().stale;
  assert.deepEqual([what, why], ["chain", "no new block of the chain can be read"]);
});
