/** Takes away what a lease no longer wants: objects, its Manifest resource, and pods that an update waits for in vain. */
import { conditionHolds, fieldsOf, recordsOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { leftAccount } from "../../kube/objects/credentials.ts";
import { managedSelector, namespaceLabel } from "../../kube/objects/lease-labels.ts";
import type { DesiredObject } from "../../kube/objects/lease-workload.ts";
import { awaitsOldPod, type LiveObject, liveText } from "./live-objects.ts";
import type { ObservedLease } from "./observed-lease.ts";
import type { LeaseDeps } from "./watched-cluster.ts";

/**
 * Returns what has our label, is not wanted, and was made by somebody else or is spared: it is left alone. Volume claims are not
 * looked at: they hold a tenant's data.
 */
export async function prune(
  { kube, live, log }: Pick<LeaseDeps, "kube" | "live" | "log">,
  namespace: string,
  wanted: readonly DesiredObject[],
  signal: AbortSignal,
  isSpared: (object: LiveObject) => boolean,
): Promise<string[]> {
  const names = new Set(wanted.map(({ kind, object }) => liveText({ kind, name: object.metadata.name })));
  const foreign: string[] = [];
  for (const object of [...live.contents(namespace)]) {
    const text = liveText(object);
    if (names.has(text) || object.deletingSinceMs !== undefined || isOfOperator(object)) continue;
    if (!object.isOurs || object.labels[namespaceLabel] !== namespace || isSpared(object)) {
      foreign.push(text);
      continue;
    }
    await kube.delete(object.kind, object, { uid: object.uid, signal });
    log.info("removed object that its lease no longer wants", { namespace, object: text });
  }
  return foreign.sort();
}

/** The Services of leased addresses carry the network's label too, and belong to the IP operator. */
function isOfOperator({ kind, labels }: LiveObject): boolean {
  return kind === kinds.service && labels["akash.network/service-target"] !== undefined;
}

/** Service accounts that pods of running workloads still use, although no service of the manifest wants them. */
export function leftAccounts(
  { live }: Pick<LeaseDeps, "live">,
  { id, name }: ObservedLease,
  credentials: readonly DesiredObject[],
): DesiredObject[] {
  const accounts = credentials.filter(({ kind }) => kind === kinds.serviceAccount);
  const wanted = new Set(accounts.map(({ object }) => object.metadata.name));
  const left = new Set<string>();
  for (const { name: service, namespace, isOurs, isRolling, runsAs } of live.workloads(name)) {
    if (isOurs && runsAs !== undefined) left.add(runsAs);
    if (isOurs && isRolling && live.get(kinds.serviceAccount, { namespace, name: service })) left.add(service);
  }
  return [...left].filter((each) => !wanted.has(each)).map((each) => leftAccount(id, each));
}

/** The server is asked: its cache may not be known when a lease ends. */
export async function removeManifestResource(
  { kube, options }: Pick<LeaseDeps, "kube" | "options">,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const at = { namespace: options.manifestNamespace, name };
  const { uid } = (await kube.get(kinds.manifest, at, { signal }))?.metadata ?? {};
  if (uid !== undefined) await kube.delete(kinds.manifest, at, { uid, signal });
}

/**
 * A stateful set waits for each of its pods to be ready before it replaces any, also for one of an older template that never will
 * be. So that pod is taken away by what the server says now, one at a time as the set would do it. Its volumes stay.
 */
export async function removeStuckPods(
  { kube, live, log }: Pick<LeaseDeps, "kube" | "live" | "log">,
  wanted: readonly DesiredObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const { kind, object } of wanted) {
    const { namespace, name } = object.metadata;
    if (kind !== kinds.statefulSet || !live.get(kind, object.metadata)?.awaitsOldPod) continue;
    const set = await kube.get(kind, object.metadata, { signal });
    if (!set || !awaitsOldPod(set)) continue;
    const pods = await kube.list(kinds.pod, { namespace, labelSelector: managedSelector, signal });
    const own = pods.filter((pod) => isOf(set, pod));
    if (own.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) continue;
    const { updateRevision } = fieldsOf(set["status"]);
    const stuck = own.find((pod) => !isReady(pod) && pod.metadata.labels?.[revisionLabel] !== updateRevision);
    if (stuck?.metadata.uid === undefined) continue;
    await kube.delete(kinds.pod, stuck.metadata, { uid: stuck.metadata.uid, signal });
    log.info("removed pod of an older template that never became ready", { namespace, set: name });
  }
}

const revisionLabel = "controller-revision-hash";

function isOf({ metadata: { uid } }: KubeObject, pod: KubeObject): boolean {
  return recordsOf(fieldsOf(pod.metadata)["ownerReferences"]).some((owner) => owner["uid"] === uid);
}

function isReady(pod: KubeObject): boolean {
  return conditionHolds(fieldsOf(pod["status"])["conditions"], "Ready");
}
