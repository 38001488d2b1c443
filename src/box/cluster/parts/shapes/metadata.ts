/** What every object carries, and small questions about it. */
import { apiVersionOf, type Kind } from "../../../../kube/kinds.ts";
import type { KubeObject, ObjectAt, ObjectMeta } from "../../../../kube/kube.ts";

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface Metadata extends ObjectMeta {
  readonly generateName?: string;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly deletionGracePeriodSeconds?: number;
}

/** An object that the API server has stored: it has a uid. */
export interface Stored extends KubeObject {
  readonly metadata: Metadata & { readonly uid: string };
}

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastUpdateTime?: string;
  readonly lastHeartbeatTime?: string;
  readonly lastProbeTime?: string | null;
  readonly observedGeneration?: number;
}

/** "default/web", or "worker-1" where there are no namespaces. */
export function keyOf({ namespace, name }: ObjectAt): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

export function atOf(key: string): ObjectAt {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Who looks after it, where somebody does. */
export function controllerOf({ metadata }: { readonly metadata: Metadata }): OwnerReference | undefined {
  return metadata.ownerReferences?.find((reference) => reference.controller);
}

export function controllerReference(kind: Kind, { metadata }: Stored): OwnerReference {
  const { name, uid } = metadata;
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

export function isDeleting({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function conditionOf(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** The list with this condition in it. The time of its transition stays while its status does. */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  next: Condition,
  now: string,
): readonly Condition[] {
  const before = conditionOf(conditions, next.type);
  const lastTransitionTime = before?.status === next.status ? (before.lastTransitionTime ?? now) : now;
  const stamped = { lastTransitionTime, ...next };
  if (!before) return [...(conditions ?? []), stamped];
  return (conditions ?? []).map((condition) => (condition.type === next.type ? stamped : condition));
}

/** The older first; those of the same second by name. */
export function byAge(a: KubeObject, b: KubeObject): number {
  const [first = "", second = ""] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (first !== second) return first < second ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
