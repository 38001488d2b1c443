/** The metadata of every object, and predicates on it. */
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

export interface StatusCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastHeartbeatTime?: string;
  readonly lastProbeTime?: string | null;
}

/** "default/web", or "worker-1" where there are no namespaces. */
export function keyOf({ namespace, name }: ObjectAt): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

export function atOf(key: string): ObjectAt {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export function isDeleting({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function conditionOf(
  conditions: readonly StatusCondition[] | undefined,
  type: string,
): StatusCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** The list with these conditions in it. The time of a transition stays while the status does. */
export function withConditions(
  given: readonly StatusCondition[] | null | undefined,
  next: readonly StatusCondition[],
  now: string,
): readonly StatusCondition[] {
  const conditions = given ?? [];
  const stamped = next.map((each) => {
    const before = conditionOf(conditions, each.type);
    const lastTransitionTime = before?.status === each.status ? (before.lastTransitionTime ?? now) : now;
    return { lastTransitionTime, ...each };
  });
  const kept = conditions.map((each) => conditionOf(stamped, each.type) ?? each);
  return [...kept, ...stamped.filter(({ type }) => !conditionOf(conditions, type))];
}

/** The older first; those of the same second by name. */
export function byAge(a: KubeObject, b: KubeObject): number {
  const [first = "", second = ""] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (first !== second) return first < second ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
