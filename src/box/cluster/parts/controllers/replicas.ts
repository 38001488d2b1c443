/**
 * Deployments, replica sets and stateful sets: as many pods of a template as asked for. A deployment looks after its pods
 * itself, without replica sets between them; one pod of an old template goes for each new one that works.
 */
import { isDeepStrictEqual } from "node:util";
import { type Kind, kinds } from "../../../../kube/kinds.ts";
import { ProviderError } from "../../../../runtime/errors.ts";
import { hashText, randomSuffix } from "../names.ts";
import { type Ground, managers, type Part, sooner } from "../part.ts";
import {
  atOf,
  byAge,
  controllerOf,
  controllerReference,
  isDeleting,
  keyOf,
  withCondition,
} from "../shapes/metadata.ts";
import { availableInMs, isActive, isFinished, isReady, type Pod, type PodSpec, type Volume } from "../shapes/pod.ts";
import { stampOf } from "../shapes/time.ts";
import type { Workload } from "../shapes/workload.ts";

/** Under which label a pod says of which template it is. A replica set leaves the pods that it has as they are. */
const hashLabels = new Map<Kind, string>([
  [kinds.deployment, "pod-template-hash"],
  [kinds.statefulSet, "controller-revision-hash"],
]);

/** When a pod that was refused is tried again. */
const refusedAgainMs = 5_000;

export function createReplicas(ground: Ground, kind: Kind): Part {
  const { server, view, clock, random, events } = ground;
  const hashLabel = hashLabels.get(kind);

  function work(key: string): number | undefined {
    const set = view.get<Workload>(kind, atOf(key));
    if (!set) return undefined;
    let againMs: number | undefined;
    if (!isDeleting(set) && view.isOpen(set.metadata.namespace ?? "")) {
      try {
        if (kind === kinds.statefulSet) keepInOrder(set);
        else keepCount(set);
      } catch (thrown) {
        if (!(thrown instanceof ProviderError)) throw thrown;
        tell(set, "Warning", "FailedCreate", `Error creating: ${thrown.details["reason"]}`);
        againMs = refusedAgainMs;
      }
    }
    return sooner(againMs, writeStatus(set));
  }

  const podsOf = ({ metadata }: Workload) => view.owned<Pod>(kinds.pod, metadata.uid);

  /** Of the template that is wished for now. */
  function isFresh({ spec }: Workload, { metadata }: Pod): boolean {
    return hashLabel === undefined || metadata.labels?.[hashLabel] === hashText(spec.template);
  }

  function keepCount(set: Workload): void {
    const { replicas = 1, strategy } = set.spec;
    const living = podsOf(set).filter(isActive).sort(dispensableFirst);
    const fresh = living.filter((pod) => isFresh(set, pod));
    const stale = living.filter((pod) => !fresh.includes(pod));
    if (strategy?.type === "Recreate") {
      for (const pod of stale) unmake(set, pod);
      if (podsOf(set).some((pod) => !isFinished(pod) && !isFresh(set, pod))) return;
    }
    // One more than asked for, while there are old ones.
    const room = stale.length === 0 ? replicas : replicas + 1 - living.length;
    for (let n = 0; n < Math.min(replicas - fresh.length, room); n++) makeNamed(set);
    const spare = fresh.filter(isReady).length + stale.length - replicas;
    for (const pod of stale.slice(0, Math.max(0, spare))) unmake(set, pod);
    for (const pod of fresh.slice(0, Math.max(0, fresh.length - replicas))) unmake(set, pod);
  }

  function makeNamed(set: Workload): void {
    const hash = hashText(set.spec.template);
    const generateName = `${set.metadata.name}-${hashLabel === undefined ? "" : `${hash}-`}`;
    const labels = hashLabel === undefined ? {} : { [hashLabel]: hash };
    make(set, `${generateName}${randomSuffix(random)}`, labels, {});
  }

  /** The first one first, and the next one when it works; from the last one back where some are to go. */
  function keepInOrder(set: Workload): void {
    const { replicas = 1, podManagementPolicy } = set.spec;
    const inOrder = podManagementPolicy !== "Parallel";
    const pods = new Map(podsOf(set).map((pod) => [pod.metadata.name, pod]));
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const pod = pods.get(`${set.metadata.name}-${ordinal}`);
      if (!pod) makeOrdinal(set, ordinal);
      else if (isFinished(pod) && !isDeleting(pod)) unmake(set, pod);
      if (inOrder && !(pod && isActive(pod) && isReady(pod))) return;
    }
    const ordinalOf = ({ metadata }: Pod) => Number(metadata.name.slice(set.metadata.name.length + 1));
    const last = [...pods.values()]
      .filter((pod) => ordinalOf(pod) >= replicas || !isFresh(set, pod))
      .sort((a, b) => ordinalOf(b) - ordinalOf(a))[0];
    if (last && !isDeleting(last)) unmake(set, last);
  }

  function makeOrdinal(set: Workload, ordinal: number): void {
    const { template, volumeClaimTemplates = [], serviceName } = set.spec;
    const name = `${set.metadata.name}-${ordinal}`;
    const own = volumeClaimTemplates.map(({ metadata }): Volume => {
      return { name: metadata.name, persistentVolumeClaim: { claimName: `${metadata.name}-${name}` } };
    });
    makeClaims(set, name);
    const kept = (template.spec.volumes ?? []).filter((volume) => !own.some((each) => each.name === volume.name));
    const labels = {
      "controller-revision-hash": hashText(template),
      "statefulset.kubernetes.io/pod-name": name,
      "apps.kubernetes.io/pod-index": String(ordinal),
    };
    const volumes = own.length + kept.length > 0 ? { volumes: [...own, ...kept] } : {};
    make(set, name, labels, { hostname: name, ...(serviceName ? { subdomain: serviceName } : {}), ...volumes });
  }

  /** They outlive the pod and the set. */
  function makeClaims(set: Workload, pod: string): void {
    const { namespace = "" } = set.metadata;
    for (const { metadata, spec } of set.spec.volumeClaimTemplates ?? []) {
      const name = `${metadata.name}-${pod}`;
      if (view.get(kinds.persistentVolumeClaim, { namespace, name })) continue;
      const labels = { ...metadata.labels, ...set.spec.selector.matchLabels };
      const { annotations = {} } = metadata;
      const made = { metadata: { name, namespace, labels, annotations }, spec };
      server.create(kinds.persistentVolumeClaim, made, managers.controllers);
    }
  }

  function make(set: Workload, name: string, more: Readonly<Record<string, string>>, spec: Partial<PodSpec>): void {
    const { labels, annotations = {} } = set.spec.template.metadata ?? {};
    const metadata = {
      name,
      namespace: set.metadata.namespace ?? "",
      labels: { ...labels, ...more },
      annotations,
      ownerReferences: [controllerReference(kind, set)],
    };
    server.create(kinds.pod, { metadata, spec: { ...set.spec.template.spec, ...spec } }, managers.controllers);
    tell(set, "Normal", "SuccessfulCreate", `Created pod: ${name}`);
  }

  function unmake(set: Workload, pod: Pod): void {
    const { namespace, name, uid } = pod.metadata;
    server.delete(kinds.pod, { namespace, name }, { uid });
    tell(set, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
  }

  function tell(object: Workload, type: "Normal" | "Warning", reason: string, note: string): void {
    events.record({ kind, object, type, reason, note, by: `${kind.kind.toLowerCase()}-controller` });
  }

  function writeStatus(seen: Workload): number | undefined {
    const set = view.get<Workload>(kind, seen.metadata);
    if (!set) return undefined;
    const pods = podsOf(set).filter(isActive);
    const waits = pods.map((pod) => availableInMs(pod, set.spec.minReadySeconds ?? 0, clock.now()));
    const counts = {
      readyReplicas: pods.filter(isReady).length,
      availableReplicas: waits.filter((ms) => ms === 0).length,
      updatedReplicas: hashLabel === undefined ? 0 : pods.filter((pod) => isFresh(set, pod)).length,
    };
    const status = {
      observedGeneration: set.metadata.generation ?? 0,
      replicas: pods.length,
      // Zero is left out, as the API writes it.
      ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      ...(kind === kinds.deployment ? { conditions: conditionsOf(set, counts, pods.length) } : {}),
    };
    if (!isDeepStrictEqual(status, set.status)) server.updateStatus(kind, { ...set, status }, managers.controllers);
    return waits.filter((ms) => ms !== 0).reduce<number | undefined>(sooner, undefined);
  }

  function conditionsOf({ spec, status }: Workload, { availableReplicas, updatedReplicas }: Counts, pods: number) {
    const { replicas = 1 } = spec;
    const isAvailable = availableReplicas >= replicas;
    const isOver = isAvailable && updatedReplicas === replicas && pods === replicas;
    const now = stampOf(clock.now());
    const available = {
      type: "Available",
      status: isAvailable ? "True" : "False",
      reason: isAvailable ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
    } as const;
    const reason = isOver ? "NewReplicaSetAvailable" : "ReplicaSetUpdated";
    const progressing = { type: "Progressing", status: "True", reason } as const;
    return withCondition(withCondition(status?.conditions, available, now), progressing, now);
  }

  return {
    name: kind.plural,
    notice({ kind: of, object }, wake) {
      if (of === kind) wake(keyOf(object.metadata));
      const owner = of === kinds.pod ? controllerOf(object as Pod) : undefined;
      if (owner?.kind === kind.kind) wake(keyOf({ namespace: object.metadata.namespace, name: owner.name }));
    },
    work,
  };
}

interface Counts {
  readonly availableReplicas: number;
  readonly updatedReplicas: number;
}

/** Those that do not work first, and those that came last. */
function dispensableFirst(a: Pod, b: Pod): number {
  return Number(isReady(a)) - Number(isReady(b)) || byAge(b, a);
}
