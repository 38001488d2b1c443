/** Volumes attached to a node, and how many more its drivers would take. */
import { fieldsOf, listOf, recordsOf, textOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import type { Amounts } from "../inventory.ts";

export type VolumesByDriver = ReadonlyMap<string, bigint>;

export const noVolumes: VolumesByDriver = new Map();

/** How many volumes each driver takes on a node, from its CSINode. A driver that names no number is not in it. */
export function volumeLimits(csiNode: KubeObject): VolumesByDriver {
  const limits = new Map<string, bigint>();
  for (const driver of recordsOf(fieldsOf(csiNode["spec"])["drivers"])) {
    const name = textOf(driver["name"]);
    const count = fieldsOf(driver["allocatable"])["count"];
    if (name !== undefined && Number.isSafeInteger(count) && Number(count) >= 0)
      limits.set(name, BigInt(Number(count)));
  }
  return limits;
}

/** From `status.volumesAttached`, where a volume is called "kubernetes.io/csi/rbd.csi.ceph.com^handle". */
export function attachedVolumes(volumesAttached: unknown): VolumesByDriver {
  const volumes = listOf(volumesAttached);
  if (volumes.length === 0) return noVolumes;
  const attached = new Map<string, bigint>();
  for (const volume of volumes) {
    const name = textOf(fieldsOf(volume)["name"]) ?? "";
    const driver = /^kubernetes\.io\/csi\/([^^]+)\^/.exec(name)?.[1] ?? "";
    attached.set(driver, (attached.get(driver) ?? 0n) + 1n);
  }
  return attached;
}

/** A driver that names no limit promises nothing more than what it already holds, so it is full and never overbooked. */
export function volumeAmounts(attached: VolumesByDriver, limits: VolumesByDriver): Amounts {
  let capacity = 0n;
  let allocated = 0n;
  for (const limit of limits.values()) capacity += limit;
  for (const [driver, count] of attached) {
    allocated += count;
    if (!limits.has(driver)) capacity += count;
  }
  return { capacity, allocatable: capacity, allocated };
}
