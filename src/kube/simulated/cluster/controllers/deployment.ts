/** Deployments: one replica set for each template they ever had, rolled from the old ones to the new one. */
import { kinds } from "../../../kinds.ts";
import { hashText } from "../names.ts";
import { type Ground, managers, type Part } from "../part.ts";
import { atOf, byAge, controllerReference, isDeleting, keyOf } from "../shapes/metadata.ts";
import { isFinished, type Pod, type PodTemplate } from "../shapes/pod.ts";
import type { Deployment, ReplicaSet } from "../shapes/workload.ts";
import { claim } from "./adoption.ts";
import { writeDeploymentStatus } from "./deployment-status.ts";
import { wakeOwner } from "./owner-key.ts";
import { type Bounds, boundsOf, newReplicas, replicasOf, resize, type Scaling, shrinkOld } from "./rollout.ts";

const by = "deployment-controller";
const hashLabel = "pod-template-hash";
const annotations = {
  revision: "deployment.kubernetes.io/revision",
  desired: "deployment.kubernetes.io/desired-replicas",
  most: "deployment.kubernetes.io/max-replicas",
};
/** The API's default. */
const historyKept = 10;

interface Sets {
  readonly newest: ReplicaSet | undefined;
  /** The oldest first. */
  readonly old: readonly ReplicaSet[];
}

export function createDeployments(ground: Ground): Part {
  const { server, view, events } = ground;

  function work(key: string): number | undefined {
    const deployment = view.get<Deployment>(kinds.deployment, atOf(key));
    if (!deployment) return undefined;
    const before = new Set(view.owned(kinds.replicaSet, deployment.metadata.uid).map(({ metadata }) => metadata.uid));
    if (!isDeleting(deployment) && view.isOpen(deployment.metadata.namespace ?? "")) roll(deployment);
    const now = view.get<Deployment>(kinds.deployment, atOf(key));
    if (!now) return undefined;
    const sets = view.owned<ReplicaSet>(kinds.replicaSet, now.metadata.uid);
    const newest = sets.find(isNewest(now));
    const created = newest !== undefined && !before.has(newest.metadata.uid);
    return writeDeploymentStatus(ground, now, { sets, newest, created });
  }

  function roll(deployment: Deployment): void {
    const bounds = boundsOf(deployment);
    const before = setsOf(deployment);
    if (deployment.spec.paused || wasResized(bounds, before)) scaleInPlace(deployment, bounds, before);
    else if (deployment.spec.strategy?.type === "Recreate") recreate(deployment, bounds, before);
    else rollOn(deployment, bounds, before);
    forgetOld(deployment);
  }

  function setsOf(deployment: Deployment): Sets {
    const owner = { kind: kinds.deployment, object: deployment, selector: deployment.spec.selector };
    const sets = claim<ReplicaSet>(ground, kinds.replicaSet, owner)
      .filter((set) => !isDeleting(set))
      .sort(byAge);
    const newest = sets.find(isNewest(deployment));
    return { newest, old: sets.filter((set) => set !== newest) };
  }

  function rollOn(deployment: Deployment, bounds: Bounds, before: Sets): void {
    const newest = before.newest
      ? revise(deployment, bounds, before.newest, before)
      : create(deployment, bounds, before);
    const to = newReplicas(bounds, [...before.old, newest], replicasOf(newest));
    if (to !== replicasOf(newest)) scale(deployment, bounds, { set: newest, to });
    else for (const scaling of shrinkOld(bounds, newest, before.old)) scale(deployment, bounds, scaling);
  }

  /** Everything old goes before anything new comes. */
  function recreate(deployment: Deployment, bounds: Bounds, before: Sets): void {
    const shrinking = before.old.filter((set) => replicasOf(set) > 0);
    for (const set of shrinking) scale(deployment, bounds, { set, to: 0 });
    const oldPods = before.old.flatMap((set) => view.owned<Pod>(kinds.pod, set.metadata.uid));
    if (shrinking.length > 0 || oldPods.some((pod) => !isFinished(pod))) return;
    const newest = before.newest
      ? revise(deployment, bounds, before.newest, before)
      : create(deployment, bounds, before);
    if (replicasOf(newest) !== bounds.replicas) scale(deployment, bounds, { set: newest, to: bounds.replicas });
  }

  function scaleInPlace(deployment: Deployment, bounds: Bounds, { newest, old }: Sets): void {
    const active = [...old, ...(newest ? [newest] : [])].filter((set) => replicasOf(set) > 0);
    const [only = newest] = active;
    if (active.length > 1) for (const scaling of resize(bounds, active)) scale(deployment, bounds, scaling);
    else if (only) scale(deployment, bounds, { set: only, to: bounds.replicas });
  }

  function create(deployment: Deployment, bounds: Bounds, before: Sets): ReplicaSet {
    const { template, selector, minReadySeconds } = deployment.spec;
    const hash = hashText(template);
    const labels = { ...template.metadata?.labels, [hashLabel]: hash };
    const name = `${deployment.metadata.name}-${hash}`;
    const replicas = newReplicas(bounds, before.old, 0);
    const made = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        name,
        namespace: deployment.metadata.namespace ?? "",
        labels,
        annotations: noted(bounds, before),
        ownerReferences: [controllerReference(kinds.deployment, deployment)],
      },
      spec: {
        replicas,
        ...(minReadySeconds ? { minReadySeconds } : {}),
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    };
    const set = server.create(kinds.replicaSet, made, managers.controllers) as ReplicaSet;
    if (replicas > 0) tell(deployment, `Scaled up replica set ${name} from 0 to ${replicas}`);
    noteRevision(deployment, set);
    return set;
  }

  /** A template that comes back takes its old set back, under a new revision. */
  function revise(deployment: Deployment, bounds: Bounds, set: ReplicaSet, before: Sets): ReplicaSet {
    const wanted = noted(bounds, before, set);
    const minReadySeconds = deployment.spec.minReadySeconds ?? 0;
    const has = set.metadata.annotations ?? {};
    const same = Object.entries(wanted).every(([name, value]) => has[name] === value);
    if (same && (set.spec.minReadySeconds ?? 0) === minReadySeconds) return set;
    const metadata = { ...set.metadata, annotations: { ...has, ...wanted } };
    const revised = { ...set, metadata, spec: { ...set.spec, minReadySeconds } };
    const written = server.update(kinds.replicaSet, revised, managers.controllers) as ReplicaSet;
    noteRevision(deployment, written);
    return written;
  }

  function noteRevision(deployment: Deployment, set: ReplicaSet): void {
    const revision = set.metadata.annotations?.[annotations.revision] ?? "1";
    const now = view.get<Deployment>(kinds.deployment, deployment.metadata);
    if (!now || now.metadata.annotations?.[annotations.revision] === revision) return;
    const metadata = {
      ...now.metadata,
      annotations: { ...now.metadata.annotations, [annotations.revision]: revision },
    };
    server.update(kinds.deployment, { ...now, metadata }, managers.controllers);
  }

  function scale(deployment: Deployment, bounds: Bounds, { set, to }: Scaling): void {
    const from = replicasOf(set);
    const sizes = sizesNoted(bounds);
    const metadata = { ...set.metadata, annotations: { ...set.metadata.annotations, ...sizes } };
    server.update(kinds.replicaSet, { ...set, metadata, spec: { ...set.spec, replicas: to } }, managers.controllers);
    if (from === to) return;
    tell(deployment, `Scaled ${to > from ? "up" : "down"} replica set ${set.metadata.name} from ${from} to ${to}`);
  }

  function tell(object: Deployment, note: string): void {
    events.record({ kind: kinds.deployment, object, type: "Normal", reason: "ScalingReplicaSet", note, by });
  }

  function forgetOld(deployment: Deployment): void {
    const { revisionHistoryLimit = historyKept } = deployment.spec;
    const idle = setsOf(deployment).old.filter(({ spec, status }) => spec.replicas === 0 && !status?.replicas);
    const byRevision = idle.sort((a, b) => revisionOf(a) - revisionOf(b));
    for (const { metadata } of byRevision.slice(0, Math.max(0, idle.length - revisionHistoryLimit))) {
      const { namespace, name, uid } = metadata;
      server.delete(kinds.replicaSet, { namespace, name }, { uid });
    }
  }

  return {
    name: "deployment",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.deployment) wake(keyOf(object.metadata));
      if (kind === kinds.replicaSet) wakeOwner(kinds.deployment, object as ReplicaSet, wake);
      // A deployment that recreates waits for the last old pod to be gone.
      const set = kind === kinds.pod && type === "deleted" ? ownerSet(object as Pod) : undefined;
      if (set) wakeOwner(kinds.deployment, set, wake);
    },
    work,
  };

  function ownerSet(pod: Pod): ReplicaSet | undefined {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller);
    const entry = owner && view.find(owner.uid);
    return entry?.kind === kinds.replicaSet ? (entry.object as ReplicaSet) : undefined;
  }
}

/** Of the same template, but for the label that tells sets apart. */
function isNewest({ spec }: Deployment): (set: ReplicaSet) => boolean {
  const wanted = hashText(spec.template);
  return (set) => hashText(withoutHash(set.spec.template)) === wanted;
}

function withoutHash(template: PodTemplate): PodTemplate {
  const { [hashLabel]: _, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

function sizesNoted({ replicas, maxSurge }: Bounds): Record<string, string> {
  return { [annotations.desired]: String(replicas), [annotations.most]: String(replicas + maxSurge) };
}

function noted(bounds: Bounds, { old }: Sets, set?: ReplicaSet): Record<string, string> {
  const newest = Math.max(0, ...old.map(revisionOf));
  const revision = Math.max(newest + 1, set ? revisionOf(set) : 0);
  return { ...sizesNoted(bounds), [annotations.revision]: String(revision) };
}

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[annotations.revision] ?? 0);
}

/** Asked for another number since its sets were last scaled. */
function wasResized({ replicas }: Bounds, { newest, old }: Sets): boolean {
  const active = [...old, ...(newest ? [newest] : [])].filter((set) => replicasOf(set) > 0);
  return active.some(({ metadata }) => {
    const desired = metadata.annotations?.[annotations.desired];
    return desired !== undefined && Number(desired) !== replicas;
  });
}
