import assert from "node:assert/strict";
import { test } from "node:test";
import { metalLbDefinitions } from "../../src/box/metallb/definitions.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { Leadership } from "../../src/kube/leadership.ts";
import { leasedIp } from "../../src/kube/objects/leased-ip.ts";
import { condition } from "../../src/runtime/condition.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { declarationOf, leaseOf, manifestNamespace, openIpStage } from "../support/stages/ip-stage.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 3)];

test("a requested port gets a Service, and MetalLB assigns an address", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  await stage.settled();
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 172.30.0.200"]);
  const { total, inUse, free } = stage.operator.usage;
  assert.deepEqual([total, inUse, free], [4n, 1n, 3n]);
  assert.deepEqual(stage.operator.conditions, []);
});

test("all ports of an endpoint are on one address in any order of requests", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ben, { endpoint: "green" });
  await stage.settled();
  stage.declare(ann, { externalPort: 53, protocol: "UDP", service: "dns" });
  stage.declare(ann, { externalPort: 53, protocol: "TCP", service: "dns" });
  stage.declare(ann);
  stage.declare(annToo, { externalPort: 81 });
  await stage.settled();
  stage.withdraw(ben, { endpoint: "green" });
  await stage.settled();
  // MetalLB alone would now give the first address of the pool.
  stage.declare(annToo, { externalPort: 82 });
  await stage.settled();
  assert.deepEqual(stage.shown(), [
    "blue TCP 53 → dns:8080 of 1 at 172.30.0.201",
    "blue TCP 80 → web:8080 of 1 at 172.30.0.201",
    "blue TCP 81 → web:8080 of 2 at 172.30.0.201",
    "blue TCP 82 → web:8080 of 2 at 172.30.0.201",
    "blue UDP 53 → dns:8080 of 1 at 172.30.0.201",
  ]);
  assert.equal(stage.operator.usage.inUse, 1n);
});

test("a changed container port is followed in the same Service, at the same address", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  await stage.settled();
  const [before] = stage.services();
  stage.declare(ann, { port: 9090 });
  await stage.settled();
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:9090 of 1 at 172.30.0.200"]);
  assert.equal(stage.services()[0]?.metadata.uid, before?.metadata.uid);
});

test("a changed external port replaces the old one at the same address", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ben, { endpoint: "first" });
  await stage.settled();
  stage.declare(ann);
  await stage.settled();
  stage.withdraw(ben, { endpoint: "first" });
  stage.declare(ann, { externalPort: 81 });
  stage.withdraw(ann);
  await stage.settled();
  assert.deepEqual(stage.shown(), ["blue TCP 81 → web:8080 of 1 at 172.30.0.201"]);
});

test("a purge removes only the requested ports", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  stage.declare(ann, { endpoint: "old", externalPort: 9100 });
  stage.declare(annToo, { externalPort: 81 });
  stage.declare(ben);
  await stage.settled();
  const uids = new Map(stage.services().map(({ metadata }) => [metadata.uid, metadata.name]));
  // The endpoint is renamed: of the Go provider this takes the addresses of every tenant.
  stage.withdraw(ann, { endpoint: "old", externalPort: 9100 });
  stage.declare(ann, { endpoint: "new", externalPort: 9100 });
  await stage.settled();
  assert.equal(stage.services().filter(({ metadata }) => uids.has(metadata.uid)).length, 3);
  assert.deepEqual(
    stage.shown().map((each) => each.replace(/ at .*/, "")),
    [
      "blue TCP 80 → web:8080 of 1",
      "blue TCP 80 → web:8080 of 3",
      "blue TCP 81 → web:8080 of 2",
      "new TCP 9100 → web:8080 of 1",
    ],
  );
  assert.equal(stage.operator.usage.inUse, 3n);
});

test("a port moves to another lease of its owner with its address while others wait", async (t) => {
  const stage = await openIpStage(t, { pool: "172.30.0.200-172.30.0.201" });
  stage.declare(ann);
  stage.declare(leaseOf(4));
  await stage.settled();
  stage.declare(ben);
  await stage.settled();
  const gaps: string[] = [];
  const had = stage
    .shown()
    .find((each) => each.includes("of 1 "))
    ?.replace(/^.* at /, "");
  stage.cluster.server.subscribe(({ kind }) => {
    if (kind.kind === "Service")
      gaps.push(`${stage.services().filter((each) => JSON.stringify(each).includes(`"ip":"${had}"`)).length}`);
  });
  stage.declare(annToo);
  await stage.settled();
  assert.match(stage.shown().join("\n"), new RegExp(`blue TCP 80 → web:8080 of 2 at ${had}`));
  assert.equal(stage.shown().length, 2);
  // The old one goes, the new one gets its declared address without a gap.
  assert.equal(gaps.filter((count) => count === "0").length <= 1, true, gaps.join());
});

test("a full pool is reported in the network's words, blocks no other key, and recovers", async (t) => {
  const stage = await openIpStage(t, { pool: "172.30.0.200/32" });
  stage.declare(ann);
  await stage.settled();
  stage.declare(ben);
  await stage.settled();
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 172.30.0.200"]);
  assert.equal(stage.operator.usage.free, 0n);
  const condition = stage.operator.conditions.find(({ subject }) => subject.startsWith(ben.owner));
  assert.deepEqual([condition?.type, condition?.message], ["PoolExhausted", "no IP addresses available in pool"]);
  await stage.settled(60_000);
  const [[id, entry] = []] = Object.entries(stage.operator.ignored.view() ?? {});
  assert.match(id ?? "", new RegExp(`^${ben.owner}/3/1/1/`));
  assert.equal((entry as Record<string, unknown>)["last-error"], "no IP addresses available in pool");
  stage.declare(ann, { externalPort: 81 });
  await stage.settled();
  assert.equal(stage.shown().length, 2);
  // The pool grows; only its own watch event reports that.
  stage.setPool("default", ["172.30.0.200/31"]);
  await stage.settled(1_000);
  assert.match(stage.shown().join("\n"), /blue TCP 80 → web:8080 of 3 at 172\.30\.0\.201/);
  await stage.settled();
  assert.deepEqual([stage.operator.ignored.view(), stage.operator.conditions], [undefined, [full]]);
  stage.withdraw(ben);
  await stage.settled();
  assert.deepEqual(stage.operator.conditions, []);
});

const full = condition("PoolExhausted", "no IP addresses available in pool", { subject: "" });

test("a missing MetalLB is waited for", async (t) => {
  const stage = await openIpStage(t, { metalLb: false });
  stage.declare(ann);
  await stage.settled(120_000);
  assert.deepEqual(stage.shown(), []);
  assert.deepEqual(
    stage.operator.conditions.map(({ type, message }) => `${type}: ${message}`),
    Array(2).fill("MetalLbMissing: MetalLB assigns no addresses: the cluster does not know ipaddresspools.metallb.io"),
  );
  assert.equal(stage.operator.waitingFor, undefined);
  stage.bringMetalLb();
  await stage.settled(120_000);
  assert.deepEqual(
    stage.operator.conditions.map(({ type }) => type),
    ["PoolMissing", "PoolMissing"],
  );
  stage.setPool("default", ["172.30.0.200/30"]);
  await stage.settled(5_000);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 172.30.0.200"]);
  assert.deepEqual(stage.operator.conditions, []);
});

test("a MetalLB of another version is reported", async (t) => {
  const stage = await openIpStage(t, { metalLb: false });
  for (const each of metalLbDefinitions("v1beta2"))
    stage.cluster.server.create(kinds.customResourceDefinition, each, "test");
  stage.declare(ann);
  await stage.settled(120_000);
  assert.match(
    stage.operator.conditions[0]?.message ?? "",
    /the cluster serves ipaddresspools of metallb\.io\/v1beta2, and not of v1beta1/,
  );
});

test("a resource with another owner's sharing key, or an invalid port or protocol, is rejected", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  stage.declare(ben, { sharingKey: `${ann.owner}-ip-blue`, externalPort: 81 });
  stage.declare(ben, { externalPort: 70_000 });
  stage.declare(ben, { protocol: "SCTP" as "TCP", externalPort: 82 });
  stage.declare(ben, { service: "", externalPort: 83 });
  await stage.settled();
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 172.30.0.200"]);
  assert.deepEqual(stage.operator.conditions.map(({ type, message }) => `${type}: ${message}`).sort(), [
    "Refused: 70000 is no port",
    "Refused: it names no service",
    `Refused: the sharing key "${ann.owner}-ip-blue" is not its owner's`,
    'Refused: unknown service protocol: "SCTP"',
  ]);
});

test("the seed's resource is read, with its own label and spelling", async (t) => {
  const stage = await openIpStage(t);
  stage.namespaceOf(ann);
  const { owner, dseq, gseq, oseq } = ann;
  const metadata = {
    name: `${owner}-tcp-80`,
    namespace: manifestNamespace,
    labels: { "akash.network/managed": "true", "akash.network/lease.id.owner": owner },
  };
  const leaseID = { owner, dseq: Number(dseq), gseq, oseq };
  const spec = { leaseID, serviceName: "web", port: 80, externalPort: 80, protocol: "TCP", sharingKey: owner };
  stage.cluster.server.create(kinds.providerLeasedIp, { metadata, spec }, "other");
  await stage.settled();
  assert.deepEqual(stage.shown(), [`${owner} TCP 80 → web:80 of 1 at 172.30.0.200`]);
});

test("two endpoints of a lease with the same port and service have a Service each", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  stage.declare(ann, { endpoint: "green" });
  await stage.settled();
  const shown = stage.shown();
  const [ports, addresses] = [0, 1].map((at) => shown.map((line) => line.split(" at ")[at] ?? ""));
  assert.deepEqual(ports, ["blue TCP 80 → web:8080 of 1", "green TCP 80 → web:8080 of 1"]);
  assert.deepEqual(addresses?.sort(), ["172.30.0.200", "172.30.0.201"]);
  stage.withdraw(ann);
  await stage.settled();
  assert.deepEqual(stage.shown(), shown.slice(1));
});

test("failures of one lease stop no other and recover", async (t) => {
  const stage = await openIpStage(t);
  const { object } = leasedIp(declarationOf(ben), { manifestNamespace });
  stage.cluster.server.create(kinds.providerLeasedIp, object, "provider");
  stage.declare(ann);
  await stage.settled(60_000);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 172.30.0.200"]);
  assert.equal(stage.operator.ignored.isFlagged(ben), true);
  assert.equal(stage.operator.conditions[0]?.type, "Failed");
  stage.namespaceOf(ben);
  await stage.settled(180_000);
  assert.equal(stage.shown().length, 2);
  assert.equal(stage.operator.ignored.isFlagged(ben), false);
});

test("a restart with nothing to do writes nothing", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  stage.declare(ann, { externalPort: 53, protocol: "UDP" });
  stage.declare(annToo, { externalPort: 81 });
  await stage.settled();
  const versions = () => stage.services().map(({ metadata }) => metadata.resourceVersion);
  const before = versions();
  await stage.restart();
  await stage.settled();
  assert.equal(stage.life.kube.counts.applied, 0);
  assert.deepEqual(versions(), before);
});

test("leftovers from before a restart are removed by their labels", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  stage.declare(ben);
  await stage.settled();
  await stage.life.stop();
  stage.withdraw(ann);
  const metadata = { name: "own", namespace: stage.namespaceOf(ann) };
  const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
  stage.cluster.server.create(kinds.service, { metadata, spec }, "somebody");
  await stage.restart();
  await stage.settled();
  assert.deepEqual(
    stage
      .services()
      .map((each) => each.metadata.name)
      .sort(),
    ["own", "web-ip-80-tcp"],
  );
  assert.match(stage.shown().join(), /of 3 at/);
});

test("a hanging clean-up is reported after five minutes and blocks no other key", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  await stage.settled();
  const [service] = stage.services();
  const held = { ...service, metadata: { ...service?.metadata, finalizers: ["example.com/held"] } } as KubeObject;
  stage.cluster.server.update(kinds.service, held, "somebody");
  stage.withdraw(ann);
  await stage.settled(280_000);
  assert.equal(
    stage.operator.conditions.some(({ type }) => type === "CleanUpFailed"),
    false,
  );
  await stage.settled(200_000);
  assert.equal(
    stage.operator.conditions.some(({ type }) => type === "CleanUpFailed"),
    true,
  );
  stage.declare(ben);
  await stage.settled();
  assert.equal(stage.shown().length, 2);
  const going = stage.cluster.server.get(kinds.service, held.metadata);
  const { finalizers: _, ...metadata } = (going as KubeObject).metadata;
  stage.cluster.server.update(kinds.service, { ...going, metadata } as KubeObject, "somebody");
  await stage.settled();
  assert.equal(stage.shown().length, 1);
  assert.deepEqual(stage.operator.conditions, []);
});

test("a second copy waits until the first is gone", async (t) => {
  const stage = await openIpStage(t);
  stage.cluster.server.create(kinds.namespace, { metadata: { name: "akash-services" } }, "test");
  await stage.life.stop();
  const copy = (identity: string) =>
    stage.startOperator(
      undefined,
      (kube) =>
        new Leadership(
          { namespace: "akash-services", name: "operator-ip", identity },
          { kube, clock: stage.clock, log: silentLog },
        ),
    );
  const first = copy("one");
  await stage.settled();
  const second = copy("two");
  stage.declare(ann);
  await stage.settled(60_000);
  assert.deepEqual([first.operator.leading, second.operator.leading], [true, false]);
  assert.deepEqual([first.kube.counts.applied > 0, second.kube.counts.applied], [true, 0]);
  // The API still answers.
  assert.equal(second.operator.usage.inUse, 1n);
  await first.stop();
  stage.declare(ben);
  await stage.settled(60_000);
  assert.equal(stage.shown().length, 2);
  await second.stop();
});
