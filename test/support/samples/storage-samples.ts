/** Objects as Rook, Longhorn and local-path write them, cut down to what says something about storage. */
import type { KubeObject } from "../../../src/kube/kube.ts";

export const gib = 1024n ** 3n;
const gibNumber = 1024 ** 3;

type Texts = Readonly<Record<string, string>>;

export function storageClass(name: string, provisioner: string, parameters: Texts = {}, labelled = true): KubeObject {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name, uid: `class-${name}`, ...(labelled ? { labels: { "akash.network": "true" } } : {}) },
    provisioner,
    parameters,
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    allowVolumeExpansion: true,
  };
}

export const rbdProvisioner = "rook-ceph.rbd.csi.ceph.com";

export function rbdClass(name: string, parameters: Texts = {}): KubeObject {
  return storageClass(name, rbdProvisioner, {
    clusterID: "rook-ceph",
    pool: "replicapool",
    imageFormat: "2",
    imageFeatures: "layering",
    "csi.storage.k8s.io/fstype": "ext4",
    ...parameters,
  });
}

export function longhornClass(name: string, parameters: Texts = {}): KubeObject {
  return storageClass(name, "driver.longhorn.io", {
    numberOfReplicas: "3",
    staleReplicaTimeout: "2880",
    fromBackup: "",
    ...parameters,
  });
}

export function volume(name: string, className: string | undefined, size: unknown, more: Plain = {}): KubeObject {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, uid: `volume-${name}`, ...(more["metadata"] as object) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: size },
      persistentVolumeReclaimPolicy: "Delete",
      ...(className === undefined ? {} : { storageClassName: className }),
      volumeMode: "Filesystem",
      ...(more["spec"] as object),
    },
    status: { phase: more["phase"] ?? "Bound" },
  };
}

type Plain = Readonly<Record<string, unknown>>;

export function rbdVolume(name: string, className: string, size: unknown, attributes: Texts = {}): KubeObject {
  const csi = {
    driver: rbdProvisioner,
    volumeAttributes: { clusterID: "rook-ceph", pool: "replicapool", imageName: `csi-vol-${name}`, ...attributes },
    volumeHandle: `0001-0009-rook-ceph-0000000000000002-${name}`,
  };
  return volume(name, className, size, { spec: { csi } });
}

export function localVolume(name: string, className: string, size: unknown, node: string): KubeObject {
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }];
  return volume(name, className, size, {
    metadata: { annotations: { "pv.kubernetes.io/provisioned-by": "rancher.io/local-path" } },
    spec: {
      hostPath: { path: `/opt/local-path-provisioner/${name}`, type: "DirectoryOrCreate" },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
    },
  });
}

export function cephCluster(name = "rook-ceph", namespace = "rook-ceph"): KubeObject {
  return {
    metadata: { name, namespace, uid: `cluster-${namespace}-${name}` },
    spec: { mon: { count: 3 } },
    status: { phase: "Ready", state: "Created", ceph: { health: "HEALTH_OK" } },
  };
}

export function cephPool(name: string, spec: Plain, namespace = "rook-ceph"): KubeObject {
  return { metadata: { name, namespace, uid: `pool-${name}` }, spec, status: { phase: "Ready" } };
}

/** A class of files that many may share; its pools are those of a filesystem. */
export function cephfsClass(name: string, parameters: Texts = {}): KubeObject {
  return storageClass(name, "rook-ceph.cephfs.csi.ceph.com", {
    clusterID: "rook-ceph",
    fsName: "myfs",
    pool: "myfs-replicated",
    ...parameters,
  });
}

export function cephFilesystem(name: string, dataPools: readonly Plain[], more: Plain = {}): KubeObject {
  return {
    metadata: { name, namespace: "rook-ceph", uid: `filesystem-${name}` },
    spec: { metadataPool: { replicated: { size: 2 } }, dataPools, metadataServer: { activeCount: 1 }, ...more },
    status: { phase: "Ready" },
  };
}

export function toolboxPod(namespace = "rook-ceph", ready = true): KubeObject {
  return {
    metadata: { name: "rook-ceph-tools-5d4f", namespace, uid: "toolbox", labels: { app: "rook-ceph-tools" } },
    spec: { containers: [{ name: "rook-ceph-tools", image: "rook/ceph:v1.15.0" }] },
    status: { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
}

/** What `ceph df --format json` prints, with these pools: [stored, max_avail] in bytes. */
export function cephDf(pools: Readonly<Record<string, readonly [stored: bigint, maxAvail: bigint]>>): string {
  const total = { total_bytes: 32187088896, total_avail_bytes: 31180648448, total_used_raw_bytes: 1006440448 };
  return `\n${JSON.stringify({
    stats: { ...total, num_osds: 6, num_per_pool_osds: 6, num_per_pool_omap_osds: 3 },
    stats_by_class: { ssd: { ...total, total_used_raw_ratio: 0.031268451362848282 } },
    pools: Object.entries(pools).map(([name, [stored, maxAvail]], index) => ({
      name,
      id: index + 1,
      stats: {
        stored: Number(stored),
        objects: 2,
        kb_used: 1356,
        bytes_used: 3 * Number(stored),
        percent_used: 0.00004,
        max_avail: Number(maxAvail),
      },
    })),
  })}\n`;
}

export interface DiskSample {
  readonly maximum?: bigint;
  readonly available?: bigint;
  readonly scheduled?: bigint;
  readonly reserved?: bigint;
  readonly tags?: readonly string[];
  readonly diskType?: string;
  readonly allowScheduling?: boolean;
  readonly evictionRequested?: boolean;
  readonly schedulable?: boolean;
}

const holding = (type: string, holds: boolean) => ({ type, status: holds ? "True" : "False", reason: "" });

export function longhornNode(name: string, disks: Readonly<Record<string, DiskSample>>, more: Plain = {}): KubeObject {
  const entries = Object.entries(disks);
  return {
    apiVersion: "longhorn.io/v1beta2",
    kind: "Node",
    metadata: { name, namespace: "longhorn-system", uid: `longhorn-${name}` },
    spec: {
      name,
      allowScheduling: true,
      evictionRequested: false,
      tags: [],
      disks: Object.fromEntries(
        entries.map(([disk, sample]) => [
          disk,
          {
            allowScheduling: sample.allowScheduling ?? true,
            evictionRequested: sample.evictionRequested ?? false,
            path: `/var/lib/longhorn/${disk}`,
            storageReserved: Number(sample.reserved ?? 0n),
            tags: sample.tags ?? [],
            ...(sample.diskType === undefined ? {} : { diskType: sample.diskType }),
          },
        ]),
      ),
      ...(more["spec"] as object),
    },
    status: {
      conditions: [holding("Ready", true), holding("Schedulable", true), holding("MountPropagation", true)],
      region: "",
      zone: "",
      diskStatus: Object.fromEntries(
        entries.map(([disk, sample]) => [
          disk,
          {
            conditions: [holding("Ready", true), holding("Schedulable", sample.schedulable ?? true)],
            diskUUID: `${name}-${disk}`,
            storageMaximum: Number(sample.maximum ?? 100n * gib),
            storageAvailable: Number(sample.available ?? sample.maximum ?? 100n * gib),
            storageScheduled: Number(sample.scheduled ?? 0n),
            scheduledReplica: {},
          },
        ]),
      ),
      ...(more["status"] as object),
    },
  };
}

export function longhornSetting(name: string, value: string): KubeObject {
  return { metadata: { name, namespace: "longhorn-system", uid: `setting-${name}` }, value };
}

export function longhornVolume(name: string, robustness: string): KubeObject {
  return {
    metadata: { name, namespace: "longhorn-system", uid: `longhorn-${name}` },
    spec: { numberOfReplicas: 3, size: String(10 * gibNumber) },
    status: { robustness, state: "attached", kubernetesStatus: { pvName: name, pvStatus: "Bound" } },
  };
}
