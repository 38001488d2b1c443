/** Leased addresses in the environment of what runs on them, on a simulated cluster with an IP operator that is played. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { leasedAddress } from "../../src/cluster/capacity/addresses/lease-addresses.ts";
import { leaseConditions } from "../../src/cluster/conditions.ts";
import { leaseAddressWaitMs } from "../../src/cluster/leases/deploy.ts";
import { kubeStaleMs } from "../../src/kube/client/list-watch.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { readSdl, type Sdl } from "../../src/market/sdl/sdl.ts";
import { memoryFolder } from "../support/folder.ts";
import { simulateIpOperator } from "../support/simulated-ip-operator.ts";
import { type LeaseStage, leaseStage } from "../support/stages/lease-keeper-stage.ts";

/** Where there are more endpoints, or the same one again, each has a port of its own; outside they begin at one and go up by `step`. */
function site(endpoint: string, port = 7000, more: readonly string[] = [], step = 0): Sdl {
  const resources = { cpu: { units: "100m" }, memory: { size: "64Mi" }, storage: [{ size: "64Mi" }] };
  return readSdl(
    JSON.stringify({
      version: "2.1",
      endpoints: Object.fromEntries([endpoint, ...more].map((each) => [each, { kind: "ip" }])),
      services: {
        page: {
          image: "page:1",
          expose: [endpoint, ...more].map((ip, at) => ({
            ...{ port: port + at, as: port + at * step },
            to: [{ global: true, ip }],
          })),
        },
      },
      profiles: {
        compute: { small: { resources } },
        placement: { box: { pricing: { small: { denom: "uact", amount: 10_000 } } } },
      },
      deployment: { page: { box: { profile: "small", count: 1 } } },
    }),
  );
}

const name = "akash-addresses";

function addressesOf({ cluster }: LeaseStage, lease: LeaseId): unknown {
  return cluster.server.get(kinds.configMap, { namespace: leaseNamespace(lease), name })?.["data"];
}

function templateOf({ cluster }: LeaseStage, lease: LeaseId) {
  const found = cluster.server.get(kinds.deployment, { namespace: leaseNamespace(lease), name: "page" });
  const spec = found?.["spec"] as
    | { template: { spec: { containers: { env: { name: string; valueFrom?: unknown }[] }[] } } }
    | undefined;
  return spec?.template;
}

/** One lease that runs, with the addresses that are given. */
async function deployedStage(t: TestContext, sdl: Sdl, give?: (sharingKey: string) => boolean) {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  simulateIpOperator(t, stage.cluster, give);
  const lease = stage.won(1, sdl);
  const life = await stage.start();
  await life.step(lease);
  await life.send(lease, sdl.manifest);
  await stage.until("deployed", () => life.state(lease) === "deployed", leaseAddressWaitMs / 2);
  return { stage, life, lease };
}

test("a workload is made when its address is there, and refers to it in its environment", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  let hasAddresses = false;
  const giver = simulateIpOperator(t, stage.cluster, () => hasAddresses);
  const lease = stage.won(1, site("my_ip"));
  const life = await stage.start();
  await life.step(lease);
  await life.send(lease, site("my_ip").manifest);
  await stage.clock.advance(leaseAddressWaitMs / 2);
  assert.deepEqual([life.state(lease), templateOf(stage, lease)], ["deploying", undefined]);
  hasAddresses = true;
  giver.putAll();
  await stage.until("deployed", () => life.state(lease) === "deployed", leaseAddressWaitMs / 4);
  const [key = "", address] = Object.entries(addressesOf(stage, lease) as Record<string, string>)[0] ?? [];
  assert.equal(address, "192.0.2.1");
  const services = [...life.keeper.live.services(leaseNamespace(lease))];
  assert.deepEqual(services.flatMap(leasedAddress), ["192.0.2.1"]);
  const env = templateOf(stage, lease)?.spec.containers[0]?.env.find((each) => each.name === "AKASH_IP_MY_IP");
  assert.deepEqual(env?.valueFrom, { configMapKeyRef: { name, key, optional: true } });
});

test("a missing address delays a deploy for a while only, is reported, and reaches what starts later", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  let hasAddresses = false;
  const giver = simulateIpOperator(t, stage.cluster, () => hasAddresses);
  const [lease, other] = [stage.won(1, site("blue")), stage.won(2, site("red"))];
  const life = await stage.start();
  for (const each of [lease, other]) await life.step(each);
  await life.send(lease, site("blue").manifest);
  await stage.until("deployed", () => life.state(lease) === "deployed", leaseAddressWaitMs + 5_000);
  const states = () => life.keeper.states.get(`${lease.owner}/1/1/1/${lease.provider}`);
  assert.deepEqual(states()?.addressless, ["blue"]);
  const template = templateOf(stage, lease);
  const uids = stage.pods(lease).map(({ metadata }) => metadata.uid);

  hasAddresses = true;
  giver.putAll();
  await stage.until("the address is known", () => states()?.addressless === undefined);
  assert.deepEqual(addressesOf(stage, lease), { blue: "192.0.2.1" });
  assert.deepEqual(templateOf(stage, lease), template, "an address leaves the template as it is");
  assert.deepEqual(
    stage.pods(lease).map(({ metadata }) => metadata.uid),
    uids,
  );
  await life.send(other, site("red").manifest);
  await stage.until("the other is deployed", () => life.state(other) === "deployed", 5_000);
});

test("a missing address stays reported while the cluster is unknown", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  simulateIpOperator(t, stage.cluster, () => false);
  const lease = stage.won(1, site("blue"));
  const life = await stage.start();
  await life.step(lease);
  await life.send(lease, site("blue").manifest);
  await stage.until("deployed", () => life.state(lease) === "deployed", leaseAddressWaitMs + 5_000);
  const told = () => leaseConditions(life.keeper).map(({ type }) => type);
  assert.deepEqual(told(), ["AddressPending"]);
  stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
  stage.cluster.faults.cutWatches();
  await stage.until("away", () => life.keeper.error !== undefined, kubeStaleMs + 60_000);
  await life.step(lease);
  await stage.until("looked at", () => life.state(lease) === "unknown");
  assert.deepEqual(told(), ["ClusterUnknown", "AddressPending"]);
  stage.cluster.faults.clear();
  await stage.until("back", () => life.state(lease) === "deployed", 300_000);
  assert.deepEqual(told(), ["AddressPending"]);
});

test("a port without address is reported although another port of its endpoint is withheld", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  simulateIpOperator(t, stage.cluster, () => false);
  const [one, both] = [site("blue"), site("blue", 7000, ["blue"], 1)];
  const [lease, other] = [stage.won(1, one), stage.won(2, both)];
  const life = await stage.start();
  for (const each of [lease, other]) await life.step(each);
  for (const [each, sdl] of [
    [lease, one],
    [other, both],
  ] as const) {
    await life.send(each, sdl.manifest);
    await stage.until("deployed", () => life.state(each) === "deployed", leaseAddressWaitMs + 5_000);
  }
  const { withheld = [], addressless } = life.keeper.states.get(`${other.owner}/2/1/1/${other.provider}`) ?? {};
  assert.match(withheld.join(), /^blue TCP 7000: /);
  assert.deepEqual(addressless, ["blue"]);
});

test("a restart writes nothing, and what an update no longer wants is taken away", async (t) => {
  const { stage, life, lease } = await deployedStage(t, site("blue"));
  await life.stop();
  const next = await stage.start();
  await stage.clock.advance(30_000);
  assert.equal(next.kube.counts.applied, 0);
  await next.withdraw(lease);
  await stage.until("it is gone", () => addressesOf(stage, lease) === undefined);
});

test("an endpoint that is renamed takes the declarations of its own lease along and no other", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  simulateIpOperator(t, stage.cluster);
  const leases = [
    stage.won(1, site("one")),
    stage.won(2, site("two", 7001)),
    stage.won(3, site("three", 7002)),
  ] as const;
  const life = await stage.start();
  for (const [at, lease] of leases.entries()) {
    await life.step(lease);
    await life.send(lease, site(["one", "two", "three"][at] ?? "", 7000 + at).manifest);
    await stage.until("deployed", () => life.state(lease) === "deployed");
  }
  const declared = () =>
    [...stage.cluster.server.list(kinds.providerLeasedIp)].map(({ metadata }) =>
      metadata.name.replace(/^akash1\w+-ip-/, ""),
    );
  assert.deepEqual(declared().sort(), ["one-tcp-7000", "three-tcp-7002", "two-tcp-7001"]);
  await life.send(leases[0], site("renamed").manifest);
  await stage.until("it is renamed", () => declared().includes("renamed-tcp-7000"));
  await stage.until("deployed", () => life.state(leases[0]) === "deployed");
  await stage.clock.advance(30_000);
  assert.deepEqual(declared().sort(), ["renamed-tcp-7000", "three-tcp-7002", "two-tcp-7001"]);
});

test("a changed port of a leased address is followed in the declaration, and the old one is served no longer", async (t) => {
  const { stage, life, lease } = await deployedStage(t, site("blue"));
  await life.send(lease, site("blue", 7005).manifest);
  const ports = () =>
    [...stage.cluster.server.list(kinds.providerLeasedIp)].map((object) => (object["spec"] as { port: number }).port);
  await stage.until("it is followed", () => ports().join() === "7005");
});

test("two endpoints with the same port of a service are each shown with their own address", async (t) => {
  const { stage, lease } = await deployedStage(t, site("blue", 7000, ["red"]));
  const told = addressesOf(stage, lease) as Record<string, string>;
  assert.deepEqual(Object.keys(told).sort(), ["blue", "red"]);
  assert.notEqual(told["blue"], told["red"]);
});

test("a renamed endpoint does not start with the address of the one before it", async (t) => {
  // Nobody takes the old Service away for now.
  const { stage, life, lease } = await deployedStage(t, site("blue"), (key) => key.endsWith("blue"));
  assert.deepEqual(addressesOf(stage, lease), { blue: "192.0.2.1" });
  await life.send(lease, site("red").manifest);
  await stage.until("red is asked for", () =>
    stage.cluster.server.list(kinds.providerLeasedIp).some(({ metadata }) => metadata.name.includes("-ip-red-")),
  );
  await stage.clock.advance(leaseAddressWaitMs / 2);
  assert.deepEqual(addressesOf(stage, lease) ?? {}, {});
});
