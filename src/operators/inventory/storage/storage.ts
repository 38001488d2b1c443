/** What storage classes have and what is allocated of it. Backends are watched once there is a class of them. */
import { kinds } from "../../../kube/kinds.ts";
import type { Kube } from "../../../kube/kube.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
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
  type SoldClass,
  type StorageBackend,
  type StorageClass,
  soldClasses,
  storageUnreadable,
  sumVolumes,
  unreadable,
  type VolumeSums,
} from "./classes.ts";
import { createLonghornBackend } from "./longhorn.ts";

interface StorageDeps extends Pick<OperatorDeps, "clock" | "log"> {
  readonly kube: Pick<Kube, "watch" | "exec">;
  readonly onChange: (change: StorageChange) => void;
}

interface StorageChange {
  /** A class came, went or changed, and nodes show which there are. */
  readonly classes?: boolean;
  /** The node on whose disk a volume came or went. */
  readonly node?: string | undefined;
}

/** What only a change of classes or volumes changes. */
interface Folded {
  readonly classes: ReadonlyMap<string, StorageClass>;
  readonly sums: VolumeSums;
}

export type Storage = ReturnType<typeof createStorage>;

export function createStorage({ kube, clock, log, onChange }: StorageDeps) {
  let folded: Folded | undefined;
  let names: ReadonlySet<string> = new Set();
  const backends: Backends = {};

  const classes = kube.watch({
    kind: kinds.storageClass,
    project: readStorageClass,
    handle({ value }) {
      names = new Set(Array.from(classes.list(), ({ name }) => name));
      const driver = driverOf(value);
      if (driver === "ceph") backends.ceph ??= createCephBackend({ kube, clock, log, classes: classes.list, changed });
      if (driver === "longhorn") backends.longhorn ??= createLonghornBackend({ kube, classOf, changed });
      // Also when a class is only changed: its label decides whether it is sold.
      refold({ classes: true });
    },
  });
  const volumes = kube.watch({
    kind: kinds.persistentVolume,
    project: readVolume,
    handle: ({ value }) => refold({ node: value.node }),
  });
  const own = { "storage classes": classes, volumes };
  const changed = () => onChange({});
  const classOf = (volume: string) => volumes.get({ name: volume })?.class;

  function refold(change: StorageChange): void {
    folded = undefined;
    backends.ceph?.wake();
    onChange(change);
  }

  function fold(): Folded {
    const byName = new Map(Array.from(classes.list(), (storageClass) => [storageClass.name, storageClass]));
    folded ??= { classes: byName, sums: sumVolumes(volumes.list(), byName) };
    return folded;
  }

  return {
    /** By class; the conditions are what concerns no single class that is sold. */
    read(
      nodes: readonly NodeDisk[],
      config: Pick<InventoryConfig, "clusterStorage">,
    ): { readonly storage: readonly StorageInventory[]; readonly conditions: readonly Condition[] } {
      const waiting = waitingFor(own);
      // Without the volumes everything would look free.
      if (waiting !== undefined) return { storage: [], conditions: [storageUnreadable(waiting)] };
      const { classes, sums } = fold();
      const { sold, conditions } = soldClasses(classes, config, sums);
      return {
        storage: sold.map((each) => inventoryOf(each, { sold, nodes, sums, backends })),
        conditions: [...conditions, ...oddVolumes(sums), ...staleness(own)],
      };
    },
    onDisk(node: string, configured: readonly string[]): DiskUse {
      const { classes, sums } = fold();
      const isLocal = (name: string) => {
        const storageClass = classes.get(name);
        return storageClass?.labelled && driverOf(storageClass) === "local-path";
      };
      return { volumesBytes: sums.onNode.get(node) ?? 0n, classes: configured.filter(isLocal).length };
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
    get stale() {
      return staleness({ ...own, ...backends.ceph?.caches, ...backends.longhorn?.caches });
    },
    async synced(signal?: AbortSignal): Promise<void> {
      await classes.synced(signal);
      await volumes.synced(signal);
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

interface ReadClasses {
  readonly sold: readonly SoldClass[];
  readonly nodes: readonly NodeDisk[];
  readonly sums: VolumeSums;
  readonly backends: Backends;
}

function inventoryOf({ storageClass, driver }: SoldClass, { sold, nodes, sums, backends }: ReadClasses) {
  if (driver === "local-path") return localPathInventory(storageClass, nodes, sums);
  const backend: StorageBackend | undefined = backends[driver];
  const waiting = backend ? waitingFor(backend.needed) : "it was not asked yet";
  if (!backend || waiting !== undefined) return unreadable(storageClass, driver, sums, waiting ?? "");
  const alike = sold.filter((each) => each.driver === driver).map((each) => each.storageClass);
  const seen = backend.inventory(storageClass, sums, alike);
  return { ...seen, conditions: [...seen.conditions, ...staleness(backend.caches)] };
}

/** One without a class is not ours to sell; one without a size takes space that is not counted. */
function oddVolumes({ sizeless }: VolumeSums): Condition[] {
  if (sizeless.length === 0) return [];
  const message = `${sizeless.length} volumes have no size one can read and are not counted, for instance ${sizeless[0]}`;
  return [condition("VolumeUnreadable", message)];
}
