/** Measured use of nodes, where the cluster has a metrics API, which cannot be watched. */
import { isDeepStrictEqual } from "node:util";
import { fieldsOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { sleep } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { readAmounts, wholeResources } from "../accounting/resources.ts";
import type { NodeInventory } from "../inventory.ts";

/** The metrics API itself measures every 15 s or slower. */
export const inventoryUsagePeriodMs = 30 * second;

type MeasuredUsage = NonNullable<NodeInventory["usage"]>;

interface UsageReadingsDeps extends Pick<OperatorDeps, "clock"> {
  readonly kube: Pick<OperatorDeps["kube"], "list">;
  readonly onChange: (node: string) => void;
}

export type UsageReadings = ReturnType<typeof createUsageReadings>;

export function createUsageReadings({ kube, clock, onChange }: UsageReadingsDeps) {
  let readings: ReadonlyMap<string, MeasuredUsage> = new Map();

  async function read(signal: AbortSignal): Promise<typeof readings> {
    const metrics = await kube.list(kinds.nodeMetrics, { signal });
    const usages = metrics.map((each) => [each.metadata.name, measuredUsage(each)] as const);
    return new Map(usages.flatMap(([name, usage]) => (usage ? [[name, usage]] : [])));
  }

  return {
    of: (node: string) => readings.get(node),
    async run(signal: AbortSignal): Promise<never> {
      for (;;) {
        const before = readings;
        // Most clusters without the API never get it; an old measurement is worthless.
        readings = await read(signal).catch(() => new Map());
        for (const node of new Set([...before.keys(), ...readings.keys()]))
          if (!isDeepStrictEqual(before.get(node), readings.get(node))) onChange(node);
        await sleep(clock, inventoryUsagePeriodMs, signal);
      }
    },
  };
}

/** Undefined where it is incomplete or invalid. */
export function measuredUsage(metrics: KubeObject): MeasuredUsage | undefined {
  const usage = fieldsOf(metrics["usage"]);
  if (usage["cpu"] === undefined || usage["memory"] === undefined) return undefined;
  const problems: string[] = [];
  const { cpuMilli, memoryBytes } = wholeResources(
    readAmounts(usage, "usage", (problem) => void problems.push(problem)),
  );
  return problems.length === 0 ? { cpuMilli, memoryBytes } : undefined;
}
