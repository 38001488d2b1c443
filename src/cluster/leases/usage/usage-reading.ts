/**
 * What pods use right now, where the cluster has a metrics API. It is asked when somebody asks us, in one request for all
 * leases; nothing asks it by itself.
 */
import { add, type ExactAmounts, wholeAmount } from "../../../kube/exact-amounts.ts";
import { fieldsOf, recordsOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../../kube/kube.ts";
import { managedSelector } from "../../../kube/objects/lease-labels.ts";
import { parseQuantity } from "../../../market/quantity.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";

/** Whoever asks for leases waits no longer than this for what they use: it is shown beside, the rest is what was asked for. */
export const usageAnswerMs = 2 * second;
/** The metrics API measures every 15 seconds or less often: within this, who asks again gets the same answer. */
export const usageKeptMs = 5 * second;

export interface Used {
  /** In 10⁻⁹ths of a core, as it is measured. */
  readonly cpuNano: bigint;
  readonly memoryBytes: bigint;
  /** Most metrics APIs do not know it. */
  readonly storageBytes?: bigint;
}

/** "not measured": nothing of the lease runs, or it began to only just now. */
export type UsageUnknown = "not measured" | "no metrics API" | "forbidden" | "no answer";

/** By namespace; or why nothing is known. */
export type UsageReading =
  | { readonly used: ReadonlyMap<string, Used> }
  | { readonly unknown: Exclude<UsageUnknown, "not measured"> };

interface UsageDeps {
  readonly kube: Pick<Kube, "list">;
  readonly clock: Clock;
  readonly log: Log;
}

/** What it returns resolves in good time, whatever the metrics API does. */
export function createUsageReading({ kube, clock, log }: UsageDeps): () => Promise<UsageReading> {
  let last: { readonly atMs: number; readonly reading: Promise<UsageReading> } | undefined;

  async function read(): Promise<UsageReading> {
    const asked = { labelSelector: managedSelector, deadlineMs: usageAnswerMs };
    try {
      return { used: usedByNamespace(await kube.list(kinds.podMetrics, asked)) };
    } catch (thrown) {
      const unknown = whyUnknown(thrown);
      // That there is none is how most clusters are.
      if (unknown !== "no metrics API") log.warn("usage of leases not known", { reason: reasonOf(thrown) });
      return { unknown };
    }
  }

  return () => {
    const nowMs = clock.monotonicMs();
    if (!last || nowMs - last.atMs >= usageKeptMs) last = { atMs: nowMs, reading: read() };
    return last.reading;
  };
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
  const used = new Map<string, Used>();
  for (const [namespace, sum] of sums) if (sum !== "unreadable") used.set(namespace, usedOf(sum));
  return used;
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

function usedOf(sum: ExactAmounts): Used {
  const disk = sum.get("ephemeral-storage");
  return {
    cpuNano: sum.get("cpu") ?? 0n,
    memoryBytes: wholeAmount("memory", sum.get("memory") ?? 0n),
    ...(disk !== undefined && { storageBytes: wholeAmount("ephemeral-storage", disk) }),
  };
}
