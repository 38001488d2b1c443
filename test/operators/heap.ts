import type { HeapProfiler } from "node:inspector";
import { Session } from "node:inspector/promises";

/** The bytes that the work allocates on the heap, also those that were collected meanwhile: sampled, within some percent. */
export async function allocatedBytes(work: () => unknown): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    await session.post("HeapProfiler.startSampling", {
      samplingInterval: 8_192,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await work();
    const { profile } = await session.post("HeapProfiler.stopSampling");
    return bytesOf(profile.head);
  } finally {
    session.disconnect();
  }
}

function bytesOf({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + bytesOf(child), selfSize);
}
