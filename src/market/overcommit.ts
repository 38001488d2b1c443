/** What is sold beyond what the nodes have, and how much is set aside for what was asked. */

/** In per cent. Gpus and persistent volumes are never sold twice. */
export interface Overcommit {
  readonly cpuPercent: number;
  readonly memoryPercent: number;
  readonly storagePercent: number;
}

export const noOvercommit: Overcommit = { cpuPercent: 0, memoryPercent: 0, storagePercent: 0 };

/**
 * Of 100 + percent sold, 100 are there. Rounded to the nearest, as the network's providers do: a pod's request tells to
 * which unit it belongs, also where another provider made the pod. Whoever asks for something gets something.
 */
export function committed(asked: bigint, percent: number): bigint {
  const sold = 100n + BigInt(percent);
  const nearest = (asked * 200n + sold) / (sold * 2n);
  return nearest === 0n && asked > 0n ? 1n : nearest;
}
