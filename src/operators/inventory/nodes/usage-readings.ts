/** What nodes use right now, where the cluster has a metrics API. It cannot be watched, so it is read again and again. */
import { kinds } from "../../../kube/kinds.ts";
import type { Kube } from "../../../kube/kube.ts";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { limits } from "../../../runtime/limits.ts";
import { type NodeUsage, nodeUsage } from "../accounting/node-usage.ts";

export interface UsageReadings {
  of(node: string): NodeUsage | undefined;
  run(signal: AbortSignal): Promise<void>;
}

export interface UsageReadingsDeps {
  readonly kube: Pick<Kube, "list">;
  readonly clock: Clock;
  readonly onChange: (node: string) => void;
}

export function createUsageReadings({ kube, clock, onChange }: UsageReadingsDeps): UsageReadings {
  let readings: ReadonlyMap<string, NodeUsage> = new Map();

  async function read(signal: AbortSignal): Promise<ReadonlyMap<string, NodeUsage>> {
    const found = new Map<string, NodeUsage>();
    for (const metrics of await kube.list(kinds.nodeMetrics, { signal })) {
      const usage = nodeUsage(metrics);
      if (usage) found.set(metrics.metadata.name, usage);
    }
    return found;
  }

  return {
    of: (node) => readings.get(node),
    async run(signal) {
      for (;;) {
        const before = readings;
        // Most clusters without it never get it; an old measurement says nothing about now.
        readings = await read(signal).catch(() => new Map<string, NodeUsage>());
        for (const node of new Set([...before.keys(), ...readings.keys()])) {
          if (!same(before.get(node), readings.get(node))) onChange(node);
        }
        await sleep(clock, limits.inventoryUsagePeriodMs, signal);
      }
    },
  };
}

function same(a: NodeUsage | undefined, b: NodeUsage | undefined): boolean {
  return a?.cpuMilli === b?.cpuMilli && a?.memoryBytes === b?.memoryBytes;
}
