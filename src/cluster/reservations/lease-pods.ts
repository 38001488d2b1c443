/**
 * The pods of our leases, watched once for all who need them: the reservations (whose they are, where, and how much they ask
 * for) and health (how they are doing).
 */
import { type ReadAmounts, wholeAmount } from "../../kube/exact-amounts.ts";
import { fieldsOf, recordsOf, textOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Change, Kube, KubeObject, WatchCache } from "../../kube/kube.ts";
import { managedSelector } from "../../kube/objects/lease-labels.ts";
import { podRequests } from "../../kube/pod-requests.ts";
import { parseQuantity } from "../../market/quantity.ts";
import { parseTime } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import { type PodFacts, podFacts } from "../health/pod-facts.ts";

export interface LeasePod {
  readonly uid: string;
  /** The lease's. */
  readonly namespace: string;
  /**
   * Where it runs; undefined before it is bound, once it has finished, and as soon as it is on its way out: its successor
   * needs room beside it.
   */
  readonly node: string | undefined;
  /** When it was bound, by the clock of the cluster; undefined where that is not told. */
  readonly boundAtMs: number | undefined;
  readonly requests: PodRequests;
  /** Of the object when it was seen like this. */
  readonly version: string;
  /** How it is doing. */
  readonly facts: PodFacts;
}

/** By these a pod is told from those of another unit. */
export interface PodRequests {
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly gpus: bigint;
  /** How many persistent ones it mounts. */
  readonly volumes: bigint;
}

export type LeasePods = ReturnType<typeof createLeasePods>;

export function createLeasePods(kube: Pick<Kube, "watch">) {
  const listeners: ((change: Change<LeasePod>) => void)[] = [];
  let cache: WatchCache<LeasePod, "lease"> | undefined;
  return {
    /** Before it is opened; then everybody is told of everything. */
    onChange: (listener: (change: Change<LeasePod>) => void) => void listeners.push(listener),
    /** In the namespace of a lease. */
    in: (namespace: string): Iterable<LeasePod> => cache?.by("lease", namespace) ?? [],
    list: (): Iterable<LeasePod> => cache?.list() ?? [],
    /** Undefined until it is opened. */
    get cache(): WatchCache<LeasePod> | undefined {
      return cache;
    },
    /** Resolves when it is known what runs. */
    async open({ signal, onStop }: Pick<Scope, "signal" | "onStop">): Promise<void> {
      const opened = kube.watch<LeasePod, "lease">({
        kind: kinds.pod,
        labelSelector: managedSelector,
        indexes: { lease: ({ namespace }: LeasePod) => namespace },
        project: projectLeasePod,
        handle(change) {
          for (const listener of listeners) listener(change);
        },
      });
      cache = opened;
      onStop(() => opened.close());
      await opened.synced(signal);
    },
  };
}

export function projectLeasePod(pod: KubeObject): LeasePod {
  const { name, namespace = "", uid, resourceVersion, deletionTimestamp } = pod.metadata;
  const phase = fieldsOf(pod["status"])["phase"];
  const hasEnded = phase === "Succeeded" || phase === "Failed" || deletionTimestamp !== undefined;
  const bound = textOf(fieldsOf(pod["spec"])["nodeName"]) || undefined;
  return {
    uid: uid ?? `${namespace}/${name}`,
    namespace,
    node: hasEnded ? undefined : bound,
    boundAtMs: boundAt(pod),
    requests: requestsOf(pod),
    version: resourceVersion ?? "",
    facts: podFacts(pod),
  };
}

function boundAt(pod: KubeObject): number | undefined {
  const conditions = recordsOf(fieldsOf(pod["status"])["conditions"]);
  const scheduled = conditions.find(({ type, status }) => type === "PodScheduled" && status === "True");
  const atMs = parseTime(textOf(scheduled?.["lastTransitionTime"]) ?? "");
  return Number.isNaN(atMs) ? undefined : atMs;
}

function requestsOf(pod: KubeObject): PodRequests {
  const amounts = podRequests(pod, readAmounts);
  const volumes = recordsOf(fieldsOf(pod["spec"])["volumes"]);
  const whole = (resource: string) => wholeAmount(resource, amounts.get(resource) ?? 0n);
  return {
    cpuMilli: whole("cpu"),
    memoryBytes: whole("memory"),
    gpus: whole("nvidia.com/gpu") + whole("amd.com/gpu"),
    volumes: BigInt(volumes.filter((volume) => volume["persistentVolumeClaim"] !== undefined).length),
  };
}

/** What cannot be read counts as nothing: the pod then stands for the smallest replica that none stands for yet. */
const readAmounts: ReadAmounts = (list) => {
  const amounts = new Map<string, bigint>();
  for (const [resource, value] of Object.entries(fieldsOf(list))) {
    try {
      amounts.set(resource, parseQuantity(String(value)).nano);
    } catch (thrown) {
      if (!(thrown instanceof ProviderError)) throw thrown;
    }
  }
  return amounts;
};
