/** Pods and volume claims of our leases, each watched once for the reservations, for health and for tenants. */
import { fieldsOf, recordsOf, textOf } from "../../../kube/json-fields.ts";
import { type Kind, kinds } from "../../../kube/kinds.ts";
import type { Change, Kube, KubeObject, WatchCache } from "../../../kube/kube.ts";
import { managedSelector, serviceLabel } from "../../../kube/objects/lease-labels.ts";
import { podRequests, type ReadAmounts, wholeAmount } from "../../../kube/pod-requests.ts";
import { parseBytes, parseQuantity } from "../../../market/quantity.ts";
import { parseTime } from "../../../runtime/clock.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { Scope } from "../../../runtime/lifecycle.ts";
import type { ClaimFacts } from "../../health/judge.ts";
import { type PodFacts, podFacts } from "../../health/pod-health.ts";

type LeaseWatch<T extends { readonly namespace: string }> = ReturnType<typeof createLeaseWatch<T>>;

function createLeaseWatch<T extends { readonly namespace: string }>(
  kube: Pick<Kube, "watch">,
  kind: Kind,
  project: (object: KubeObject) => T,
) {
  const listeners: ((change: Change<T>) => void)[] = [];
  let cache: WatchCache<T, "lease"> | undefined;
  return {
    /** Before it is opened; then every listener gets all that there is. */
    onChange: (listener: (change: Change<T>) => void) => void listeners.push(listener),
    /** In the namespace of a lease. */
    in: (namespace: string): Iterable<T> => cache?.by("lease", namespace) ?? [],
    list: (): Iterable<T> => cache?.list() ?? [],
    /** Undefined until it is opened. */
    get cache(): WatchCache<T> | undefined {
      return cache;
    },
    /** Resolves when it is known what there is. */
    async open({ signal, onStop }: Pick<Scope, "signal" | "onStop">): Promise<void> {
      const opened = kube.watch<T, "lease">({
        kind,
        labelSelector: managedSelector,
        indexes: { lease: ({ namespace }: T) => namespace },
        project,
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

/** Undefined for a quantity that cannot be read. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof ProviderError)) throw thrown;
    return undefined;
  }
}

export interface LeasePod {
  readonly uid: string;
  readonly name: string;
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
  /** How often its container was started. */
  readonly runs: number;
}

/** By these a pod is told from those of another unit. */
export interface PodRequests {
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly gpus: bigint;
  /** How many persistent ones it mounts. */
  readonly volumes: bigint;
}

export type LeasePods = LeaseWatch<LeasePod>;

export function createLeasePods(kube: Pick<Kube, "watch">): LeasePods {
  return createLeaseWatch(kube, kinds.pod, projectLeasePod);
}

export function projectLeasePod(pod: KubeObject): LeasePod {
  const { name, namespace = "", uid, resourceVersion, deletionTimestamp } = pod.metadata;
  const phase = fieldsOf(pod["status"])["phase"];
  const hasEnded = phase === "Succeeded" || phase === "Failed" || deletionTimestamp !== undefined;
  const bound = textOf(fieldsOf(pod["spec"])["nodeName"]) || undefined;
  return {
    uid: uid ?? `${namespace}/${name}`,
    name,
    namespace,
    node: hasEnded ? undefined : bound,
    boundAtMs: boundAt(pod),
    requests: requestsOf(pod),
    version: resourceVersion ?? "",
    facts: podFacts(pod),
    runs: runsOf(pod),
  };
}

/** Of the container with the service's name: others may have been put beside it. */
function runsOf(pod: KubeObject): number {
  const service = pod.metadata.labels?.[serviceLabel];
  const own = recordsOf(fieldsOf(pod["status"])["containerStatuses"]).find(({ name }) => name === service);
  if (!own) return 0;
  const [state, before] = [fieldsOf(own["state"]), fieldsOf(own["lastState"])];
  const hasBegun = state["running"] ?? state["terminated"] ?? before["terminated"];
  return Number(own["restartCount"] ?? 0) + (hasBegun ? 1 : 0);
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
  const read = Object.entries(fieldsOf(list)).map(([resource, value]) => {
    return [resource, readable(() => parseQuantity(String(value)).nano) ?? 0n] as const;
  });
  return new Map(read);
};

export interface LeaseClaim extends ClaimFacts {
  readonly uid: string;
  /** The lease's. */
  readonly namespace: string;
  /** What its volume takes; undefined while it has none. */
  readonly bytes: bigint | undefined;
  /** Of the object when it was seen like this. */
  readonly version: string;
}

export type LeaseClaims = LeaseWatch<LeaseClaim>;

export function createLeaseClaims(kube: Pick<Kube, "watch">): LeaseClaims {
  return createLeaseWatch(kube, kinds.persistentVolumeClaim, projectLeaseClaim);
}

function projectLeaseClaim(claim: KubeObject): LeaseClaim {
  const { name, namespace = "", uid, resourceVersion, labels } = claim.metadata;
  const [spec, status] = [fieldsOf(claim["spec"]), fieldsOf(claim["status"])];
  const phase = textOf(status["phase"]) ?? "Pending";
  // A volume may be larger than what was asked for, and the claim says so once it has it.
  const size = fieldsOf(status["capacity"])["storage"] ?? fieldsOf(fieldsOf(spec["resources"])["requests"])["storage"];
  return {
    uid: uid ?? `${namespace}/${name}`,
    namespace,
    service: labels?.[serviceLabel] ?? "",
    storageClass: textOf(spec["storageClassName"]),
    phase,
    // Without a size it is as if it were not there: then more is kept than needed, and nothing is sold twice.
    bytes: phase === "Bound" ? readable(() => parseBytes(String(size))) : undefined,
    version: resourceVersion ?? "",
  };
}
