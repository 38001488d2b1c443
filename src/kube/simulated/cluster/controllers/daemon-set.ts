/** Daemon sets: one pod on every node that will have it, also on those that are closed to others. */
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../kinds.ts";
import { hashText, randomSuffix } from "../names.ts";
import { type Ground, managers, type Part, sooner } from "../part.ts";
import { isWanted } from "../scheduler/node-affinity.ts";
import { atOf, isDeleting, keyOf } from "../shapes/metadata.ts";
import { hardTaints, isTolerated, type Node, taintKeys } from "../shapes/node.ts";
import { availableInMs, isFinished, isReady, type Pod, type PodSpec, type Toleration } from "../shapes/pod.ts";
import type { DaemonSet } from "../shapes/workload.ts";
import { claim } from "./adoption.ts";
import { wakeOwner } from "./owner-key.ts";
import { makePod, unmakePod } from "./pod-making.ts";
import { count } from "./replica-set.ts";
import { amount } from "./rollout.ts";

const revisionLabel = "controller-revision-hash";

/** What every pod of a daemon set tolerates. */
const given: readonly Toleration[] = [
  { key: taintKeys.notReady, operator: "Exists", effect: "NoExecute" },
  { key: taintKeys.unreachable, operator: "Exists", effect: "NoExecute" },
  ...[taintKeys.diskPressure, taintKeys.memoryPressure, taintKeys.pidPressure, taintKeys.unschedulable].map((key) => {
    return { key, operator: "Exists", effect: "NoSchedule" };
  }),
];

export function createDaemonSets(ground: Ground): Part {
  const { server, view, clock, random } = ground;

  function work(key: string): number | undefined {
    const set = view.get<DaemonSet>(kinds.daemonSet, atOf(key));
    if (!set) return undefined;
    const owner = { kind: kinds.daemonSet, object: set, selector: set.spec.selector };
    const pods = claim<Pod>(ground, kinds.pod, owner);
    if (!isDeleting(set) && view.isOpen(set.metadata.namespace ?? "")) reconcile(set, pods);
    return writeStatus(set);
  }

  function reconcile(set: DaemonSet, pods: readonly Pod[]): void {
    const { template } = set.spec;
    const maker = { kind: kinds.daemonSet, object: set, template, by: "daemonset-controller" };
    const nodes = view.list<Node>(kinds.node);
    for (const node of nodes) {
      const here = pods.filter((pod) => nodeOf(pod) === node.metadata.name);
      for (const pod of here) {
        if ((isFinished(pod) || !mayStay(set, node)) && !isDeleting(pod)) unmakePod(ground, maker, pod);
      }
      // The one on its way out keeps its place until it is gone.
      if (here.length > 0 || !belongs(set, node)) continue;
      const generateName = `${set.metadata.name}-`;
      makePod(ground, maker, {
        name: `${generateName}${randomSuffix(random)}`,
        generateName,
        labels: {
          [revisionLabel]: hashText(template),
          "pod-template-generation": String(set.metadata.generation ?? 1),
        },
        spec: boundTo(template.spec, node.metadata.name),
      });
    }
    const names = new Set(nodes.map(({ metadata }) => metadata.name));
    for (const pod of pods) if (!names.has(nodeOf(pod) ?? "") && !isDeleting(pod)) unmakePod(ground, maker, pod);
    if (set.spec.updateStrategy?.type !== "OnDelete")
      update(set, pods, nodes.filter((node) => belongs(set, node)).length);
  }

  /** Old pods go as long as not more than a few are out of work. */
  function update(set: DaemonSet, pods: readonly Pod[], wanted: number): void {
    const maker = { kind: kinds.daemonSet, object: set, template: set.spec.template, by: "daemonset-controller" };
    const revision = hashText(set.spec.template);
    const { maxUnavailable = 1 } = set.spec.updateStrategy?.rollingUpdate ?? {};
    const works = (pod: Pod) =>
      !isDeleting(pod) && availableInMs(pod, set.spec.minReadySeconds ?? 0, clock.now()) === 0;
    const idle = wanted - pods.filter(works).length;
    let room = Math.max(1, amount(maxUnavailable, wanted, Math.ceil)) - idle;
    for (const pod of pods) {
      if (isDeleting(pod) || pod.metadata.labels?.[revisionLabel] === revision) continue;
      // One that does not work anyway costs nothing.
      if (works(pod)) room -= 1;
      if (room < 0) return;
      unmakePod(ground, maker, pod);
    }
  }

  function writeStatus(seen: DaemonSet): number | undefined {
    const set = view.get<DaemonSet>(kinds.daemonSet, seen.metadata);
    if (!set) return undefined;
    const wanted = new Set(
      view
        .list<Node>(kinds.node)
        .filter((node) => belongs(set, node))
        .map(({ metadata }) => metadata.name),
    );
    const pods = view.owned<Pod>(kinds.pod, set.metadata.uid).filter((pod) => !isDeleting(pod) && pod.spec.nodeName);
    const right = pods.filter((pod) => wanted.has(pod.spec.nodeName ?? ""));
    const waits = right.map((pod) => availableInMs(pod, set.spec.minReadySeconds ?? 0, clock.now()));
    const available = waits.filter((ms) => ms === 0).length;
    const revision = hashText(set.spec.template);
    const status = {
      currentNumberScheduled: right.length,
      numberMisscheduled: pods.length - right.length,
      desiredNumberScheduled: wanted.size,
      numberReady: right.filter(isReady).length,
      observedGeneration: set.metadata.generation ?? 0,
      ...count(
        "updatedNumberScheduled",
        right.filter(({ metadata }) => metadata.labels?.[revisionLabel] === revision).length,
      ),
      ...count("numberAvailable", available),
      ...count("numberUnavailable", wanted.size - available),
    };
    if (!isDeepStrictEqual(status, set.status)) {
      server.updateStatus(kinds.daemonSet, { ...set, status }, managers.controllers);
    }
    return waits.filter((ms) => ms !== 0).reduce<number | undefined>(sooner, undefined);
  }

  return {
    name: "daemonSet",
    notice({ kind, object }, wake) {
      if (kind === kinds.daemonSet) wake(keyOf(object.metadata));
      if (kind === kinds.pod) wakeOwner(kinds.daemonSet, object as Pod, wake);
      if (kind === kinds.node) {
        for (const { metadata } of view.list<DaemonSet>(kinds.daemonSet)) wake(keyOf(metadata));
      }
    },
    work,
  };
}

/** Which node it has, or will have: it asks for exactly one. */
function nodeOf({ spec }: Pod): string | undefined {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return spec.nodeName || required?.nodeSelectorTerms[0]?.matchFields?.[0]?.values?.[0];
}

function boundTo(spec: PodSpec, node: string): Partial<PodSpec> {
  const matchFields = [{ key: "metadata.name", operator: "In", values: [node] }];
  const { nodeAffinity } = spec.affinity ?? {};
  const terms = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [{}];
  const required = { nodeSelectorTerms: terms.map((term) => ({ ...term, matchFields })) };
  return {
    affinity: {
      ...spec.affinity,
      nodeAffinity: { ...nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: required },
    },
    tolerations: tolerationsOf(spec),
  };
}

function tolerationsOf(spec: PodSpec): readonly Toleration[] {
  return [...(spec.tolerations ?? []), ...given];
}

function belongs({ spec }: DaemonSet, node: Node): boolean {
  const tolerations = tolerationsOf(spec.template.spec);
  return wants(spec.template.spec, node) && hardTaints(node).every((taint) => isTolerated(taint, tolerations));
}

/** A taint that only keeps new pods away leaves those that are there. */
function mayStay({ spec }: DaemonSet, node: Node): boolean {
  const tolerations = tolerationsOf(spec.template.spec);
  const evicting = hardTaints(node).filter(({ effect }) => effect === "NoExecute");
  return wants(spec.template.spec, node) && evicting.every((taint) => isTolerated(taint, tolerations));
}

function wants(spec: PodSpec, node: Node): boolean {
  return isWanted(node, { spec });
}
