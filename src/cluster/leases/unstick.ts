/**
 * A stateful set waits for each of its pods to be ready before it replaces any, also for one of an older template, which
 * never will be: what its tenant has put right would never run. So that pod is taken away, and the set makes it anew.
 */
import { conditionHolds, fieldsOf, recordsOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../kube/kube.ts";
import { managedSelector } from "../../kube/objects/lease-labels.ts";
import type { DesiredObject } from "../../kube/objects/lease-workload.ts";
import type { Log } from "../../runtime/log.ts";
import type { LiveObjects } from "./live-objects.ts";

interface UnstickDeps {
  readonly kube: Pick<Kube, "get" | "list" | "delete">;
  readonly live: LiveObjects;
  readonly log: Log;
}

/** By what the server itself says now. Its volumes stay; of several pods one goes at a time, as the set would do it. */
export async function unstick(
  { kube, live, log }: UnstickDeps,
  wanted: readonly DesiredObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const { kind, object } of wanted) {
    const { namespace, name } = object.metadata;
    if (kind !== kinds.statefulSet || !live.get(kind, object.metadata)?.awaitsOldPod) continue;
    const set = await kube.get(kind, object.metadata, { signal });
    const { updateRevision } = fieldsOf(set?.["status"]);
    if (!set || !awaitsOldPod(set)) continue;
    const pods = await kube.list(kinds.pod, { namespace, labelSelector: managedSelector, signal });
    const own = pods.filter((pod) => isOf(set, pod));
    if (own.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) continue;
    const stuck = own.find((pod) => !isReady(pod) && pod.metadata.labels?.[revisionLabel] !== updateRevision);
    if (stuck?.metadata.uid === undefined) continue;
    await kube.delete(kinds.pod, stuck.metadata, { uid: stuck.metadata.uid, signal });
    log.info("removed pod of an older template that never became ready", { namespace, set: name });
  }
}

const revisionLabel = "controller-revision-hash";

/** Some of its pods are of an older template, and some are not ready. */
export function awaitsOldPod({ metadata, status }: KubeObject): boolean {
  const { observedGeneration, updateRevision, replicas, updatedReplicas, readyReplicas } = fieldsOf(status);
  if (updateRevision === undefined || observedGeneration !== fieldsOf(metadata)["generation"]) return false;
  const isLess = (count: unknown) => (Number(count) || 0) < (Number(replicas) || 0);
  return isLess(updatedReplicas) && isLess(readyReplicas);
}

function isOf({ metadata: { uid } }: KubeObject, pod: KubeObject): boolean {
  return recordsOf(fieldsOf(pod.metadata)["ownerReferences"]).some((owner) => owner["uid"] === uid);
}

function isReady(pod: KubeObject): boolean {
  return conditionHolds(fieldsOf(pod["status"])["conditions"], "Ready");
}
