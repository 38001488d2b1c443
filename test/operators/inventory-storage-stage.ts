/** Storage on a simulated cluster, with a stand-in for the toolbox of Ceph. */
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { sharedDisk } from "../../src/operators/inventory/accounting/node-inventory.ts";
import { storageKinds } from "../../src/operators/inventory/storage/classes.ts";
import { createStorage } from "../../src/operators/inventory/storage/storage.ts";
import { type Clock, realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { createFakeExec } from "../support/fake-exec.ts";
import { definitionOf } from "../support/kube/kube-definition.ts";
import { simulateKube } from "../support/kube/simulated-kube.ts";
import type { Owner } from "../support/owner.ts";
import { cephDf, gib } from "../support/samples/storage-samples.ts";

export const rook = [storageKinds.cephCluster, storageKinds.cephBlockPool];
export const longhorn = [storageKinds.longhornNode, storageKinds.longhornVolume, storageKinds.longhornSetting];

/** Storage as the operator has it, on a cluster without nodes, so that pods stay as the test puts them. */
export function openStorage(t: Owner, clusterStorage: readonly string[], clock: Clock = realClock) {
  const { server, faults, connect } = simulateKube(t, { clock });
  for (const name of ["rook-ceph", "longhorn-system"]) {
    server.create(kinds.namespace, { metadata: { name } }, "test");
  }
  const kube = connect("akash-operator-inventory");
  const watched = new Set<Kind>();
  const watch: typeof kube.watch = (options) => {
    watched.add(options.kind);
    return kube.watch(options);
  };
  const standIn = createFakeExec({ stdout: cephDf({ replicapool: [0n, 100n * gib] }) });
  let changes = 0;
  const touch = () => {
    changes += 1;
  };
  const parts = { kube: { ...kube, watch, exec: standIn.exec }, clock, log: silentLog };
  const storage = createStorage({ ...parts, touch, touchAll: touch });
  t.after(() => storage.close());
  const disk = { capacity: 100n * gib, allocatable: 100n * gib, allocated: 0n };
  const worker = () => ({
    name: "worker",
    offered: true,
    storageClasses: clusterStorage,
    ephemeralBytes: sharedDisk(disk, storage.onDisk("worker", clusterStorage)).amounts,
  });
  const read = () => storage.read([worker()], { clusterStorage });
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
