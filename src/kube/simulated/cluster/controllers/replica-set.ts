/** As many pods of one template as asked for. */
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../kinds.ts";
import { randomSuffix } from "../names.ts";
import { type Ground, managers, type Part, sooner } from "../part.ts";
import { atOf, controllerOf, isDeleting, keyOf } from "../shapes/metadata.ts";
import { availableInMs, isActive, isReady, type Pod } from "../shapes/pod.ts";
import { selects } from "../shapes/selector.ts";
import type { ReplicaSet } from "../shapes/workload.ts";
import { claim } from "./adoption.ts";
import { wakeOwner } from "./owner-key.ts";
import { makePod, unmakePod } from "./pod-making.ts";

export function createReplicaSets(ground: Ground): Part {
  const { server, view, clock, random } = ground;

  function work(key: string): number | undefined {
    const set = view.get<ReplicaSet>(kinds.replicaSet, atOf(key));
    if (!set) return undefined;
    const owner = { kind: kinds.replicaSet, object: set, selector: set.spec.selector };
    const pods = claim<Pod>(ground, kinds.pod, owner).filter(isActive);
    if (!isDeleting(set) && view.isOpen(set.metadata.namespace ?? "")) keepCount(set, pods);
    return writeStatus(set);
  }

  function keepCount(set: ReplicaSet, pods: readonly Pod[]): void {
    const maker = { kind: kinds.replicaSet, object: set, template: set.spec.template, by: "replicaset-controller" };
    const missing = (set.spec.replicas ?? 1) - pods.length;
    const generateName = `${set.metadata.name}-`;
    for (let n = 0; n < missing; n++) {
      makePod(ground, maker, { name: `${generateName}${randomSuffix(random)}`, generateName });
    }
    if (missing >= 0) return;
    for (const pod of [...pods].sort(dispensableFirst).slice(0, -missing)) unmakePod(ground, maker, pod);
  }

  function writeStatus(seen: ReplicaSet): number | undefined {
    const set = view.get<ReplicaSet>(kinds.replicaSet, seen.metadata);
    if (!set) return undefined;
    const { minReadySeconds = 0, template } = set.spec;
    const pods = view.owned<Pod>(kinds.pod, set.metadata.uid).filter(isActive);
    const waits = pods.map((pod) => availableInMs(pod, minReadySeconds, clock.now()));
    const labels = template.metadata?.labels ?? {};
    const status = {
      replicas: pods.length,
      ...count(
        "fullyLabeledReplicas",
        pods.filter((pod) => selects({ matchLabels: labels }, pod.metadata.labels)).length,
      ),
      ...count("readyReplicas", pods.filter(isReady).length),
      ...count("availableReplicas", waits.filter((ms) => ms === 0).length),
      ...count("observedGeneration", set.metadata.generation ?? 0),
    };
    if (!isDeepStrictEqual(status, set.status)) {
      server.updateStatus(kinds.replicaSet, { ...set, status }, managers.controllers);
    }
    return waits.filter((ms) => ms !== 0).reduce<number | undefined>(sooner, undefined);
  }

  return {
    name: "replicaSet",
    notice({ kind, object }, wake) {
      if (kind === kinds.replicaSet) wake(keyOf(object.metadata));
      if (kind !== kinds.pod) return;
      wakeOwner(kinds.replicaSet, object as Pod, wake);
      // A pod that lost its controller, or never had one, may be one of ours.
      if (controllerOf(object as Pod)) return;
      for (const set of view.list<ReplicaSet>(kinds.replicaSet, object.metadata.namespace)) {
        if (selects(set.spec.selector, object.metadata.labels)) wake(keyOf(set.metadata));
      }
    },
    work,
  };
}

/** Zero is left out, as the API writes it. */
export function count<Name extends string>(name: Name, value: number): Partial<Record<Name, number>> {
  return value === 0 ? {} : ({ [name]: value } as Record<Name, number>);
}

const phases = ["Pending", "Unknown", "Running"];

/** Those without a node first, then those that do not run, are not ready, or came last. */
function dispensableFirst(a: Pod, b: Pod): number {
  return (
    Number(Boolean(a.spec.nodeName)) - Number(Boolean(b.spec.nodeName)) ||
    phases.indexOf(a.status?.phase ?? "Pending") - phases.indexOf(b.status?.phase ?? "Pending") ||
    Number(isReady(a)) - Number(isReady(b)) ||
    restartsOf(b) - restartsOf(a) ||
    compareText(b.metadata.creationTimestamp, a.metadata.creationTimestamp) ||
    compareText(a.metadata.name, b.metadata.name)
  );
}

function restartsOf({ status }: Pod): number {
  return Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}

function compareText(a = "", b = ""): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
