/** Current usage of leases from the metrics API, beside the leased amounts. Read only on request. */

import type { MirrorView } from "../../chain/chain.ts";
import { fieldsOf, recordsOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../kube/kube.ts";
import { managedSelector } from "../../kube/objects/lease-labels.ts";
import { add, type ExactAmounts, wholeAmount } from "../../kube/pod-requests.ts";
import { type CountedUnit, ramClass, storageOf, totalOf } from "../../market/group-totals.ts";
import { parseLeaseId } from "../../market/ids.ts";
import { parseQuantity } from "../../market/quantity.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { memoizeFor } from "../../runtime/memoize.ts";
import { promisedUnits } from "../capacity/reservations/reservation.ts";

/** Deadline of the metrics API: usage is optional in an answer, which does not wait longer. */
export const usageAnswerMs = 2 * second;
/** How long a reading is shown again: the metrics API measures every 15 seconds or less often. */
export const usageKeptMs = 5 * second;

export type Used = ReturnType<typeof usedOf>;

/** "not measured": nothing of the lease runs, or it began to only just now. */
type UsageUnknown = "not measured" | "no metrics API" | "forbidden" | "no answer";

type UsageReading =
  | { readonly used: ReadonlyMap<string, Used> }
  | { readonly unknown: Exclude<UsageUnknown, "not measured"> };

export function createUsageReading(
  kube: Pick<Kube, "list">,
  { clock, log }: Pick<RuntimeDeps, "clock" | "log">,
): () => Promise<UsageReading> {
  async function read(): Promise<UsageReading> {
    const options = { labelSelector: managedSelector, deadlineMs: usageAnswerMs };
    try {
      return { used: usedByNamespace(await kube.list(kinds.podMetrics, options)) };
    } catch (thrown) {
      const unknown = whyUnknown(thrown);
      // That there is none is how most clusters are.
      if (unknown !== "no metrics API") log.warn("usage of leases not known", { reason: reasonOf(thrown) });
      return { unknown };
    }
  }

  return memoizeFor(usageKeptMs, clock, read);
}

function whyUnknown(thrown: unknown): Exclude<UsageUnknown, "not measured"> {
  if (ProviderError.is(thrown, "AKP_KUBE_KIND_MISSING")) return "no metrics API";
  return ProviderError.is(thrown, "AKP_KUBE_FORBIDDEN") ? "forbidden" : "no answer";
}

/** A namespace of which one figure makes no sense or is missing is left out: a sum without it would be a lie. */
export function usedByNamespace(pods: Iterable<KubeObject>): Map<string, Used> {
  const sums = new Map<string, Map<string, bigint> | "unreadable">();
  for (const pod of pods) {
    const { namespace = "" } = pod.metadata;
    const sum = sums.get(namespace) ?? new Map<string, bigint>();
    const amounts = amountsOf(pod);
    if (sum === "unreadable" || !amounts) sums.set(namespace, "unreadable");
    else {
      for (const each of amounts) add(sum, each);
      sums.set(namespace, sum);
    }
  }
  return new Map([...sums].flatMap(([namespace, sum]) => (sum === "unreadable" ? [] : [[namespace, usedOf(sum)]])));
}

/** Of each container, which must have both; a pod has at least one. No server checks what a metrics API says, so it may be anything. */
function amountsOf(pod: KubeObject): ExactAmounts[] | undefined {
  try {
    const containers = recordsOf(pod["containers"]).map(({ usage }) => {
      return new Map(Object.entries(fieldsOf(usage)).map(([name, value]) => [name, parseQuantity(String(value)).nano]));
    });
    return containers.length > 0 && containers.every(isWhole) ? containers : undefined;
  } catch (thrown) {
    if (!(thrown instanceof ProviderError)) throw thrown;
    return undefined;
  }
}

function isWhole(amounts: ExactAmounts): boolean {
  return amounts.has("cpu") && amounts.has("memory") && [...amounts.values()].every((nano) => nano >= 0n);
}

function usedOf(sum: ExactAmounts) {
  const disk = sum.get("ephemeral-storage");
  return {
    cpuNano: sum.get("cpu") ?? 0n,
    memoryBytes: wholeAmount("memory", sum.get("memory") ?? 0n),
    // Most metrics APIs do not know it.
    ...(disk !== undefined && { storageBytes: wholeAmount("ephemeral-storage", disk) }),
  };
}

export type LeaseUsage = ReturnType<typeof usageOf>;

/** `leased` is absent where the mirror does not know the lease any more. */
export function usageOf(
  lease: { readonly lease: string; readonly namespace: string },
  reading: UsageReading,
  mirror: Pick<MirrorView, "bid" | "deployment">,
) {
  const units = promisedUnits(mirror, parseLeaseId(lease.lease));
  const usage =
    "unknown" in reading ? reading : (reading.used.get(lease.namespace) ?? { unknown: "not measured" as const });
  return { ...(units && { leased: leasedIn(units) }), usage };
}

export type Leased = ReturnType<typeof leasedIn>;

/** What the tenant pays for by the chain. Memory includes the volumes in it, which count as memory of the pod. */
function leasedIn(units: readonly CountedUnit[]) {
  const storage = storageOf(units);
  const ramBytes = storage.get(ramClass) ?? 0n;
  return {
    cpuMilli: totalOf(units, ({ cpu }) => cpu.milli),
    memoryBytes: totalOf(units, ({ memory }) => memory.bytes) + ramBytes,
    storageBytes: [...storage.values()].reduce((sum, bytes) => sum + bytes, 0n) - ramBytes,
  };
}
