/**
 * Events about objects, in bounded number. The same event again only raises a count. The scheduler writes them in the
 * newer way (eventTime, series), the kubelet and the controllers in the older one, as in a real cluster.
 */

import { apiVersionOf, type Kind, kinds } from "../../../kube/kinds.ts";
import type { KubeObject, ObjectAt } from "../../../kube/kube.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { limits } from "../../../runtime/limits.ts";
import type { ApiServer } from "../api-server/api-server.ts";
import type { Stored } from "./shapes/metadata.ts";
import { microStampOf, stampOf } from "./shapes/time.ts";
import type { View } from "./view.ts";

export interface Occurrence {
  readonly kind: Kind;
  readonly object: Stored;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
  /** Who says so: "kubelet", "default-scheduler", "replicaset-controller". */
  readonly by: string;
  readonly node?: string | undefined;
  /** Which container of a pod it is about. */
  readonly fieldPath?: string | undefined;
  /** Given by those who write events in the newer way. */
  readonly action?: string;
}

export interface EventRecorder {
  record(occurrence: Occurrence): void;
}

export function createEventRecorder(server: ApiServer, view: View, clock: Clock): EventRecorder {
  /** Where each event is and when it happened, the last one at the end. */
  const known = new Map<string, { readonly at: ObjectAt; readonly lastMs: number }>();
  let written = 0;

  function record(occurrence: Occurrence): void {
    const { object, reason, note, fieldPath = "", by } = occurrence;
    const namespace = object.metadata.namespace ?? "default";
    // A namespace on its way out takes no new objects; a real component loses its events there too.
    if (!view.isOpen(namespace)) return;
    const what = [object.metadata.uid, reason, note, fieldPath, by].join("\n");
    const before = view.get(kinds.event, known.get(what)?.at ?? { name: "" });
    const name = before?.metadata.name ?? nameFor(object.metadata.name);
    known.delete(what);
    known.set(what, { at: { namespace, name }, lastMs: clock.now() });
    if (before) server.update(kinds.event, again(before, clock.now()), by);
    else server.create(kinds.event, { ...event(occurrence, clock.now()), metadata: { name, namespace } }, by);
    dropOld();
  }

  /** A real one ends with the time in nanoseconds; a count makes up for a clock of milliseconds. */
  function nameFor(regarding: string): string {
    written += 1;
    return `${regarding}.${clock.now().toString(16)}${(written & 0xfffff).toString(16).padStart(5, "0")}`;
  }

  function dropOld(): void {
    for (const [what, { at, lastMs }] of known) {
      if (known.size <= limits.simulatedEvents && clock.now() - lastMs <= limits.simulatedEventMs) return;
      known.delete(what);
      server.delete(kinds.event, at);
    }
  }

  return { record };
}

function event(occurrence: Occurrence, nowMs: number): Omit<KubeObject, "metadata"> {
  const { kind, object, type, reason, note, by, node, fieldPath, action } = occurrence;
  const { namespace, name, uid } = object.metadata;
  return {
    type,
    reason,
    note,
    regarding: {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      name,
      uid,
      ...(namespace === undefined ? {} : { namespace }),
      ...(fieldPath === undefined ? {} : { fieldPath }),
    },
    ...(action === undefined ? olderWay(by, node, nowMs) : newerWay(by, action, nowMs)),
  };
}

function newerWay(by: string, action: string, nowMs: number): Record<string, unknown> {
  return { eventTime: microStampOf(nowMs), reportingController: by, reportingInstance: `${by}-control-plane`, action };
}

function olderWay(by: string, node: string | undefined, nowMs: number): Record<string, unknown> {
  return {
    eventTime: null,
    reportingController: by,
    reportingInstance: node ?? "",
    deprecatedSource: { component: by, ...(node === undefined ? {} : { host: node }) },
    deprecatedFirstTimestamp: stampOf(nowMs),
    deprecatedLastTimestamp: stampOf(nowMs),
    deprecatedCount: 1,
  };
}

function again(before: Stored, nowMs: number): KubeObject {
  if (before["eventTime"] === null) {
    const deprecatedCount = Number(before["deprecatedCount"]) + 1;
    return { ...before, deprecatedCount, deprecatedLastTimestamp: stampOf(nowMs) };
  }
  const { count } = (before["series"] as { count: number } | undefined) ?? { count: 1 };
  return { ...before, series: { count: count + 1, lastObservedTime: microStampOf(nowMs) } };
}

/** Events of one container carry its place in the pod. */
export function containerPath(list: "containers" | "initContainers", name: string): string {
  return `spec.${list}{${name}}`;
}
