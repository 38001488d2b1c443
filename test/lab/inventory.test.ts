/** The inventory operator on a real node: from its manifest, with the permissions that the manifest gives it. */
import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { after, before, describe, it } from "node:test";
import { Cluster } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { createClient } from "redis";
import { shellImage } from "../../lab/images.ts";
import { network, nodeName, places } from "../../lab/places.ts";
import { locateInventory } from "../../src/cluster/capacity/inventory/grpc-feed.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { parseBytes } from "../../src/market/quantity.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { connectGrpc } from "../../src/runtime/grpc/grpc-client.ts";
import { eventually } from "../support/eventually.ts";
import { openGrpcClient } from "../support/grpc-client.ts";
import { ipLinks, lsblk, lscpu, memoryBytesOfFree } from "../support/machine-tools.ts";
import { createOwner } from "../support/owner.ts";
import {
  create,
  createPod,
  execute,
  fakeNodes,
  kubectl,
  labIsMissing,
  podStartsWithinMs,
  read,
  runPod,
  takeNode,
  temporaryNamespace,
} from "./cluster.ts";
import {
  configure,
  type DeployedInventory,
  deployInventory,
  discoveryNamespace,
  discoveryPod,
  namespace as home,
  type InventoryAnswer,
  type NodeAnswer,
  operatorPods,
  streamedUse,
  swapWithinMs,
} from "./deployed-inventory.ts";
import { checkDeployedProvider } from "./deployed-provider.ts";
import { allocatedIn } from "./described-node.ts";
import { container, oddPods, putPod } from "./odd-pods.ts";
import { openKube } from "./open-kube.ts";
import { mayDo } from "./permissions.ts";

/** Databases of one Redis are apart, and other tests use the first. */
const redisUrl = `redis://${network.node}:${network.redisPort}/6`;
const discoveryAt = { namespace: discoveryNamespace, name: discoveryPod };
const classes = ["beta2", "beta3"];
const labels = ["akash.network", ...classes.map((name) => `akash.network/capabilities.storage.class.${name}`)];
const without = (keys: readonly string[]) => keys.map((key) => `${key}-`);

describe("the inventory operator in the lab", { skip: labIsMissing }, () => {
  const owner = createOwner();
  let operator: DeployedInventory;
  /** A machine that is none: nothing answers in its discovery pod, of which there is an Event some time later. */
  let fake = "";
  let endTurn: () => void = () => undefined;

  before(async () => {
    endTurn = await takeNode();
    // Set by the storage administrator; the configuration has it too.
    await kubectl("label", "storageclass", ...classes, "akash.network=true", "--overwrite");
    operator = await deployInventory(owner, { AP_REDIS_URL: redisUrl });
    await eventually("the hardware", async () => (await operator.node())?.hardware_at, podStartsWithinMs);
  });

  after(async () => {
    // First itself, for it would put its labels back.
    await owner[Symbol.asyncDispose]();
    await kubectl("label", "storageclass", ...classes, ...without(["akash.network"]));
    await kubectl("label", "node", nodeName, ...without(labels));
    const client = await createClient({ url: redisUrl }).connect();
    await client.flushDb();
    await client.close();
    endTurn();
  });

  it("knows the hardware of its node as the node's own tools do", async () => {
    const { resources, architecture, disks, interfaces } = (await operator.node()) as NodeAnswer;
    const { vcores, vendor, model } = lscpu();
    const cpus = vcores.map((count) => ({ vendor, model, vcores: count }));
    assert.deepEqual(
      resources.cpu.info?.map(({ vendor, model, vcores }) => ({ vendor, model, vcores })),
      cpus,
    );
    assert.deepEqual(
      resources.memory.info?.map(({ total_size }) => Number(total_size)),
      [memoryBytesOfFree()],
    );
    assert.deepEqual(
      disks?.map(({ name, type, size }) => ({ name, sizeBytes: Number(parseBytes(size)), turns: type === "hdd" })),
      lsblk(),
    );
    assert.deepEqual(
      interfaces?.map(({ name, up }) => ({ name, up })),
      ipLinks(),
    );
    const { status } = await read<{ status: { nodeInfo: { architecture: string } } }>(`/api/v1/nodes/${nodeName}`);
    assert.equal(architecture, status.nodeInfo.architecture);
  });

  it("lets a provider in a pod bid on what its node can take, run what it won, and end it", checkDeployedProvider);

  it("counts pods to the byte as kubectl describe does, and streams each change", async (t) => {
    const namespace = await temporaryNamespace(t);
    await create("/apis/node.k8s.io/v1/runtimeclasses", {
      metadata: { name: namespace },
      handler: "runc",
      overhead: { podFixed: { cpu: "7m", memory: "80Mi" } },
    });
    t.after(async () => void (await kubectl("delete", "runtimeclass", namespace)));
    const { messages } = openGrpcClient(t, operator.grpcUrl).stream("/akash.inventory.v1.ClusterRPC/StreamCluster");
    await eventually("the state as it is", () => messages.length > 0);

    const specs = oddPods(namespace);
    for (const [name, spec] of Object.entries(specs)) await putPod(namespace, name, spec);
    /** Waits until kubectl lists exactly these pods of ours, with the sums of the last streamed message. */
    const agree = (names: readonly string[]) =>
      eventually(
        `kubectl to list ${names.join(", ")} and the stream to agree`,
        async () => {
          const description = await kubectl("describe", "node", nodeName);
          const listed = Object.keys(specs).filter((name) => new RegExp(`${namespace} +${name} `).test(description));
          assert.deepEqual(listed.sort(), [...names].sort());
          const expected = allocatedIn(description);
          assert.deepEqual(streamedUse(messages.at(-1)), expected);
          return expected;
        },
        podStartsWithinMs,
      );
    const all = await agree(["starting", "heavy", "exact"]);
    // So that the two do not agree on nothing: 110 + 37 + 1 thousandths of a cpu.
    assert.ok(all.cpuMilli >= 148n, `${all.cpuMilli}`);
    assert.ok(all.ephemeralBytes >= 7n * 1024n ** 2n, `${all.ephemeralBytes}`);
    await kubectl("delete", "pod", "-n", namespace, "starting");
    await agree(["heavy", "exact"]);
  });

  it("shows less room while there is a claim, by its size, and as much as before when it is gone", async (t) => {
    const namespace = await temporaryNamespace(t);
    const [storageClass = "", size] = [classes[1], 12_345_678n];
    const claims = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
    await create(claims, {
      metadata: { name: "data" },
      spec: {
        storageClassName: storageClass,
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: `${size}` } },
      },
    });
    await createPod(namespace, "user", { image: shellImage, claims: { data: "/data" } });
    const isOurs = ({ spec }: Volume) => spec.claimRef?.namespace === namespace;
    /** Waits until the operator's sums match the volumes. Concurrent tests create and delete volumes, too. */
    const agree = (what: string, holds: (volumes: readonly Volume[]) => boolean) =>
      eventually(
        what,
        async () => {
          const { items } = await read<{ items: Volume[] }>("/api/v1/persistentvolumes");
          if (!holds(items)) return false;
          const { nodes, storage } = await operator.inventory();
          const quantity = storage.find((each) => each.class === storageClass)?.quantity;
          assert.ok(quantity);
          assert.equal(
            parseBytes(quantity.allocated),
            sizeOf(items.filter(({ spec }) => spec.storageClassName === storageClass)),
          );
          // Folders of all classes and what pods ask for lie on the same disk, whose rest is offered in equal parts.
          const [disk] = nodes.map(({ resources }) => resources.ephemeral_storage);
          assert.ok(disk);
          const { status } = await read<{ status: { allocatable: Record<string, string> } }>(
            `/api/v1/nodes/${nodeName}`,
          );
          const whole = parseBytes(status.allocatable["ephemeral-storage"] ?? "");
          const part = (whole - parseBytes(disk.allocated) - sizeOf(items)) / BigInt(1 + classes.length);
          assert.equal(parseBytes(disk.allocatable) - parseBytes(disk.allocated), part);
          assert.equal(parseBytes(quantity.allocatable) - parseBytes(quantity.allocated), part);
          return true;
        },
        podStartsWithinMs,
      );
    await agree("the volume to count", (items) => sizeOf(items.filter(isOurs)) === size);
    await kubectl("delete", "pod", "-n", namespace, "user");
    await kubectl("delete", "pvc", "-n", namespace, "data");
    await agree("the volume to be given back", (items) => !items.some(isOurs));
  });

  it("shows a machine that is new", async () => {
    [fake = ""] = await fakeNodes(owner, 1);
    const isThere = ({ nodes, not_offered }: InventoryAnswer) =>
      [...nodes, ...not_offered].some(({ name }) => name === fake);
    await eventually("the machine", async () => isThere(await operator.inventory()));
  });

  it("keeps the labels of the node true: puts back, corrects and removes its own, and leaves others'", async (t) => {
    const gpuLabel = "akash.network/capabilities.gpu.vendor.nvidia";
    const theirs = "example.com/theirs";
    t.after(async () => void (await kubectl("label", "node", nodeName, ...without([theirs]))));
    const ours = labels.map((key) => [key, "true"]);
    const settle = (what: string) =>
      eventually(what, async () => {
        const seen = Object.entries(await nodeLabels()).filter(([key]) => key.startsWith("akash.network"));
        assert.deepEqual(seen.sort(), ours.toSorted());
        return true;
      });
    await settle("the labels");
    const [node = "", oneClass = ""] = labels;
    const edits = [`${node}-`, `${oneClass}=0`, `${gpuLabel}=true`, `${theirs}=yes`];
    await kubectl("label", "node", nodeName, "--overwrite", ...edits);
    await settle("the labels to be as they were");
    assert.equal((await nodeLabels())[theirs], "yes");
  });

  it("lets a workload of the Go provider find its node, though it selects a class as a number", async (t) => {
    const namespace = await temporaryNamespace(t);
    const key = labels[1];
    const needs = { matchExpressions: [{ key, operator: "Gt", values: ["0"] }] };
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [needs] } };
    await putPod(namespace, "picky", { containers: [container({})], affinity: { nodeAffinity: required } });
    const pod = `/api/v1/namespaces/${namespace}/pods/picky`;
    const place = async () => (await read<{ spec: { nodeName?: string } }>(pod)).spec.nodeName;
    assert.equal(await eventually("the pod to have a node", place, podStartsWithinMs), nodeName);
  });

  it("replaces a discovery pod that is killed, and loses nothing of the hardware meanwhile", async (t) => {
    const kube = openKube(t, places.kubeconfig);
    const uidNow = async () => (await kube.get(kinds.pod, discoveryAt))?.metadata.uid;
    const before = (await operator.node()) as NodeAnswer;
    const killed = await uidNow();
    assert.ok(killed);
    await kube.delete(kinds.pod, discoveryAt, { graceSeconds: 0 });
    const seenNodes: (NodeAnswer | undefined)[] = [];
    await eventually(
      "another one to answer",
      async () => {
        seenNodes.push(await operator.node());
        const uid = await uidNow();
        return uid !== undefined && uid !== killed && seenNodes.at(-1)?.hardware_at !== before.hardware_at;
      },
      podStartsWithinMs,
    );
    for (const node of seenNodes) assert.deepEqual(hardwareOf(node), hardwareOf(before));
  });

  it("is reached from outside the cluster through the API server", async (t) => {
    const kube = Promise.resolve(openKube(t, places.kubeconfig));
    const stop = new AbortController();
    t.after(() => stop.abort());
    const { signal } = stop;
    const target = await locateInventory({ endpoint: undefined, inCluster: false, kube }, signal);
    assert.ok(target instanceof Duplex);
    const client = await connectGrpc(target, { clock: realClock, mostBytes: 2 ** 22, signal });
    const answer = await client.call("/akash.inventory.v1.ClusterRPC/QueryCluster", new Uint8Array(), 10_000);
    assert.ok(Cluster.decode(answer).nodes.some(({ name }) => name === nodeName));
  });

  it("publishes its inventory on Redis", async (t) => {
    const client = await createClient({ url: redisUrl }).connect();
    t.after(() => client.close());
    const retained = async <T>(topic: string): Promise<T> =>
      JSON.parse((await client.get(`akash-provider:${topic}`)) ?? "").data;
    await eventually("the node and the classes", async () => {
      const { nodes } = await retained<{ nodes: { name: string }[] }>("inventory.cluster");
      assert.ok(nodes.some(({ name }) => name === nodeName));
      const machines = await retained<{ nodes: { name: string; cpu: { info: { model: string }[] } }[] }>(
        "inventory.nodes",
      );
      const machine = machines.nodes.find(({ name }) => name === nodeName);
      assert.equal(machine?.cpu.info[0]?.model, lscpu().model);
      const { storage } = await retained<{ storage: { class: string }[] }>("inventory.storage");
      assert.deepEqual(
        storage.map((each) => each.class),
        classes,
      );
      return true;
    });
  });

  it("offers its node no longer when the configuration excludes it, and again when that is taken back", async (t) => {
    const { call } = openGrpcClient(t, operator.grpcUrl);
    const offered = async () =>
      Cluster.decode((await call("/akash.inventory.v1.ClusterRPC/QueryCluster")).message).nodes.map(({ name }) => name);
    const pattern = `^${nodeName}$`;
    await configure({ version: "v1", cluster_storage: classes, exclude: { nodes: [pattern] } });
    const out = await eventually(
      "the node to be out",
      async () => (await operator.inventory()).not_offered.find(({ name }) => name === nodeName),
      swapWithinMs,
    );
    assert.deepEqual(out.reasons, [`excluded by the configuration (${pattern})`]);
    assert.ok(!(await offered()).includes(nodeName));
    await eventually("its labels to go", () => hasLabels(false));
    await configure({ version: "v1", cluster_storage: "all of them" });
    await eventually(
      "the fault to be reported",
      async () => (await operator.inventory()).conditions.some(({ type }) => type === "ConfigurationUnusable"),
      swapWithinMs,
    );
    assert.ok(!(await offered()).includes(nodeName));
    await configure({ version: "v1", cluster_storage: classes });
    await eventually("the node to be back", async () => (await offered()).includes(nodeName), swapWithinMs);
    await eventually("its labels to be back", () => hasLabels(true));
  });

  it("has discovery pods that take at most 60 MB", async () => {
    const status = () => execute(discoveryNamespace, discoveryPod, "cat", "/proc/1/status");
    const kilobytes = await eventually(
      "its process",
      async () => Number(/VmRSS:\s+(\d+) kB/.exec(await status())?.[1]) || undefined,
      podStartsWithinMs,
    );
    assert.ok(kilobytes / 1_024 <= 60, `${kilobytes} kB`);
  });

  it("answers pods of its own namespace only, and its discovery pods have no egress", async (t) => {
    const namespace = await temporaryNamespace(t);
    const caller = { image: shellImage };
    await Promise.all([runPod(namespace, "outsider", caller), runPod(home, "neighbour", caller)]);
    t.after(async () => void (await kubectl("delete", "pod", "-n", home, "neighbour")));
    const call = (from: string, pod: string) =>
      execute(from, pod, "sh", "-c", `timeout 3 wget -O - ${operator.restUrl}/health 2>&1 || echo "ended with $?"`);
    await eventually("a neighbour's answer", async () => /"status": "ok"/.test(await call(home, "neighbour")));
    assert.match(await call(namespace, "outsider"), /ended with/);
    assert.match(await call(discoveryNamespace, discoveryPod), /ended with/);
  });

  it("writes its conditions as Events, shown by kubectl describe node and kubectl get events", async () => {
    const ofFake = `involvedObject.name=${fake},reason=DiscoveryMissing`;
    const path = `/api/v1/namespaces/default/events?fieldSelector=${encodeURIComponent(ofFake)}`;
    const isReported = async () => (await read<{ items: unknown[] }>(path)).items.length > 0;
    await eventually("an Event of the node", isReported, 2 * podStartsWithinMs);
    assert.match(
      await kubectl("describe", "node", fake),
      /Warning +DiscoveryMissing .* akash\.network\/operator-inventory +its/,
    );
    const events = await kubectl("get", "events", "-n", "default", "--field-selector", `involvedObject.name=${fake}`);
    assert.match(events, /Warning +DiscoveryMissing +node\//i);
  });

  it("was forbidden nothing, says nothing of what is not installed, and is measured", async () => {
    const log = await kubectl("logs", "-n", home, "-l", operatorPods, "--tail=-1");
    assert.match(log, /inventory API listening/);
    assert.doesNotMatch(log, /forbid/i);
    assert.doesNotMatch(log, /ceph|longhorn/i);
    const metrics = await (await fetch(`${operator.restUrl}/metrics`)).text();
    assert.match(metrics, /^akash_provider_inventory_ready 1$/m);
    assert.match(metrics, /^akash_provider_kube_watch_age_seconds\{resource="pods"\} [0-9.]+$/m);
    assert.match(metrics, /^akash_provider_inventory_nodes\{offered="true"\} [1-9]/m);
  });

  it("may do nothing beyond its work", async () => {
    const user = `system:serviceaccount:${home}:operator-inventory`;
    for (const [verb, resource, namespace] of beyondItsWork) {
      const what = `${verb} ${resource} ${namespace ?? "everywhere"}`;
      assert.equal(await mayDo(user, { verb, resource, namespace }), false, what);
    }
  });

  it("an upgrade to unprivileged discovery pods keeps reporting the same hardware", async (t) => {
    const kube = openKube(t, places.kubeconfig);
    const before = (await operator.node()) as NodeAnswer;
    await kubectl("set", "env", "-n", home, "deployment/operator-inventory", "AP_DISCOVERY_PRIVILEGED=false");
    const seenNodes: (NodeAnswer | undefined)[] = [];
    await eventually(
      "an answer of a pod without privilege",
      async () => {
        const node = await operator.node();
        seenNodes.push(node);
        const { spec, status } = (await kube.get(kinds.pod, discoveryAt)) as unknown as RunningPod;
        const ready = status.conditions?.find(({ type, status }) => type === "Ready" && status === "True");
        const isUnprivileged = spec.containers[0]?.securityContext.runAsUser === 65_534;
        return isUnprivileged && ready && Date.parse(node?.hardware_at ?? "") >= Date.parse(ready.lastTransitionTime);
      },
      podStartsWithinMs,
    );
    for (const node of seenNodes) assert.deepEqual(hardwareOf(node), hardwareOf(before));
  });
});

const beyondItsWork: readonly (readonly [verb: string, resource: string, namespace?: string])[] = [
  ["list", "secrets"],
  ["get", "secrets", home],
  ["create", "pods", home],
  ["delete", "pods", home],
  ["get", "pods/proxy", home],
  ["get", "pods/exec", discoveryNamespace],
  ["create", "pods", "default"],
  ["delete", "pods", "default"],
  ["create", "pods/exec", "default"],
  ["get", "pods/exec", home],
  ["get", "pods/proxy", "default"],
  ["patch", "pods", home],
  ["update", "nodes"],
  ["delete", "nodes"],
  ["patch", "nodes/status"],
  ["delete", "persistentvolumes"],
];

interface RunningPod {
  readonly spec: { readonly containers: readonly { readonly securityContext: { readonly runAsUser?: number } }[] };
  readonly status: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastTransitionTime: string;
    }[];
  };
}

interface Volume {
  readonly spec: {
    readonly storageClassName: string;
    readonly capacity: { readonly storage: string };
    readonly claimRef?: { readonly namespace: string };
  };
}

function sizeOf(volumes: readonly Volume[]): bigint {
  return volumes.reduce((sum, { spec }) => sum + parseBytes(spec.capacity.storage), 0n);
}

async function nodeLabels(): Promise<Readonly<Record<string, string>>> {
  return (await read<{ metadata: { labels: Record<string, string> } }>(`/api/v1/nodes/${nodeName}`)).metadata.labels;
}

/** Whether the node carries all of ours, or none. */
async function hasLabels(all: boolean): Promise<boolean> {
  const present = await nodeLabels();
  return labels.every((key) => Object.hasOwn(present, key) === all);
}

function hardwareOf(node: NodeAnswer | undefined) {
  const { resources, architecture, disks, interfaces } = node ?? {};
  return { architecture, disks, interfaces, cpus: resources?.cpu.info, memory: resources?.memory.info };
}
