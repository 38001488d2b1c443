/** What storage classes have and what is allocated of it. A backend is watched once there is a class of it. */
import { kinds } from "../../../kube/kinds.ts";
import type { Condition } from "../../../runtime/condition.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import type { DiskUse } from "../accounting/node-inventory.ts";
import { staleness, waitingFor } from "../conditions.ts";
import type { InventoryConfig } from "../configuration/inventory-config.ts";
import type { StorageInventory } from "../inventory.ts";
import { type CephBackend, createCephBackend } from "./ceph.ts";
import {
  defaultClassOf,
  driverOf,
  localPathInventory,
  type NodeDisk,
  readStorageClass,
  readVolume,
  type StorageBackend,
  type StorageClass,
  soldClasses,
  storageUnreadable,
  sumVolumes,
  unreadable,
  unreadableVolumes,
  type VolumeSums,
} from "./classes.ts";
import { createLonghornBackend } from "./longhorn.ts";

interface StorageDeps extends Pick<OperatorDeps, "kube" | "clock" | "log"> {
  /** A class came, went or changed. */
  readonly touchAll: () => void;
  /** Volumes changed, on the disk of this node if one is given. */
  readonly touch: (node?: string) => void;
}

export type Storage = ReturnType<typeof createStorage>;

export function createStorage({ touchAll, touch, ...deps }: StorageDeps) {
  const { kube } = deps;
  let folded: ReturnType<typeof fold> | undefined;
  let names: ReadonlySet<string> = new Set();
  const backends: Backends = {};
  const changed = () => touch();
  const classOf = (volume: string) => volumes.get({ name: volume })?.class;

  const classes = kube.watch({
    kind: kinds.storageClass,
    project: readStorageClass,
    handle({ value }) {
      names = new Set(Array.from(classes.list(), ({ name }) => name));
      const driver = driverOf(value);
      if (driver === "ceph") backends.ceph ??= createCephBackend({ ...deps, classes: classes.list, changed });
      if (driver === "longhorn") backends.longhorn ??= createLonghornBackend({ kube, classOf, changed });
      forget();
      touchAll();
    },
  });
  const volumes = kube.watch({
    kind: kinds.persistentVolume,
    project: readVolume,
    handle({ value }) {
      forget();
      touch(value.node);
    },
  });
  const own = { "storage classes": classes, volumes };

  function forget(): void {
    folded = undefined;
    backends.ceph?.wake();
  }

  /** Depends on classes and volumes alone. */
  function fold() {
    const byName = new Map(Array.from(classes.list(), (storageClass) => [storageClass.name, storageClass]));
    return { classes: byName, sums: sumVolumes(volumes.list(), byName) };
  }

  return {
    /** The conditions are those of no single class. */
    read(
      nodes: readonly NodeDisk[],
      config: Pick<InventoryConfig, "clusterStorage">,
    ): { readonly storage: readonly StorageInventory[]; readonly conditions: readonly Condition[] } {
      const waiting = waitingFor(own);
      // Without the volumes everything would look free.
      if (waiting !== undefined) return { storage: [], conditions: [storageUnreadable(waiting)] };
      folded ??= fold();
      const { classes, sums } = folded;
      const { sold, conditions } = soldClasses(classes, config, sums);
      return {
        storage: sold.map((each) => inventoryOf(each, { sold, nodes, sums, backends })),
        conditions: [...conditions, ...unreadableVolumes(sums), ...staleness(own)],
      };
    },
    onDisk(node: string, configured: readonly string[]): DiskUse {
      folded ??= fold();
      const { classes, sums } = folded;
      const local = configured.flatMap((name) => classes.get(name) ?? []).filter((each) => each.labelled);
      const count = local.filter((each) => driverOf(each) === "local-path").length;
      return { volumesBytes: sums.onNode.get(node) ?? 0n, classes: count };
    },
    /** Of all classes, sold or not. */
    get classNames() {
      return names;
    },
    get ready() {
      return classes.ready && volumes.ready;
    },
    /** Every change of a persistent volume up to this resource version is in a reading. */
    get version() {
      return volumes.version;
    },
    get volumesAgeMs() {
      return volumes.ageMs;
    },
    get defaultClass() {
      return defaultClassOf(classes.list());
    },
    get stale() {
      return staleness({ ...own, ...backends.ceph?.caches, ...backends.longhorn?.caches });
    },
    async synced(signal?: AbortSignal): Promise<void> {
      await Promise.all([classes.synced(signal), volumes.synced(signal)]);
    },
    get cephFailures() {
      return backends.ceph?.failures ?? 0;
    },
    async close(): Promise<void> {
      // The handler of a class may still open a backend.
      await Promise.all([classes.close(), volumes.close()]);
      await Promise.all([backends.ceph?.close(), backends.longhorn?.close()]);
    },
  };
}

interface Backends {
  ceph?: CephBackend;
  longhorn?: StorageBackend;
}

interface Readings {
  readonly sold: readonly StorageClass[];
  readonly nodes: readonly NodeDisk[];
  readonly sums: VolumeSums;
  readonly backends: Backends;
}

function inventoryOf(storageClass: StorageClass, { sold, nodes, sums, backends }: Readings): StorageInventory {
  const driver = driverOf(storageClass) ?? "local-path";
  if (driver === "local-path") return localPathInventory(storageClass, nodes, sums);
  const backend: StorageBackend | undefined = backends[driver];
  const waiting = backend ? waitingFor(backend.needed) : "it was not read yet";
  if (!backend || waiting !== undefined) return unreadable(storageClass, driver, sums, waiting ?? "");
  const ofDriver = sold.filter((each) => driverOf(each) === driver);
  const found = backend.inventory(storageClass, sums, ofDriver);
  return { ...found, conditions: [...found.conditions, ...staleness(backend.caches)] };
}
