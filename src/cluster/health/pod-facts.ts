/** What health needs to know of a pod. Little is kept of one that is well: there are thousands of them. */
import { conditionHolds, fieldsOf, recordsOf, textOf } from "../../kube/json-fields.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { serviceLabel } from "../../kube/objects/lease-labels.ts";
import { parseTime } from "../../runtime/clock.ts";
import { endedPodTrouble, type PodTrouble, podTrouble } from "./pod-trouble.ts";

export interface PodFacts {
  /** Of the manifest; empty where it does not say. */
  readonly service: string;
  /** Made by a stateful set; else by a deployment. */
  readonly ofSet: boolean;
  /** Of a stateful set: which of its replicas it is. */
  readonly ordinal?: number;
  readonly createdAtMs: number;
  /** "leaving": on its way out. "ended": all its containers have, and none is started again. */
  readonly state: "ready" | "unready" | "leaving" | "ended";
  /** The node that it is or was on. */
  readonly on: string | undefined;
  /** What keeps it from being ready, or ended it; undefined for one that merely starts. */
  readonly trouble: PodTrouble | undefined;
  /** When it ended, as far as that is told. */
  readonly endedAtMs: number | undefined;
}

export function podFacts(pod: KubeObject): PodFacts {
  const { name, labels, creationTimestamp = "" } = pod.metadata;
  const state = stateOf(pod);
  const createdAtMs = parseTime(creationTimestamp);
  const ofSet = recordsOf(fieldsOf(pod.metadata)["ownerReferences"]).some(({ kind }) => kind === "StatefulSet");
  return {
    service: labels?.[serviceLabel] ?? "",
    ofSet,
    ...(ofSet && { ordinal: Number(name.slice(name.lastIndexOf("-") + 1)) }),
    createdAtMs: Number.isNaN(createdAtMs) ? 0 : createdAtMs,
    state,
    on: textOf(fieldsOf(pod["spec"])["nodeName"]) || undefined,
    trouble: state === "unready" ? podTrouble(pod) : state === "ended" ? endedPodTrouble(pod) : undefined,
    endedAtMs: state === "ended" ? lastChangeMs(pod) : undefined,
  };
}

function stateOf(pod: KubeObject): PodFacts["state"] {
  const { phase, conditions } = fieldsOf(pod["status"]);
  if (pod.metadata.deletionTimestamp !== undefined) return "leaving";
  if (phase === "Succeeded" || phase === "Failed") return "ended";
  return conditionHolds(conditions, "Ready") ? "ready" : "unready";
}

function lastChangeMs(pod: KubeObject): number | undefined {
  const { conditions, containerStatuses, startTime } = fieldsOf(pod["status"]);
  const ends = recordsOf(containerStatuses).map(({ state }) => fieldsOf(fieldsOf(state)["terminated"])["finishedAt"]);
  const changes = recordsOf(conditions).map(({ lastTransitionTime }) => lastTransitionTime);
  const times = [...ends, ...changes, startTime].map((each) => parseTime(textOf(each) ?? "")).filter((ms) => ms > 0);
  return times.length > 0 ? Math.max(...times) : undefined;
}
