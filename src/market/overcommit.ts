/** What is sold beyond what the nodes have, and how much is set aside for what was asked. */

/** In percent. GPUs and persistent volumes are never sold twice. */
export interface Overcommit {
  readonly cpuPercent: number;
  readonly memoryPercent: number;
  readonly storagePercent: number;
  /** Disk of a node for a replica that asks for none. */
  readonly defaultDiskBytes: bigint;
}

export const noOvercommit: Overcommit = {
  ...{ cpuPercent: 0, memoryPercent: 0, storagePercent: 0 },
  defaultDiskBytes: 1024n ** 3n,
};

/** Nothing besides what is asked for. */
export const asAsked: Overcommit = { ...noOvercommit, defaultDiskBytes: 0n };

/** What a replica may fill of its node's disk: what it asks for or, as its container writes a log and files all the same, the default. */
export function diskBytesOf(asked: bigint, { defaultDiskBytes }: Overcommit): bigint {
  return asked > 0n ? asked : defaultDiskBytes;
}

/**
 * Of 100 + percent sold, 100 are there. Rounded to the nearest, as the network's providers do: a pod's request tells to
 * which unit it belongs, also where another provider made the pod. Whoever asks for something gets something.
 */
export function committed(asked: bigint, percent: number): bigint {
  const sold = 100n + BigInt(percent);
  const nearest = (asked * 200n + sold) / (sold * 2n);
  return nearest === 0n && asked > 0n ? 1n : nearest;
}
