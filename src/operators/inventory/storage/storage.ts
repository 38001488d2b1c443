/**
 * What the cluster's storage classes have and what of it is taken. Classes and volumes are watched from the start, the
 * objects of a backend as soon as there is a class of it; whatever is not installed yet is waited for. A reading is a
 * fold over these caches, so nothing can be counted twice or forgotten.
 */

import { kinds } from "../../../kube/kinds.ts";
import type { Kube } from "../../../kube/kube.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import type { OperatorGround } from "../../ground.ts";
import type { DiskUse } from "../accounting/node-inventory.ts";
import type { InventoryConfig } from "../configuration/inventory-config.ts";
import type { StorageInventory } from "../inventory.ts";
import { staleness, waitingFor } from "../staleness.ts";
import { type CephBackend, createCephBackend } from "./ceph-backend.ts";
import { type Backend, localPathInventory, type NodeDisk, storageUnreadable, unreadable } from "./class-inventory.ts";
import { storageKinds } from "./kinds.ts";
import { longhornInventory } from "./longhorn.ts";
import {
  isSick,
  type LonghornVolume,
  readLonghornNode,
  readLonghornSetting,
  readLonghornVolume,
} from "./longhorn-objects.ts";
import {
  defaultClassOf,
  driverOf,
  readStorageClass,
  type SoldClass,
  type StorageClass,
  soldClasses,
} from "./storage-class.ts";
import { readVolume, sumVolumes, type VolumeSums } from "./volumes.ts";

interface StorageDeps extends Pick<OperatorGround, "clock" | "log"> {
  readonly kube: Pick<Kube, "watch" | "exec">;
  /** Told after something changed that a reading may show. */
  readonly onChange: (change: StorageChange) => void;
}

export interface StorageChange {
  /** A class came, went or changed, and nodes show which there are. */
  readonly classes?: boolean;
  /** The node on whose disk a volume came or went. */
  readonly node?: string | undefined;
}

export type Storage = ReturnType<typeof createStorage>;

export function createStorage({ kube, clock, log, onChange }: StorageDeps) {
  let folded: Folded | undefined;
  let names: ReadonlySet<string> = new Set();
  let ceph: CephBackend | undefined;
  let longhorn: Backend | undefined;

  const classes = kube.watch({
    kind: kinds.storageClass,
    project: readStorageClass,
    handle({ value }) {
      names = new Set(Array.from(classes.list(), ({ name }) => name));
      openBackendOf(value);
      // Also when a class is only changed: its label says whether it is sold.
      refold({ classes: true });
    },
  });
  const volumes = kube.watch({
    kind: kinds.persistentVolume,
    project: readVolume,
    handle: ({ value }) => refold({ node: value.node }),
  });
  const ownCaches = { "storage classes": classes, volumes };

  function refold(change: StorageChange): void {
    folded = undefined;
    ceph?.wake();
    onChange(change);
  }

  function openBackendOf(storageClass: StorageClass): void {
    const driver = driverOf(storageClass);
    const changed = () => onChange({});
    if (driver === "ceph") ceph ??= createCephBackend({ kube, clock, log, classes: classes.list, changed });
    if (driver === "longhorn") longhorn ??= createLonghornBackend({ kube, classOf, changed });
  }

  function classOf(volume: string): string | undefined {
    return volumes.get({ name: volume })?.class;
  }

  function fold(): Folded {
    const byName = new Map(Array.from(classes.list(), (storageClass) => [storageClass.name, storageClass]));
    return { classes: byName, sums: sumVolumes(volumes.list(), byName) };
  }

  function inventoryOf(
    { storageClass, driver }: SoldClass,
    sold: readonly SoldClass[],
    nodes: readonly NodeDisk[],
    sums: VolumeSums,
  ) {
    if (driver === "local-path") return localPathInventory(storageClass, nodes, sums);
    const backend = driver === "ceph" ? ceph : longhorn;
    if (!backend) return unreadable(storageClass, driver, sums, "it was not asked yet");
    const waiting = waitingFor(backend.needed);
    if (waiting !== undefined) return unreadable(storageClass, driver, sums, waiting);
    const alike = sold.filter((each) => each.driver === driver).map((each) => each.storageClass);
    const seen = backend.inventory(storageClass, sums, alike);
    return { ...seen, conditions: [...seen.conditions, ...staleness(backend.caches)] };
  }

  return {
    /** By class; the conditions are what concerns no single class that is sold. */
    read(
      nodes: readonly NodeDisk[],
      config: Pick<InventoryConfig, "clusterStorage">,
    ): { readonly storage: readonly StorageInventory[]; readonly conditions: readonly Condition[] } {
      const waiting = waitingFor(ownCaches);
      // Without the volumes everything would look free.
      if (waiting !== undefined) return { storage: [], conditions: [storageUnreadable(waiting)] };
      folded ??= fold();
      const { sums } = folded;
      const { sold, conditions } = soldClasses(folded.classes, config, sums);
      return {
        storage: sold.map((each) => inventoryOf(each, sold, nodes, sums)),
        conditions: [...conditions, ...oddVolumes(sums), ...staleness(ownCaches)],
      };
    },
    /** What volumes take of a node's disk, when these classes are configured for it. */
    onDisk(node: string, configured: readonly string[]): DiskUse {
      folded ??= fold();
      const { classes: byName, sums } = folded;
      const sold = configured.filter((name) => {
        const storageClass = byName.get(name);
        return storageClass?.labelled && driverOf(storageClass) === "local-path";
      });
      return { volumesBytes: sums.onNode.get(node) ?? 0n, classes: sold.length };
    },
    /** The classes that are there, sold or not. Without meaning until it is ready. */
    get classNames() {
      return names;
    },
    get ready() {
      return classes.ready && volumes.ready;
    },
    /** Every change of a persistent volume up to this version of the API server is in a reading. */
    get version() {
      return volumes.version;
    },
    get volumesAgeMs() {
      return volumes.ageMs;
    },
    get defaultClass() {
      return defaultClassOf(classes.list());
    },
    /** Why a reading may be out of date. A watch that is interrupted tells no listener. */
    get stale() {
      return staleness({ ...ownCaches, ...ceph?.caches, ...longhorn?.caches });
    },
    async synced(signal?: AbortSignal): Promise<void> {
      await classes.synced(signal);
      await volumes.synced(signal);
    },
    /** Questions to Ceph that it did not answer. */
    get cephFailures() {
      return ceph?.failures ?? 0;
    },
    async close(): Promise<void> {
      // A class that is still being told of may open a backend.
      await Promise.all([classes.close(), volumes.close()]);
      await Promise.all([ceph?.close(), longhorn?.close()]);
    },
  };
}

/** What only a change of classes or volumes changes. */
interface Folded {
  readonly classes: ReadonlyMap<string, StorageClass>;
  readonly sums: VolumeSums;
}

/** A volume without a class is a person's own business; one without a size takes space that nobody counts. */
function oddVolumes({ sizeless }: VolumeSums): Condition[] {
  if (sizeless.length === 0) return [];
  const message = `${sizeless.length} volumes have no size one can read and are not counted, for instance ${sizeless[0]}`;
  return [condition("VolumeUnreadable", message)];
}

/** Longhorn's objects, kept up to date. */
interface LonghornBackendDeps {
  readonly kube: Pick<Kube, "watch">;
  /** The class of a PersistentVolume. */
  classOf(volume: string): string | undefined;
  changed(): void;
}

function createLonghornBackend({ kube, classOf, changed }: LonghornBackendDeps): Backend {
  const nodes = kube.watch({ kind: storageKinds.longhornNode, project: readLonghornNode, handle: changed });
  const settings = kube.watch({ kind: storageKinds.longhornSetting, project: readLonghornSetting, handle: changed });
  const sick = new Map<string, LonghornVolume>();
  const longhornVolumes = kube.watch({
    kind: storageKinds.longhornVolume,
    project: readLonghornVolume,
    handle({ type, name, value }) {
      const before = sick.get(name)?.robustness;
      if (type !== "deleted" && isSick(value)) sick.set(name, value);
      else sick.delete(name);
      // Longhorn writes down the growth of every volume; that is not news.
      if (sick.get(name)?.robustness !== before) changed();
    },
  });
  const needed = { "the nodes of Longhorn": nodes, "the settings of Longhorn": settings };
  return {
    needed,
    caches: { ...needed, "the volumes of Longhorn": longhornVolumes },
    inventory: (storageClass, volumes, sold) =>
      longhornInventory(storageClass, {
        nodes: [...nodes.list()],
        settings: [...settings.list()],
        sick: [...sick.values()],
        volumes,
        sold,
        classOf,
      }),
    async close() {
      await Promise.all([nodes.close(), settings.close(), longhornVolumes.close()]);
    },
  };
}
