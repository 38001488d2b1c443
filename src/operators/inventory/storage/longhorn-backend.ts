/** Longhorn's objects, kept up to date. */
import type { Kube } from "../../../kube/kube.ts";
import type { Backend } from "./class-inventory.ts";
import { storageKinds } from "./kinds.ts";
import { longhornInventory } from "./longhorn.ts";
import {
  isSick,
  type LonghornVolume,
  readLonghornNode,
  readLonghornSetting,
  readLonghornVolume,
} from "./longhorn-objects.ts";

interface LonghornBackendDeps {
  readonly kube: Pick<Kube, "watch">;
  /** The class of a PersistentVolume. */
  classOf(volume: string): string | undefined;
  changed(): void;
}

export function createLonghornBackend({ kube, classOf, changed }: LonghornBackendDeps): Backend {
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
