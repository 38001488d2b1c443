/**
 * Deployments and stateful sets: as many pods of a template as requested. A deployment looks after its pods itself,
 * without replica sets between them; one pod of an old template goes for each new one that works.
 */
import { isDeepStrictEqual } from "node:util";
import { apiVersionOf, type Kind, kinds } from "../../../../kube/kinds.ts";
import { ProviderError } from "../../../../runtime/errors.ts";
import { forbidden } from "../../api-server/objects/rejections.ts";
import { clientError } from "../../api-server/objects/status-error.ts";
import type { Component, ComponentDeps } from "../component.ts";
import { hashText, randomSuffix } from "../names.ts";
import {
  atOf,
  byAge,
  isDeleting,
  keyOf,
  type StatusCondition,
  type Stored,
  withConditions,
} from "../shapes/metadata.ts";
import { isActive, isFinished, isReady, type Pod, type PodSpec, type PodTemplate } from "../shapes/pod.ts";
import type { Claim } from "../shapes/storage.ts";
import { stampOf } from "../shapes/time.ts";

export interface Workload extends Stored {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly template: PodTemplate;
    /** Of a deployment. */
    readonly strategy?: { readonly type?: string };
    /** Of a stateful set. */
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly volumeClaimTemplates?: readonly Claim[];
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    /** Of a stateful set: by this label its newest pods are known. */
    readonly updateRevision?: string;
    readonly conditions?: readonly StatusCondition[];
  };
}

/** When a pod that was rejected is tried again. */
const retryRejectedMs = 5_000;

export function createReplicas({ server, view, random, events, clock }: ComponentDeps, kind: Kind): Component {
  const isOrdered = kind === kinds.statefulSet;
  /** Under which label a pod says of which template it is. */
  const hashLabel = isOrdered ? "controller-revision-hash" : "pod-template-hash";

  function work(key: string): number | undefined {
    const set = view.get<Workload>(kind, atOf(key));
    if (!set) return undefined;
    let againMs: number | undefined;
    let rejection: string | undefined;
    if (!isDeleting(set) && view.isOpen(set.metadata.namespace ?? "")) {
      try {
        if (isOrdered) keepInOrder(set);
        else keepCount(set);
      } catch (thrown) {
        if (!(thrown instanceof ProviderError)) throw thrown;
        rejection = String(thrown.details["reason"]);
        recordEvent(set, "Warning", "FailedCreate", `Error creating: ${rejection}`);
        againMs = retryRejectedMs;
      }
    }
    writeStatus(set, rejection);
    return againMs;
  }

  const podsOf = ({ metadata }: Workload) =>
    view.dependents(metadata.uid).flatMap(({ kind: of, object }) => (of === kinds.pod ? [object as Pod] : []));

  /** Of the template that is desired now. */
  const isFresh = (set: Workload, { metadata }: Pod) => metadata.labels?.[hashLabel] === revisionOf(set);

  function revisionOf({ metadata, spec }: Workload): string {
    const hash = hashText(spec.template);
    return isOrdered ? `${metadata.name}-${hash}` : hash;
  }

  function keepCount(set: Workload): void {
    const { replicas = 1, strategy, template } = set.spec;
    const living = podsOf(set).filter(isActive).sort(dispensableFirst);
    const fresh = living.filter((pod) => isFresh(set, pod));
    const stale = living.filter((pod) => !fresh.includes(pod));
    if (strategy?.type === "Recreate") {
      for (const pod of stale) unmake(set, pod);
      if (podsOf(set).some((pod) => !isFinished(pod) && !isFresh(set, pod))) return;
    }
    // One more than requested, while there are old ones.
    const room = stale.length === 0 ? replicas : replicas + 1 - living.length;
    for (let n = 0; n < Math.min(replicas - fresh.length, room); n++) {
      make(set, `${set.metadata.name}-${hashText(template)}-${randomSuffix(random)}`);
    }
    const spare = fresh.filter(isReady).length + stale.length - replicas;
    for (const pod of stale.slice(0, Math.max(0, spare))) unmake(set, pod);
    for (const pod of fresh.slice(0, Math.max(0, fresh.length - replicas))) unmake(set, pod);
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

  /** Its claims outlive the pod and the set. */
  function makeOrdinal(set: Workload, ordinal: number): void {
    const { template, volumeClaimTemplates = [], serviceName, selector } = set.spec;
    const { namespace = "" } = set.metadata;
    const pod = `${set.metadata.name}-${ordinal}`;
    const own = volumeClaimTemplates.map(({ metadata, spec }) => {
      const name = `${metadata.name}-${pod}`;
      const labels = { ...metadata.labels, ...selector.matchLabels };
      if (!view.get(kinds.persistentVolumeClaim, { namespace, name })) {
        server.create(kinds.persistentVolumeClaim, { metadata: { name, namespace, labels }, spec });
      }
      return { name: metadata.name, persistentVolumeClaim: { claimName: name } };
    });
    const kept = (template.spec.volumes ?? []).filter((volume) => !own.some((each) => each.name === volume.name));
    const labels = { "statefulset.kubernetes.io/pod-name": pod, "apps.kubernetes.io/pod-index": String(ordinal) };
    const names = { hostname: pod, ...(serviceName ? { subdomain: serviceName } : {}) };
    make(set, pod, labels, { ...names, volumes: [...own, ...kept] });
  }

  function make(
    set: Workload,
    name: string,
    more: Readonly<Record<string, string>> = {},
    spec?: Partial<PodSpec>,
  ): void {
    const { template } = set.spec;
    const { labels, annotations = {} } = template.metadata ?? {};
    const owner = { apiVersion: apiVersionOf(kind), kind: kind.kind, name: set.metadata.name, uid: set.metadata.uid };
    const metadata = {
      name,
      namespace: set.metadata.namespace ?? "",
      labels: { ...labels, [hashLabel]: revisionOf(set), ...more },
      annotations,
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    };
    admitAccount(metadata, template.spec);
    server.create(kinds.pod, { metadata, spec: { ...template.spec, ...spec } });
    recordEvent(set, "Normal", "SuccessfulCreate", `Created pod: ${name}`);
  }

  /** As the ServiceAccount admission plugin does, which an API server without controllers runs without. */
  function admitAccount({ name, namespace }: { name: string; namespace: string }, spec: PodSpec): void {
    const account = String(spec["serviceAccountName"] ?? "default");
    if (view.get(kinds.serviceAccount, { namespace, name: account })) return;
    const missing = `serviceaccount "${account}" not found`;
    const reason = `error looking up service account ${namespace}/${account}: ${missing}`;
    throw clientError(forbidden(kinds.pod, name, reason), { verb: "create", resource: "pods" });
  }

  function unmake(set: Workload, { metadata: { namespace, name, uid } }: Pod): void {
    server.delete(kinds.pod, { namespace, name }, { uid });
    recordEvent(set, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
  }

  function recordEvent(object: Workload, type: "Normal" | "Warning", reason: string, note: string): void {
    events.record({ kind, object, by: `${kind.kind.toLowerCase()}-controller` }, type, reason, note);
  }

  function writeStatus(seen: Workload, rejection: string | undefined): void {
    const set = view.get<Workload>(kind, seen.metadata);
    if (!set) return;
    const pods = podsOf(set).filter(isActive);
    const ready = pods.filter(isReady).length;
    const updated = pods.filter((pod) => isFresh(set, pod)).length;
    // While some are of an older revision, that is the current one.
    const currentReplicas = !isOrdered ? 0 : updated === pods.length ? updated : pods.length - updated;
    const counts = { readyReplicas: ready, availableReplicas: ready, updatedReplicas: updated, currentReplicas };
    const status = {
      observedGeneration: set.metadata.generation ?? 0,
      replicas: pods.length,
      ...(isOrdered && { updateRevision: revisionOf(set) }),
      // Zero is left out, as the API writes it.
      ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      // A stateful set reports this by Events only.
      ...(rejection !== undefined && !isOrdered && { conditions: replicaFailure(set, rejection) }),
    };
    if (!isDeepStrictEqual(status, set.status)) server.updateStatus(kind, { ...set, status });
  }

  /** Said once: it names a pod that never was, each time another one. */
  function replicaFailure({ status }: Workload, message: string): readonly StatusCondition[] {
    if (status?.conditions) return status.conditions;
    const failure = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message } as const;
    return withConditions(status?.conditions, [failure], stampOf(clock.now()));
  }

  return {
    name: kind.plural,
    notice({ kind: of, object }, wake) {
      const { namespace, ownerReferences = [] } = (object as Stored).metadata;
      if (of === kind) wake(keyOf(object.metadata));
      const owner = of === kinds.pod ? ownerReferences.find(({ controller }) => controller) : undefined;
      if (owner?.kind === kind.kind) wake(keyOf({ namespace, name: owner.name }));
    },
    work,
  };
}

/** Those that do not work first, and those that came last. */
function dispensableFirst(a: Pod, b: Pod): number {
  return Number(isReady(a)) - Number(isReady(b)) || byAge(b, a);
}
