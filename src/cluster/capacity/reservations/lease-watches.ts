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
import { podFacts } from "../../health/pod-health.ts";

type LeaseWatch<T extends { readonly namespace: string }> = ReturnType<typeof createLeaseWatch<T>>;

function createLeaseWatch<T extends { readonly namespace: string }>(
  kube: Pick<Kube, "watch">,
  kind: Kind,
  project: (object: KubeObject) => T,
) {
  const listeners: ((change: Change<T>) => void)[] = [];
  let cache: WatchCache<T, "lease"> | undefined;
  return {
    /** Called before it is opened; then every listener gets all existing objects. */
    onChange: (listener: (change: Change<T>) => void) => void listeners.push(listener),
    /** In the namespace of a lease. */
    in: (namespace: string): Iterable<T> => cache?.by("lease", namespace) ?? [],
    list: (): Iterable<T> => cache?.list() ?? [],
    /** Undefined until it is opened. */
    get cache(): WatchCache<T> | undefined {
      return cache;
    },
    /** Resolves when the cache is synced. */
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

export type LeasePod = ReturnType<typeof projectLeasePod>;
export type PodRequests = ReturnType<typeof requestsOf>;
export type LeasePods = LeaseWatch<LeasePod>;

export function createLeasePods(kube: Pick<Kube, "watch">): LeasePods {
  return createLeaseWatch(kube, kinds.pod, projectLeasePod);
}

export function projectLeasePod(pod: KubeObject) {
  const { name, namespace = "", uid = `${namespace}/${name}`, resourceVersion: version = "" } = pod.metadata;
  const { phase, conditions } = fieldsOf(pod["status"]);
  const hasEnded = phase === "Succeeded" || phase === "Failed" || pod.metadata.deletionTimestamp !== undefined;
  const bound = textOf(fieldsOf(pod["spec"])["nodeName"]) || undefined;
  const scheduled = recordsOf(conditions).find(({ type, status }) => type === "PodScheduled" && status === "True");
  const boundAtMs = parseTime(textOf(scheduled?.["lastTransitionTime"]) ?? "");
  return {
    ...{ uid, name, namespace, version },
    /** Undefined before it is bound, when it has finished, and while it terminates: its successor needs room beside it. */
    node: hasEnded ? undefined : bound,
    /** By the clock of the cluster; undefined where it is not reported. */
    boundAtMs: Number.isNaN(boundAtMs) ? undefined : boundAtMs,
    requests: requestsOf(pod),
    facts: podFacts(pod),
    /** How often its container was started. */
    runs: runsOf(pod),
  };
}

/** Of the container with the service's name: a webhook may have added others. */
function runsOf(pod: KubeObject): number {
  const service = pod.metadata.labels?.[serviceLabel];
  const own = recordsOf(fieldsOf(pod["status"])["containerStatuses"]).find(({ name }) => name === service);
  if (!own) return 0;
  const [state, before] = [fieldsOf(own["state"]), fieldsOf(own["lastState"])];
  const hasBegun = state["running"] ?? state["terminated"] ?? before["terminated"];
  return Number(own["restartCount"] ?? 0) + (hasBegun ? 1 : 0);
}

/** They distinguish a pod from those of other units. */
function requestsOf(pod: KubeObject) {
  const amounts = podRequests(pod, readAmounts);
  const volumes = recordsOf(fieldsOf(pod["spec"])["volumes"]);
  const whole = (resource: string) => wholeAmount(resource, amounts.get(resource) ?? 0n);
  return {
    cpuMilli: whole("cpu"),
    memoryBytes: whole("memory"),
    gpus: whole("nvidia.com/gpu") + whole("amd.com/gpu"),
    /** Persistent volumes that it mounts. */
    volumes: BigInt(volumes.filter((volume) => volume["persistentVolumeClaim"] !== undefined).length),
  };
}

/** An unreadable amount counts as nothing: the pod then matches the smallest free replica. */
const readAmounts: ReadAmounts = (list) =>
  new Map(
    Object.entries(fieldsOf(list)).map(([resource, value]) => {
      return [resource, readable(() => parseQuantity(String(value)).nano) ?? 0n];
    }),
  );

export interface LeaseClaim extends ClaimFacts {
  readonly uid: string;
  readonly namespace: string;
  /** Undefined while it has no volume. */
  readonly bytes: bigint | undefined;
  readonly version: string;
}

export type LeaseClaims = LeaseWatch<LeaseClaim>;

export function createLeaseClaims(kube: Pick<Kube, "watch">): LeaseClaims {
  return createLeaseWatch(kube, kinds.persistentVolumeClaim, projectLeaseClaim);
}

function projectLeaseClaim({ metadata, ...claim }: KubeObject): LeaseClaim {
  const { name, namespace = "", uid = `${namespace}/${name}`, resourceVersion: version = "", labels } = metadata;
  const [spec, status] = [fieldsOf(claim["spec"]), fieldsOf(claim["status"])];
  const phase = textOf(status["phase"]) ?? "Pending";
  // The volume may be larger than requested; then the capacity says so.
  const size = fieldsOf(status["capacity"])["storage"] ?? fieldsOf(fieldsOf(spec["resources"])["requests"])["storage"];
  return {
    ...{ uid, namespace, version, phase },
    service: labels?.[serviceLabel] ?? "",
    storageClass: textOf(spec["storageClassName"]),
    // An unreadable size counts as no volume, so that its room stays reserved.
    bytes: phase === "Bound" ? readable(() => parseBytes(String(size))) : undefined,
  };
}
