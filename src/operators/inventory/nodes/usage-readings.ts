/** What nodes use right now, where the cluster has a metrics API. It cannot be watched, so it is read again and again. */
import { fieldsOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../../kube/kube.ts";
import { sleep } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { readAmounts, wholeResources } from "../accounting/resources.ts";
import type { NodeInventory } from "../inventory.ts";

/** The metrics API itself measures every 15 s or slower. */
export const inventoryUsagePeriodMs = 30 * second;

type MeasuredUsage = NonNullable<NodeInventory["usage"]>;

interface UsageReadingsDeps extends Pick<OperatorDeps, "clock"> {
  readonly kube: Pick<Kube, "list">;
  readonly onChange: (node: string) => void;
}

export type UsageReadings = ReturnType<typeof createUsageReadings>;

export function createUsageReadings({ kube, clock, onChange }: UsageReadingsDeps) {
  let readings: ReadonlyMap<string, MeasuredUsage> = new Map();

  async function read(signal: AbortSignal): Promise<ReadonlyMap<string, MeasuredUsage>> {
    const found = new Map<string, MeasuredUsage>();
    for (const metrics of await kube.list(kinds.nodeMetrics, { signal })) {
      const usage = measuredUsage(metrics);
      if (usage) found.set(metrics.metadata.name, usage);
    }
    return found;
  }

  return {
    of: (node: string) => readings.get(node),
    async run(signal: AbortSignal): Promise<never> {
      for (;;) {
        const before = readings;
        // Most clusters without it never get it; an old measurement says nothing about now.
        readings = await read(signal).catch(() => new Map<string, MeasuredUsage>());
        for (const node of new Set([...before.keys(), ...readings.keys()])) {
          if (!same(before.get(node), readings.get(node))) onChange(node);
        }
        await sleep(clock, inventoryUsagePeriodMs, signal);
      }
    },
  };
}

function same(a: MeasuredUsage | undefined, b: MeasuredUsage | undefined): boolean {
  return a?.cpuMilli === b?.cpuMilli && a?.memoryBytes === b?.memoryBytes;
}

/** Undefined where the measurement is incomplete or makes no sense: it is shown beside the allocation, never instead. */
export function measuredUsage(metrics: KubeObject): MeasuredUsage | undefined {
  const usage = fieldsOf(metrics["usage"]);
  if (usage["cpu"] === undefined || usage["memory"] === undefined) return undefined;
  let readable = true;
  const amounts = readAmounts(usage, "usage", () => {
    readable = false;
  });
  const { cpuMilli, memoryBytes } = wholeResources(amounts);
  return readable ? { cpuMilli, memoryBytes } : undefined;
}
