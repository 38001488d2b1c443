/** Storage over the real client: what is installed late, goes away, comes twice or comes back under the same name. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createHttpKube } from "../src/kube/http/http-kube.ts";
import { createStorage } from "../src/operators/inventory/storage/storage.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { eventually } from "./eventually.ts";
import { createExecStandIn } from "./exec-stand-in.ts";
import { startFakeApi } from "./fake-apiserver.ts";
import { temporaryFolder } from "./folder.ts";
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

const foreignKinds = ["cephclusters", "cephblockpools", "nodes", "volumes", "settings"];

async function open(t: TestContext, clusterStorage: readonly string[]) {
  const api = await startFakeApi(t);
  for (const plural of foreignKinds) api.hidden.add(plural);
  const kubeconfig = api.writeKubeconfig(temporaryFolder(t));
  const deps = { clock: realClock, random: realRandom, log: silentLog };
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-operator-inventory" }, deps);
  t.after(() => kube.close());
  const standIn = createExecStandIn({ stdout: cephDf({ replicapool: [0n, 100n * gib] }) });
  const storage = createStorage({ kube: { watch: kube.watch, exec: standIn.exec }, clock: realClock, log: silentLog });
  t.after(() => storage.close());
  let changes = 0;
  storage.onChange(() => {
    changes += 1;
  });
  await storage.synced();
  const ephemeralBytes = { capacity: 100n * gib, allocatable: 100n * gib, allocated: 0n };
  const read = () => storage.read([{ name: "worker", offered: true, ephemeralBytes }], { clusterStorage });
  const ofClass = (name: string) => read().storage.find((each) => each.class === name);
  const allocated = (name: string) => (ofClass(name)?.bytes.allocated ?? -1n) / gib;
  const settled = (name: string, gibibytes: bigint) =>
    eventually(`${name} at ${gibibytes}Gi`, () => allocated(name) === gibibytes);
  return { api, storage, standIn, read, ofClass, allocated, settled, changes: () => changes };
}

test("the order in which Rook, its cluster, the toolbox and the class come does not matter", async (t) => {
  const { api, ofClass, standIn } = await open(t, ["beta3"]);
  const trouble = (text: string) =>
    eventually(text, () => ofClass("beta3")?.conditions.some(({ message }) => message.includes(text)));
  api.put("storageclasses", rbdClass("beta3"));
  api.put("persistentvolumes", rbdVolume("a", "beta3", "10Gi"));
  await trouble("the cluster does not know cephclusters.ceph.rook.io");
  assert.equal(ofClass("beta3")?.bytes.allocatable, 0n);
  assert.equal(standIn.ran.length, 0);
  for (const plural of ["cephclusters", "cephblockpools"]) api.hidden.delete(plural);
  await trouble("there is no CephCluster");
  api.put("cephclusters", cephCluster());
  await trouble("no toolbox pod is ready there");
  api.put("pods", toolboxPod("rook-ceph", false));
  api.put("cephblockpools", cephPool("replicapool", { replicated: { size: 3 } }));
  api.put("pods", toolboxPod());
  const seen = await eventually(
    "the room",
    () => ofClass("beta3")?.bytes.allocatable === 100n * gib && ofClass("beta3"),
  );
  assert.deepEqual(seen.bytes, { capacity: 100n * gib, allocatable: 100n * gib, allocated: 10n * gib });
  assert.equal(seen.conditions.length, 0);
  await eventually("replicas", () => ofClass("beta3")?.replicas === 3);
});

test("Longhorn may be installed after its class, and is not asked for without one", async (t) => {
  const { api, ofClass, storage } = await open(t, ["beta2"]);
  assert.ok(!api.requests.some((request) => request.includes("longhorn.io")));
  api.put("storageclasses", longhornClass("beta2", { numberOfReplicas: "1" }));
  await eventually("a condition", () => ofClass("beta2")?.conditions[0]?.message.includes("nodes.longhorn.io"));
  for (const plural of ["nodes", "volumes", "settings"]) api.hidden.delete(plural);
  api.put("nodes", longhornNode("a", { data: {} }));
  await eventually("room", () => ofClass("beta2")?.bytes.allocatable === 100n * gib);
  assert.deepEqual(ofClass("beta2")?.conditions, []);
  assert.deepEqual([...storage.classNames], ["beta2"]);
});

test("a class that goes leaves the others alone, and finds its volumes again when it comes back", async (t) => {
  const { api, ofClass, allocated, read, settled } = await open(t, ["beta1", "other"]);
  api.put("storageclasses", storageClass("beta1", "rancher.io/local-path"));
  api.put("storageclasses", storageClass("other", "rancher.io/local-path"));
  api.put("persistentvolumes", localVolume("a", "beta1", "10Gi", "worker"));
  api.put("persistentvolumes", localVolume("b", "other", "20Gi", "worker"));
  await settled("other", 20n);
  await settled("beta1", 10n);
  api.remove("storageclasses", "/beta1");
  await eventually("beta1 gone", () => ofClass("beta1") === undefined);
  assert.match(read().conditions[0]?.message ?? "", /beta1 is configured, but not there; 1 of its volumes/);
  assert.equal(allocated("other"), 20n);
  api.remove("persistentvolumes", "/a");
  api.put("persistentvolumes", localVolume("c", "beta1", "5Gi", "worker"));
  api.put("storageclasses", storageClass("beta1", "rancher.io/local-path"));
  await settled("beta1", 5n);
  assert.equal(ofClass("other")?.bytes.allocatable, (20n + 75n) * gib);
});

test("a volume counts once, however often it is told of, and under its name counts the one that is there", async (t) => {
  const { api, settled, read, changes } = await open(t, ["beta1"]);
  api.put("storageclasses", storageClass("beta1", "rancher.io/local-path"));
  api.put("persistentvolumes", localVolume("a", "beta1", "10Gi", "worker"));
  await settled("beta1", 10n);
  const before = changes();
  api.put("persistentvolumes", localVolume("a", "beta1", "10Gi", "worker"));
  api.put("persistentvolumes", { ...localVolume("a", "beta1", "10Gi", "worker"), status: { phase: "Released" } });
  await eventually("both told", () => changes() >= before + 2);
  await settled("beta1", 10n);
  api.put("persistentvolumes", localVolume("a", "beta1", "12Gi", "worker"));
  await settled("beta1", 12n);
  api.remove("persistentvolumes", "/a");
  api.put("persistentvolumes", localVolume("a", "beta1", "3Gi", "worker"));
  await settled("beta1", 3n);
  // Nothing is lost or counted twice when the watch has to begin anew.
  api.compact();
  api.cut();
  api.put("persistentvolumes", localVolume("b", "beta1", "4Gi", "worker"));
  await settled("beta1", 7n);
  api.put("persistentvolumes", volume("odd", undefined, "1Gi"));
  api.put("persistentvolumes", volume("sizeless", "beta1", "ten"));
  await eventually("the odd one", () => read().conditions.some(({ type }) => type === "VolumeUnreadable"));
  await settled("beta1", 7n);
});

test("until classes and volumes were seen, nothing is said to be free", async (t) => {
  const api = await startFakeApi(t);
  api.forbidden.add("list persistentvolumes");
  api.put("storageclasses", storageClass("beta1", "rancher.io/local-path"));
  const kubeconfig = api.writeKubeconfig(temporaryFolder(t));
  const kube = createHttpKube(
    { kubeconfig, fieldManager: "x" },
    { clock: realClock, random: realRandom, log: silentLog },
  );
  t.after(() => kube.close());
  const storage = createStorage({ kube, clock: realClock, log: silentLog });
  t.after(() => storage.close());
  const read = () => storage.read([], { clusterStorage: ["beta1"] });
  await eventually("the reason", () =>
    read().conditions[0]?.message.includes('cannot list resource "persistentvolumes"'),
  );
  assert.deepEqual(read().storage, []);
  assert.equal(storage.ready, false);
  api.forbidden.clear();
  await eventually("ready", () => storage.ready);
  assert.equal(read().storage.length, 1);
});
