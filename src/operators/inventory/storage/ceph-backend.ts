/** Rook's objects, kept up to date, and Ceph's own word about its pools. */
import { kinds } from "../../../kube/kinds.ts";
import type { Kube } from "../../../kube/kube.ts";
import type { OperatorGround } from "../../ground.ts";
import { waitingFor } from "../staleness.ts";
import { cephInventory, clusterOf, readCephCluster, readCephFilesystem, readCephPool } from "./ceph.ts";
import { readToolbox, type Toolbox, toolboxSelector } from "./ceph-df.ts";
import { createCephUsage } from "./ceph-usage.ts";

import { wordOf } from "./fields.ts";
import { storageKinds } from "./kinds.ts";
import { driverOf, type StorageClass } from "./storage-class.ts";
import type { VolumeSums } from "./volumes.ts";

interface CephBackendDeps extends Pick<OperatorGround, "clock" | "log"> {
  readonly kube: Pick<Kube, "watch" | "exec">;
  classes(): Iterable<StorageClass>;
  changed(): void;
}

export type CephBackend = ReturnType<typeof createCephBackend>;

export function createCephBackend({ kube, clock, log, classes, changed }: CephBackendDeps) {
  const clusters = kube.watch({
    kind: storageKinds.cephCluster,
    project: readCephCluster,
    handle({ type }) {
      // Rook rewrites a cluster's status once a minute, when it has looked at Ceph: then we look too.
      usage.wake();
      if (type !== "modified") changed();
    },
  });
  const pools = kube.watch({ kind: storageKinds.cephBlockPool, project: readCephPool, handle: changed });
  const filesystems = kube.watch({
    kind: storageKinds.cephFilesystem,
    project: readCephFilesystem,
    handle: changed,
  });
  const toolboxes = kube.watch({
    kind: kinds.pod,
    labelSelector: toolboxSelector,
    project: readToolbox,
    handle: () => usage.wake(),
  });

  function* namespaces(): Generator<string> {
    for (const storageClass of classes()) {
      const clusterId = wordOf(storageClass.parameters["clusterID"]);
      const ours = driverOf(storageClass) === "ceph" && clusterId !== undefined;
      const cluster = ours ? clusterOf([...clusters.list()], clusterId) : undefined;
      if (cluster) yield cluster.namespace;
    }
  }

  function toolbox(namespace: string): Toolbox {
    const pods = [...toolboxes.list()].filter((pod) => pod.ready && pod.namespace === namespace);
    const [first] = pods.sort((a, b) => (a.name < b.name ? -1 : 1));
    if (first) return first;
    throw new Error(waitingFor({ "toolbox pods": toolboxes }) ?? "no toolbox pod is ready there");
  }

  const usage = createCephUsage({ kube, clock, log, namespaces, toolbox, changed });
  const needed = { "the clusters of Rook": clusters };
  return {
    needed,
    caches: {
      ...needed,
      "the block pools of Rook": pools,
      "the filesystems of Rook": filesystems,
      "toolbox pods": toolboxes,
    },
    inventory: (storageClass: StorageClass, volumes: VolumeSums, sold: readonly StorageClass[]) =>
      cephInventory(storageClass, {
        clusters: [...clusters.list()],
        pools: [...pools.list(), ...[...filesystems.list()].flat()],
        reading: usage.of,
        volumes,
        sold,
      }),
    /** A class or a volume came or went: looks soon instead of at the next turn. */
    wake: usage.wake,
    get failures() {
      return usage.counts.failed;
    },
    async close(): Promise<void> {
      await Promise.all([clusters, pools, filesystems, toolboxes, usage].map((each) => each.close()));
    },
  };
}
