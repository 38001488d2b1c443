/** Each rule that the played MetalLB follows, and what the recordings show that the real one gave. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createOwner, type Owner } from "../../../test/support/owner.ts";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { fieldsOf, recordsOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { allocatedAnnotation, assignedAddresses, metalLbNamespace } from "../../kube/objects/metallb.ts";
import { silentLog } from "../../runtime/log.ts";
import { createSimulatedCluster } from "../cluster/simulated-kube.ts";
import { metalLbDefinitions } from "./definitions.ts";
import { createMetalLb } from "./metallb.ts";
import { metalLbRules, type RuleName } from "./rules.ts";

interface ServiceWanted {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly port?: number;
  readonly protocol?: string;
  readonly pin?: string;
  readonly local?: Readonly<Record<string, string>>;
}

const share = (key: string) => ({ "metallb.io/allow-shared-ip": key });

function openStage(owner: Owner) {
  const clock = createVirtualClock();
  const cluster = createSimulatedCluster({}, { clock, random: createSeededRandom(1), log: silentLog });
  const { server } = cluster;
  for (const each of metalLbDefinitions()) server.create(kinds.customResourceDefinition, each, "test");
  for (const name of [metalLbNamespace, "a"]) server.create(kinds.namespace, { metadata: { name } }, "test");
  const begin = () => {
    const kube = cluster.connect("metallb-controller");
    const metalLb = createMetalLb({ kube, clock, random: createSeededRandom(2), log: silentLog });
    const stopping = new AbortController();
    return { metalLb, stopping, running: metalLb.run(stopping.signal) };
  };
  let life = begin();
  const stop = async () => {
    life.stopping.abort();
    await clock.advance(0);
    await life.running;
  };
  owner.after(async () => {
    await stop();
    await cluster.close();
  });
  const at = (name: string) => ({ namespace: "a", name });
  const write = (name: string, { annotations = {}, port = 80, protocol = "TCP", pin, local }: ServiceWanted) => {
    const traffic = local ? { externalTrafficPolicy: "Local", selector: local } : {};
    const spec = { type: "LoadBalancer", ports: [{ port, protocol }], ...traffic, ...(pin && { loadBalancerIP: pin }) };
    return { metadata: { ...at(name), annotations }, spec };
  };
  const has = (name: string): string =>
    assignedAddresses(server.get(kinds.service, at(name)) as KubeObject)[0] ?? "none";
  return {
    metalLb: life.metalLb,
    server,
    stop,
    async start() {
      life = begin();
      await clock.advance(2_000);
    },
    async pool(name: string, addresses: readonly string[], more: object = {}) {
      const metadata = { name, namespace: metalLbNamespace };
      const live = server.get(kinds.ipAddressPool, metadata);
      const spec = { addresses: [...addresses], ...more };
      if (live) server.update(kinds.ipAddressPool, { ...live, spec: { ...fieldsOf(live["spec"]), ...spec } }, "admin");
      else server.create(kinds.ipAddressPool, { metadata, spec }, "admin");
      await clock.advance(2_000);
    },
    /** The address that a Service gets, once it is made so. */
    gets: async (name: string, wanted: ServiceWanted = {}): Promise<string> => {
      const live = server.get(kinds.service, at(name));
      const desired = write(name, wanted);
      if (live) {
        const spec = { ...fieldsOf(live["spec"]), loadBalancerIP: wanted.pin };
        server.update(kinds.service, { ...live, spec }, "test");
      } else server.create(kinds.service, desired, "test");
      await clock.advance(2_000);
      return has(name);
    },
    has,
    annotationOf: (name: string) => server.get(kinds.service, at(name))?.metadata.annotations?.[allocatedAnnotation],
    async goes(name: string) {
      server.delete(kinds.service, at(name));
      await clock.advance(2_000);
    },
    statusOf: (name: string) =>
      server.get(kinds.ipAddressPool, { namespace: metalLbNamespace, name })?.["status"] as object,
    events: (name: string) =>
      server
        .list(kinds.event)
        .filter((each) => fieldsOf(each["regarding"])["name"] === name)
        .map((each) => `${each["type"]} ${each["reason"]}: ${each["note"]}`),
    deletePool: async (name: string) => {
      server.delete(kinds.ipAddressPool, { namespace: metalLbNamespace, name });
      await clock.advance(2_000);
    },
  };
}

type Stage = ReturnType<typeof openStage>;

const cases: Readonly<Record<RuleName, (stage: Stage) => Promise<void>>> = {
  async "only from pools"({ gets, pool, has }) {
    assert.equal(await gets("one"), "none");
    await pool("p", ["10.0.0.1/32"]);
    assert.equal(has("one"), "10.0.0.1");
  },
  async "first admissible"(stage) {
    await stage.pool("p", ["10.0.0.5-10.0.0.6", "10.0.0.1-10.0.0.2"]);
    assert.deepEqual(
      [await stage.gets("one"), await stage.gets("two"), await stage.gets("three")],
      ["10.0.0.5", "10.0.0.6", "10.0.0.1"],
    );
  },
  async kept(stage) {
    await stage.pool("p", ["10.0.0.2/32"]);
    assert.equal(await stage.gets("one"), "10.0.0.2");
    await stage.pool("p", ["10.0.0.1-10.0.0.2"]);
    assert.equal(stage.has("one"), "10.0.0.2");
  },
  async "kept over a restart"(stage) {
    await stage.pool("p", ["10.0.0.1-10.0.0.2"]);
    assert.deepEqual([await stage.gets("y"), await stage.gets("z")], ["10.0.0.1", "10.0.0.2"]);
    await stage.stop();
    assert.equal(await stage.gets("a"), "none");
    const seen = new Set<string>();
    const leave = stage.server.subscribe(() => void seen.add(`${stage.has("y")} ${stage.has("z")} ${stage.has("a")}`));
    await stage.start();
    leave();
    assert.deepEqual([...seen], ["10.0.0.1 10.0.0.2 none"]);
    assert.match(stage.events("a").join(), /AllocationFailed/);
  },
  async "of its family"(stage) {
    await stage.pool("p", ["2001:db8::/126"]);
    assert.equal(await stage.gets("one"), "none");
    assert.equal(await stage.gets("two", { pin: "2001:db8::1" }), "none");
    assert.match(stage.events("two").join(), /\["2001:db8::1"\] does not match the ipFamily of the service/);
    const live = stage.server.get(kinds.service, { namespace: "a", name: "one" }) as KubeObject;
    const status = { loadBalancer: { ingress: [{ ip: "2001:db8::2" }] } };
    stage.server.updateStatus(kinds.service, { ...live, status }, "somebody");
    await stage.pool("p", ["2001:db8::/125"]);
    assert.equal(stage.has("one"), "none");
  },
  async "moved when its pool is gone"(stage) {
    await stage.pool("p", ["10.0.0.2/32"]);
    await stage.gets("one");
    await stage.pool("p", ["10.0.1.1/32"]);
    assert.equal(stage.has("one"), "10.0.1.1");
    await stage.deletePool("p");
    assert.equal(stage.has("one"), "none");
  },
  async "not shared by default"(stage) {
    await stage.pool("p", ["10.0.0.1/32"]);
    assert.deepEqual([await stage.gets("one"), await stage.gets("two", { port: 81 })], ["10.0.0.1", "none"]);
  },
  async "shared by key and different ports"(stage) {
    await stage.pool("p", ["10.0.0.1/32"]);
    const annotations = share("k");
    assert.equal(await stage.gets("tcp", { annotations }), "10.0.0.1");
    assert.equal(await stage.gets("udp", { annotations, protocol: "UDP" }), "10.0.0.1");
    assert.equal(await stage.gets("same", { annotations }), "none");
    assert.equal(await stage.gets("other", { annotations: share("l"), port: 81 }), "none");
  },
  async "shared by traffic policy"(stage) {
    await stage.pool("p", ["10.0.0.1/32"]);
    const annotations = share("k");
    await stage.gets("one", { annotations, local: { app: "a" } });
    assert.equal(await stage.gets("two", { annotations, port: 81, local: { app: "b" } }), "none");
    assert.equal(await stage.gets("three", { annotations, port: 82, local: { app: "a" } }), "10.0.0.1");
  },
  async "shared is not promised"(stage) {
    await stage.pool("p", ["10.0.0.1-10.0.0.2"]);
    await stage.gets("before");
    assert.equal(await stage.gets("one", { annotations: share("k") }), "10.0.0.2");
    await stage.goes("before");
    assert.equal(await stage.gets("two", { annotations: share("k"), port: 81 }), "10.0.0.1");
  },
  async pinned(stage) {
    await stage.pool("p", ["10.0.0.1-10.0.0.9"]);
    assert.equal(await stage.gets("one", { pin: "10.0.0.7" }), "10.0.0.7");
    assert.equal(await stage.gets("two", { annotations: { "metallb.io/loadBalancerIPs": "10.0.0.8" } }), "10.0.0.8");
  },
  async "pinned address is not available"(stage) {
    await stage.pool("p", ["10.0.0.1-10.0.0.9"]);
    await stage.gets("one");
    assert.equal(await stage.gets("two", { pin: "10.0.0.1" }), "none");
    assert.equal(await stage.gets("three", { pin: "10.9.9.9" }), "none");
    assert.match(stage.events("three").join(), /Warning AllocationFailed: .*"10\.9\.9\.9"\] is not allowed in config/);
  },
  async "pinned anew"(stage) {
    await stage.pool("p", ["10.0.0.1-10.0.0.9"]);
    await stage.gets("one");
    await stage.gets("two");
    assert.equal(await stage.gets("one", { pin: "10.0.0.2" }), "none");
    await stage.goes("two");
    assert.equal(stage.has("one"), "10.0.0.2");
  },
  async "pool by name"(stage) {
    await stage.pool("a", ["10.0.0.1/32"]);
    await stage.pool("b", ["10.0.1.1/32"]);
    assert.equal(await stage.gets("one", { annotations: { "metallb.io/address-pool": "b" } }), "10.0.1.1");
    assert.equal(await stage.gets("two", { annotations: { "metallb.io/address-pool": "c" } }), "none");
  },
  async "no automatic assignment"(stage) {
    await stage.pool("p", ["10.0.0.1/32"], { autoAssign: false });
    assert.deepEqual([await stage.gets("one"), await stage.gets("two", { pin: "10.0.0.1" })], ["none", "10.0.0.1"]);
  },
  async "buggy addresses"(stage) {
    await stage.pool("p", ["10.0.0.254-10.0.1.1"], { avoidBuggyIPs: true });
    assert.deepEqual(
      [await stage.gets("one"), await stage.gets("two"), await stage.gets("three")],
      ["10.0.0.254", "10.0.1.1", "none"],
    );
    assert.deepEqual(stage.statusOf("p"), { assignedIPv4: 2, assignedIPv6: 0, availableIPv4: 0, availableIPv6: 0 });
  },
  async "no overlap"(stage) {
    await stage.pool("p", ["10.0.0.1-10.0.0.4"]);
    await stage.pool("q", ["10.0.0.4-10.0.0.9"]);
    assert.match(stage.metalLb.rejectedBecause ?? "", /overlaps/);
    assert.equal(await stage.gets("one", { pin: "10.0.0.9" }), "none");
    assert.equal(await stage.gets("two"), "10.0.0.1");
  },
  async exhausted(stage) {
    await stage.pool("p", ["10.0.0.1/32"]);
    await stage.gets("one");
    await stage.gets("two");
    assert.deepEqual(stage.events("two"), [
      'Warning AllocationFailed: Failed to allocate IP for "a/two": no available IPs',
    ]);
  },
  async freed(stage) {
    await stage.pool("p", ["10.0.0.1/32"]);
    await stage.gets("one");
    await stage.gets("two");
    await stage.goes("one");
    assert.equal(stage.has("two"), "10.0.0.1");
  },
  async annotation(stage) {
    await stage.pool("p", ["10.0.0.1/32"]);
    await stage.gets("one");
    assert.equal(stage.annotationOf("one"), "p");
    await stage.deletePool("p");
    assert.equal(stage.annotationOf("one"), undefined);
  },
  async "old words"(stage) {
    await stage.pool("p", ["10.0.0.1/32"]);
    const annotations = { "metallb.universe.tf/allow-shared-ip": "k" };
    await stage.gets("one", { annotations });
    assert.equal(await stage.gets("two", { annotations, port: 81 }), "10.0.0.1");
    assert.match(stage.events("one").join(), /Warning deprecatedAnnotation: Service uses deprecated annotation/);
  },
  async "pool status"(stage) {
    await stage.pool("p", ["10.0.0.0/30"]);
    await stage.gets("one", { annotations: share("k") });
    await stage.gets("two", { annotations: share("k"), port: 81 });
    await stage.gets("three");
    assert.deepEqual(stage.statusOf("p"), { assignedIPv4: 2, assignedIPv6: 0, availableIPv4: 2, availableIPv6: 0 });
  },
  async metrics(stage) {
    await stage.pool("p", ["10.0.0.0/30"]);
    await stage.gets("one");
    assert.match(stage.metalLb.metrics(), /addresses_in_use_total\{pool="p"\} 1\n.*addresses_total\{pool="p"\} 4\n/);
  },
};

for (const { name, says } of metalLbRules) {
  test(`${name}: ${says}`, async () => {
    await using owner = createOwner();
    const stage = openStage(owner);
    await cases[name](stage);
  });
}

interface RecordedIp {
  readonly loadBalancers: Readonly<
    Record<string, { readonly annotations: Record<string, string>; readonly status: object }>
  >;
  readonly events: readonly (readonly [
    type: string,
    service: string,
    reason: string,
    note: string,
    by: string | null,
  ])[];
  readonly pools: {
    readonly default: { readonly spec: { readonly addresses: readonly string[] }; readonly status: object };
  };
  readonly metrics: readonly string[];
}

/** In the order in which they were made, each when the others had come to rest. */
const recordedSteps = ["ip-one", "ip-same-other-port", "ip-same", "ip-shared", "ip-dns", "ip-two"];

test("it gives what the real one gave, step by step", async () => {
  await using owner = createOwner();
  const stage = openStage(owner);
  const { server } = stage;
  for (const step of recordedSteps) {
    const ip = readJsonRecording<RecordedIp>(`objects/${step}/ip.json`);
    const { items } = readJsonRecording<{ items: KubeObject[] }>(`objects/${step}/objects.json`);
    await stage.pool("default", ip.pools.default.spec.addresses);
    const services = items.filter(({ spec }) => fieldsOf(spec)["type"] === "LoadBalancer");
    for (const { metadata, spec } of services) {
      const { name, namespace = "", labels = {}, annotations = {} } = metadata;
      if (!server.get(kinds.namespace, { name: namespace }))
        server.create(kinds.namespace, { metadata: { name: namespace } }, "test");
      const { [allocatedAnnotation]: _, ...requested } = annotations;
      const ports = recordsOf(fieldsOf(spec)["ports"]).map(({ nodePort: __, ...port }) => port);
      const { selector, type } = fieldsOf(spec);
      server.create(
        kinds.service,
        { metadata: { name, namespace, labels, annotations: requested }, spec: { type, selector, ports } },
        "provider-services",
      );
      await stage.pool("default", ip.pools.default.spec.addresses);
    }
    for (const { metadata } of services) {
      const live = server.get(kinds.service, metadata);
      const recorded = ip.loadBalancers[metadata.name];
      assert.deepEqual(live?.["status"], recorded?.status, `${step} ${metadata.name}`);
      assert.deepEqual(live?.metadata.annotations, recorded?.annotations, `${step} ${metadata.name}`);
      const expectedEvents = ip.events.filter(
        ([, name, , , by]) => name === metadata.name && by === "metallb-controller",
      );
      const ours = server
        .list(kinds.event)
        .filter((each) => fieldsOf(each["regarding"])["uid"] === live?.metadata.uid)
        .map((each) => [each["type"], metadata.name, each["reason"], each["note"], each["reportingController"]]);
      assert.deepEqual(ours.map(String).sort(), expectedEvents.map(String).sort());
    }
    assert.deepEqual(stage.statusOf("default"), ip.pools.default.status, step);
    for (const line of stage.metalLb.metrics().trim().split("\n"))
      assert.ok(ip.metrics.includes(line), `${step}: ${line}`);
  }
});
