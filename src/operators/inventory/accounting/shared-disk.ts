/**
 * A node's disk, of which pods take ephemeral storage and local-path makes folders for its volumes. The scheduler knows
 * nothing of the folders, so what is not kept apart here is sold both ways.
 */
import { formatBytes } from "../../../market/quantity.ts";
import type { Amounts } from "../inventory.ts";

export interface DiskUse {
  /** What volumes of local-path hold, of whatever class. */
  readonly volumesBytes: bigint;
  /** How many classes of it are sold on this node. */
  readonly classes: number;
}

export const noVolumesOnDisk: DiskUse = { volumesBytes: 0n, classes: 0 };

export interface SharedDisk {
  /** Of ephemeral storage. What is free of it is also what each class is offered of this disk. */
  readonly amounts: Amounts;
  /** The evidence, where volumes and pods together hold more than there is. */
  readonly debt: string | undefined;
}

export function sharedDisk(whole: Amounts, { volumesBytes, classes }: DiskUse): SharedDisk {
  const { capacity, allocatable, allocated } = whole;
  const left = allocatable - allocated - volumesBytes;
  if (left >= 0n) {
    const part = left / BigInt(1 + classes);
    return { amounts: { capacity, allocatable: allocated + part, allocated }, debt: undefined };
  }
  // Without volumes it is the pods that hold too much, which their sum shows.
  if (volumesBytes === 0n) return { amounts: whole, debt: undefined };
  const besideVolumes = allocatable > volumesBytes ? allocatable - volumesBytes : 0n;
  return {
    amounts: { capacity, allocatable: besideVolumes, allocated },
    debt: `disk: pods hold ${formatBytes(allocated)} and local-path volumes ${formatBytes(volumesBytes)} of its ${formatBytes(allocatable)}`,
  };
}
