/** The kinds of Rook and Longhorn that tell about storage. They may be installed at any time, or never. */
import type { Kind } from "../../../kube/kinds.ts";

const rook = { group: "ceph.rook.io", version: "v1", namespaced: true } as const;
const longhorn = { group: "longhorn.io", version: "v1beta2", namespaced: true } as const;

export const storageKinds = {
  cephCluster: { ...rook, kind: "CephCluster", plural: "cephclusters" },
  cephBlockPool: { ...rook, kind: "CephBlockPool", plural: "cephblockpools" },
  cephFilesystem: { ...rook, kind: "CephFilesystem", plural: "cephfilesystems" },
  longhornNode: { ...longhorn, kind: "Node", plural: "nodes" },
  longhornVolume: { ...longhorn, kind: "Volume", plural: "volumes" },
  longhornSetting: { ...longhorn, kind: "Setting", plural: "settings" },
} as const satisfies Record<string, Kind>;
