/** Stateful sets: pods with names that stay, made and updated in order, each with its own claims. */
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../kinds.ts";
import { hashText } from "../names.ts";
import { type Ground, managers, type Part, sooner } from "../part.ts";
import { atOf, controllerReference, isDeleting, keyOf } from "../shapes/metadata.ts";
import { availableInMs, isFinished, isReady, type Pod, type PodTemplate, type Volume } from "../shapes/pod.ts";
import type { Claim } from "../shapes/storage.ts";
import type { StatefulSet } from "../shapes/workload.ts";
import { claim } from "./adoption.ts";
import { wakeOwner } from "./owner-key.ts";
import { type Maker, makePod, unmakePod } from "./pod-making.ts";
import { count } from "./replica-set.ts";

const revisionLabel = "controller-revision-hash";
const by = "statefulset-controller";

interface Revisions {
  /** What all pods have, or had before an update began. */
  readonly current: string;
  readonly update: string;
}

export function createStatefulSets(ground: Ground): Part {
  const { server, view, clock } = ground;
  /** Templates by revision, for pods that an update leaves at the old one. A real cluster keeps them as objects. */
  const templates = new Map<string, Map<string, PodTemplate>>();

  function work(key: string): number | undefined {
    const set = view.get<StatefulSet>(kinds.statefulSet, atOf(key));
    if (!set) return undefined;
    const revisions = revisionsOf(set);
    if (!isDeleting(set) && view.isOpen(set.metadata.namespace ?? "")) {
      const owner = { kind: kinds.statefulSet, object: set, selector: set.spec.selector };
      reconcile(set, revisions, claim<Pod>(ground, kinds.pod, owner));
    }
    return writeStatus(set, revisions);
  }

  function revisionsOf(set: StatefulSet): Revisions {
    const { uid, name } = set.metadata;
    const update = `${name}-${hashText(set.spec.template)}`;
    const known = templates.get(uid) ?? new Map<string, PodTemplate>();
    templates.set(uid, known);
    known.set(update, set.spec.template);
    return { current: set.status?.currentRevision ?? update, update };
  }

  function reconcile(set: StatefulSet, revisions: Revisions, pods: readonly Pod[]): void {
    const { replicas = 1, podManagementPolicy, updateStrategy } = set.spec;
    const first = set.spec.ordinals?.start ?? 0;
    const inOrder = podManagementPolicy !== "Parallel";
    const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
    for (let ordinal = first; ordinal < first + replicas; ordinal++) {
      const settled = settle(set, revisions, ordinal, byOrdinal.get(ordinal));
      if (!settled && inOrder) return;
    }
    const surplus = pods.filter((pod) => ordinalOf(set, pod) < first || ordinalOf(set, pod) >= first + replicas);
    if (!dismiss(set, surplus, inOrder)) return;
    if (updateStrategy?.type !== "OnDelete") updateOne(set, revisions, byOrdinal);
  }

  /** True when the pod is there and does its work. */
  function settle(set: StatefulSet, revisions: Revisions, ordinal: number, pod: Pod | undefined): boolean {
    if (!pod) {
      makeClaims(set, ordinal);
      make(set, revisions, ordinal);
      return false;
    }
    if (isFinished(pod) && !isDeleting(pod)) unmakePod(ground, makerOf(set, set.spec.template), pod);
    return !isDeleting(pod) && availableInMs(pod, set.spec.minReadySeconds ?? 0, clock.now()) === 0;
  }

  /** The last one first, and in order one at a time. True when none is left. */
  function dismiss(set: StatefulSet, surplus: readonly Pod[], inOrder: boolean): boolean {
    const lastFirst = [...surplus].sort((a, b) => ordinalOf(set, b) - ordinalOf(set, a));
    for (const pod of inOrder ? lastFirst.slice(0, 1) : lastFirst) {
      if (!isDeleting(pod)) unmakePod(ground, makerOf(set, set.spec.template), pod);
    }
    return surplus.length === 0;
  }

  /** From the last to the first; the next one waits until the one before works again. */
  function updateOne(set: StatefulSet, { update }: Revisions, byOrdinal: ReadonlyMap<number, Pod>): void {
    const { partition = 0 } = set.spec.updateStrategy?.rollingUpdate ?? {};
    const ordinals = [...byOrdinal.keys()].filter((ordinal) => ordinal >= partition).sort((a, b) => b - a);
    for (const ordinal of ordinals) {
      const pod = byOrdinal.get(ordinal);
      if (!pod) continue;
      const outdated = pod.metadata.labels?.[revisionLabel] !== update && !isDeleting(pod);
      if (outdated) unmakePod(ground, makerOf(set, set.spec.template), pod);
      if (outdated || availableInMs(pod, set.spec.minReadySeconds ?? 0, clock.now()) !== 0) return;
    }
  }

  function make(set: StatefulSet, revisions: Revisions, ordinal: number): void {
    const { partition = 0 } = set.spec.updateStrategy?.rollingUpdate ?? {};
    const revision = ordinal < partition ? revisions.current : revisions.update;
    const template = templates.get(set.metadata.uid)?.get(revision) ?? set.spec.template;
    const name = `${set.metadata.name}-${ordinal}`;
    const own = (set.spec.volumeClaimTemplates ?? []).map(({ metadata }): Volume => {
      return { name: metadata.name, persistentVolumeClaim: { claimName: `${metadata.name}-${name}` } };
    });
    const kept = (template.spec.volumes ?? []).filter((volume) => !own.some((each) => each.name === volume.name));
    const labels = {
      [revisionLabel]: revision,
      "statefulset.kubernetes.io/pod-name": name,
      "apps.kubernetes.io/pod-index": String(ordinal),
    };
    const { serviceName } = set.spec;
    const identity = { hostname: name, ...(serviceName ? { subdomain: serviceName } : {}) };
    const volumes = own.length + kept.length > 0 ? { volumes: [...own, ...kept] } : {};
    makePod(ground, makerOf(set, template), {
      name,
      generateName: `${set.metadata.name}-`,
      labels,
      spec: { ...identity, ...volumes },
    });
  }

  /** They outlive the pod, and by default the set. */
  function makeClaims(set: StatefulSet, ordinal: number): void {
    const { namespace = "" } = set.metadata;
    const owned = set.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === "Delete";
    for (const template of set.spec.volumeClaimTemplates ?? []) {
      const name = `${template.metadata.name}-${set.metadata.name}-${ordinal}`;
      if (view.get<Claim>(kinds.persistentVolumeClaim, { namespace, name })) continue;
      const metadata = {
        name,
        namespace,
        labels: { ...template.metadata.labels, ...set.spec.selector.matchLabels },
        ...(template.metadata.annotations ? { annotations: template.metadata.annotations } : {}),
        ...(owned ? { ownerReferences: [controllerReference(kinds.statefulSet, set)] } : {}),
      };
      const made = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec: template.spec };
      server.create(kinds.persistentVolumeClaim, made, managers.controllers);
    }
  }

  function writeStatus(seen: StatefulSet, revisions: Revisions): number | undefined {
    const set = view.get<StatefulSet>(kinds.statefulSet, seen.metadata);
    if (!set) return undefined;
    const { replicas = 1, minReadySeconds = 0 } = set.spec;
    const pods = view.owned<Pod>(kinds.pod, set.metadata.uid).filter((pod) => !isFinished(pod));
    const waits = pods.map((pod) => availableInMs(pod, minReadySeconds, clock.now()));
    const at = (revision: string) =>
      pods.filter((pod) => !isDeleting(pod) && pod.metadata.labels?.[revisionLabel] === revision).length;
    const ready = pods.filter(isReady).length;
    const updated = at(revisions.update);
    // The update is over when every pod has it and works.
    const done = updated === replicas && pods.length === replicas && ready === replicas;
    const current = done ? revisions.update : revisions.current;
    const status = {
      observedGeneration: set.metadata.generation ?? 0,
      replicas: pods.length,
      ...count("readyReplicas", ready),
      availableReplicas: waits.filter((ms) => ms === 0).length,
      ...count("currentReplicas", at(current)),
      ...count("updatedReplicas", updated),
      currentRevision: current,
      updateRevision: revisions.update,
      collisionCount: 0,
    };
    if (!isDeepStrictEqual(status, set.status)) {
      server.updateStatus(kinds.statefulSet, { ...set, status }, managers.controllers);
    }
    if (done) forgetBut(set.metadata.uid, revisions.update);
    return waits.filter((ms) => ms !== 0).reduce<number | undefined>(sooner, undefined);
  }

  function forgetBut(uid: string, revision: string): void {
    for (const known of templates.get(uid)?.keys() ?? []) if (known !== revision) templates.get(uid)?.delete(known);
  }

  return {
    name: "statefulSet",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.statefulSet && type === "deleted") templates.delete(object.metadata.uid ?? "");
      if (kind === kinds.statefulSet) wake(keyOf(object.metadata));
      if (kind === kinds.pod) wakeOwner(kinds.statefulSet, object as Pod, wake);
    },
    work,
  };
}

function makerOf(object: StatefulSet, template: PodTemplate): Maker {
  return { kind: kinds.statefulSet, object, template, by };
}

/** "web-3" of the set "web" is 3; a foreign name is none of its pods. */
function ordinalOf({ metadata }: StatefulSet, pod: Pod): number {
  const rest = pod.metadata.name.startsWith(`${metadata.name}-`)
    ? pod.metadata.name.slice(metadata.name.length + 1)
    : "";
  return /^\d+$/.test(rest) ? Number(rest) : Number.NaN;
}
