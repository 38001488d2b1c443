/** Storage on the simulated cluster: what is installed late, goes away, comes twice or comes back under the same name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Kind, kinds } from "../src/kube/kinds.ts";
import type { KubeObject } from "../src/kube/kube.ts";
import { storageKinds } from "../src/operators/inventory/storage/kinds.ts";
import { createStorage } from "../src/operators/inventory/storage/storage.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { eventually } from "./eventually.ts";
import { createExecStandIn } from "./exec-stand-in.ts";
import { definitionOf } from "./kube-definition.ts";
import type { Owner } from "./owner.ts";
import { simulateKube } from "./simulated-kube.ts";
import {
  cephCluster,
  cephDf,
  cephPool,
  gib,
  localVolume,
  longhornClass,
  longhornNode,
  rbdClass,
  rbdVolume,
  storageClass,
  toolboxPod,
  volume,
} from "./storage-samples.ts";

const rook = [storageKinds.cephCluster, storageKinds.cephBlockPool];
const longhorn = [storageKinds.longhornNode, storageKinds.longhornVolume, storageKinds.longhornSetting];

/** Storage as the operator has it, on a cluster without nodes, so that pods stay as the test puts them. */
function openStorage(t: Owner, clusterStorage: readonly string[]) {
  const { server, faults, connect } = simulateKube(t);
  for (const name of ["rook-ceph", "longhorn-system"]) {
    server.create(kinds.namespace, { metadata: { name } }, "test");
  }
  const kube = connect("akash-operator-inventory");
  const watched = new Set<Kind>();
  const watch: typeof kube.watch = (options) => {
    watched.add(options.kind);
    return kube.watch(options);
  };
  const standIn = createExecStandIn({ stdout: cephDf({ replicapool: [0n, 100n * gib] }) });
  const storage = createStorage({ kube: { watch, exec: standIn.exec }, clock: realClock, log: silentLog });
  t.after(() => storage.close());
  let changes = 0;
  storage.onChange(() => {
    changes += 1;
  });
  const ephemeralBytes = { capacity: 100n * gib, allocatable: 100n * gib, allocated: 0n };
  const read = () => storage.read([{ name: "worker", offered: true, ephemeralBytes }], { clusterStorage });
  const ofClass = (name: string) => read().storage.find((each) => each.class === name);
  const allocated = (name: string) => (ofClass(name)?.bytes.allocated ?? -1n) / gib;
  return {
    faults,
    storage,
    watched,
    standIn,
    read,
    ofClass,
    allocated,
    changes: () => changes,
    settled: (name: string, gibibytes: bigint) =>
      eventually(`${name} at ${gibibytes}Gi`, () => allocated(name) === gibibytes),
    install: (all: readonly Kind[]) => {
      for (const kind of all) server.create(kinds.customResourceDefinition, definitionOf(kind), "test");
    },
    /** Makes it or changes it; its status, which has an address of its own, too. */
    put: (kind: Kind, { metadata: { uid: _, ...metadata }, ...rest }: KubeObject) => {
      const object = { ...rest, metadata };
      server.apply(kind, object, { manager: "test", force: true });
      if (rest["status"] !== undefined) server.updateStatus(kind, object, "test");
    },
    remove: (kind: Kind, name: string) => server.delete(kind, { name }),
  };
}

test("the order in which Rook, its cluster, the toolbox and the class come does not matter", async (t) => {
  const { install, put, ofClass, standIn } = openStorage(t, ["beta3"]);
  const trouble = (text: string) =>
    eventually(text, () => ofClass("beta3")?.conditions.some(({ message }) => message.includes(text)));
  put(kinds.storageClass, rbdClass("beta3"));
  put(kinds.persistentVolume, rbdVolume("a", "beta3", "10Gi"));
  await trouble("the cluster does not know cephclusters.ceph.rook.io");
  assert.equal(ofClass("beta3")?.bytes.allocatable, 0n);
  assert.equal(standIn.ran.length, 0);
  install(rook);
  await trouble("there is no CephCluster");
  put(storageKinds.cephCluster, cephCluster());
  await trouble("no toolbox pod is ready there");
  put(kinds.pod, toolboxPod("rook-ceph", false));
  put(storageKinds.cephBlockPool, cephPool("replicapool", { replicated: { size: 3 } }));
  put(kinds.pod, toolboxPod());
  const seen = await eventually(
    "the room",
    () => ofClass("beta3")?.bytes.allocatable === 100n * gib && ofClass("beta3"),
  );
  assert.deepEqual(seen.bytes, { capacity: 100n * gib, allocatable: 100n * gib, allocated: 10n * gib });
  assert.equal(seen.conditions.length, 0);
  await eventually("replicas", () => ofClass("beta3")?.replicas === 3);
});

test("Longhorn may be installed after its class, and is not asked for without one", async (t) => {
  const { install, put, ofClass, storage, watched } = openStorage(t, ["beta2"]);
  await storage.synced();
  assert.ok(!longhorn.some((kind) => watched.has(kind)));
  put(kinds.storageClass, longhornClass("beta2", { numberOfReplicas: "1" }));
  await eventually("a condition", () => ofClass("beta2")?.conditions[0]?.message.includes("nodes.longhorn.io"));
  install(longhorn);
  put(storageKinds.longhornNode, longhornNode("a", { data: {} }));
  await eventually("room", () => ofClass("beta2")?.bytes.allocatable === 100n * gib);
  assert.deepEqual(ofClass("beta2")?.conditions, []);
  assert.deepEqual([...storage.classNames], ["beta2"]);
});

test("a class that goes leaves the others alone, and finds its volumes again when it comes back", async (t) => {
  const { put, remove, ofClass, allocated, read, settled } = openStorage(t, ["beta1", "other"]);
  put(kinds.storageClass, storageClass("beta1", "rancher.io/local-path"));
  put(kinds.storageClass, storageClass("other", "rancher.io/local-path"));
  put(kinds.persistentVolume, localVolume("a", "beta1", "10Gi", "worker"));
  put(kinds.persistentVolume, localVolume("b", "other", "20Gi", "worker"));
  await settled("other", 20n);
  await settled("beta1", 10n);
  remove(kinds.storageClass, "beta1");
  await eventually("beta1 gone", () => ofClass("beta1") === undefined);
  assert.match(read().conditions[0]?.message ?? "", /beta1 is configured, but not there; 1 of its volumes/);
  assert.equal(allocated("other"), 20n);
  remove(kinds.persistentVolume, "a");
  put(kinds.persistentVolume, localVolume("c", "beta1", "5Gi", "worker"));
  put(kinds.storageClass, storageClass("beta1", "rancher.io/local-path"));
  await settled("beta1", 5n);
  assert.equal(ofClass("other")?.bytes.allocatable, (20n + 75n) * gib);
});

test("a volume counts once, however often it is told of, and under its name counts the one that is there", async (t) => {
  const { put, remove, faults, settled, read, changes } = openStorage(t, ["beta1"]);
  put(kinds.storageClass, storageClass("beta1", "rancher.io/local-path"));
  put(kinds.persistentVolume, localVolume("a", "beta1", "10Gi", "worker"));
  await settled("beta1", 10n);
  const before = changes();
  const again = localVolume("a", "beta1", "10Gi", "worker");
  put(kinds.persistentVolume, { ...again, metadata: { ...again.metadata, labels: { seen: "again" } } });
  put(kinds.persistentVolume, { ...again, status: { phase: "Released" } });
  await eventually("both told", () => changes() >= before + 2);
  await settled("beta1", 10n);
  put(kinds.persistentVolume, localVolume("a", "beta1", "12Gi", "worker"));
  await settled("beta1", 12n);
  remove(kinds.persistentVolume, "a");
  put(kinds.persistentVolume, localVolume("a", "beta1", "3Gi", "worker"));
  await settled("beta1", 3n);
  // Nothing is lost or counted twice when the watch has to begin anew.
  faults.forgetPast();
  faults.cutWatches();
  put(kinds.persistentVolume, localVolume("b", "beta1", "4Gi", "worker"));
  await settled("beta1", 7n);
  put(kinds.persistentVolume, volume("odd", undefined, "1Gi"));
  put(kinds.persistentVolume, volume("sizeless", "beta1", "1Gi", { spec: { capacity: {} } }));
  await eventually("the odd one", () => read().conditions.some(({ type }) => type === "VolumeUnreadable"));
  await settled("beta1", 7n);
});

test("until classes and volumes were seen, nothing is said to be free", async (t) => {
  const { put, faults, storage, read } = openStorage(t, ["beta1"]);
  faults.forbid("list", kinds.persistentVolume);
  put(kinds.storageClass, storageClass("beta1", "rancher.io/local-path"));
  await eventually("the reason", () =>
    read().conditions[0]?.message.includes('cannot list resource "persistentvolumes"'),
  );
  assert.deepEqual(read().storage, []);
  assert.equal(storage.ready, false);
  faults.allow("list", kinds.persistentVolume);
  await eventually("ready", () => storage.ready);
  assert.equal(read().storage.length, 1);
});
