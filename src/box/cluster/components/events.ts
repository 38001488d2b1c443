/** Events about objects, in bounded number: the same event again only raises its count. */
import { apiVersionOf, type Kind, kinds } from "../../../kube/kinds.ts";
import type { ObjectAt } from "../../../kube/kube.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { hour } from "../../../runtime/durations.ts";
import type { ApiServer } from "../api-server/in-process.ts";
import type { Stored } from "./shapes/metadata.ts";
import { microStampOf, stampOf } from "./shapes/time.ts";
import type { View } from "./view.ts";

/** Events that are kept: those of the last few hundred pods; a real cluster keeps an hour of them. */
const simulatedEvents = 2_000;
const simulatedEventMs = hour;

export interface Events {
  record(about: About, type: "Normal" | "Warning", reason: string, note: string): void;
}

interface About {
  readonly kind: Kind;
  readonly object: Stored;
  /** Who says so: "kubelet", "default-scheduler". */
  readonly by: string;
  readonly node?: string | undefined;
  readonly container?: string;
  /** What it was doing; with it, the Event is one of the newer way, in which what happens again is a series. */
  readonly action?: string;
}

export function createEvents(server: ApiServer, view: View, clock: Clock): Events {
  /** Where each event is and when it happened, the last one at the end. */
  const known = new Map<string, { readonly at: ObjectAt; readonly lastMs: number }>();
  let written = 0;

  function record(about: About, type: string, reason: string, note: string): void {
    const { object, by, container = "" } = about;
    const namespace = object.metadata.namespace ?? "default";
    // A namespace on its way out takes no new objects; a real component loses its events there too.
    if (!view.isOpen(namespace)) return;
    const what = [object.metadata.uid, reason, note, container, by].join("\n");
    const before = view.get(kinds.event, known.get(what)?.at ?? { name: "" });
    const name = before?.metadata.name ?? nameFor(object.metadata.name);
    known.delete(what);
    known.set(what, { at: { namespace, name }, lastMs: clock.now() });
    if (before) server.update(kinds.event, { ...before, ...again(before) }, by);
    else {
      const times =
        about.action !== undefined ? { eventTime: microStampOf(clock.now()) } : firstTimes(stampOf(clock.now()));
      const said = { type, reason, note, ...saidOf(about), ...times };
      server.create(kinds.event, { metadata: { name, namespace }, ...said }, by);
    }
    dropOld();
  }

  function again({ deprecatedCount, series }: Stored): Record<string, unknown> {
    const now = stampOf(clock.now());
    if (typeof deprecatedCount === "number")
      return { deprecatedCount: deprecatedCount + 1, deprecatedLastTimestamp: now };
    const { count = 1 } = (series ?? {}) as { count?: number };
    return { series: { count: count + 1, lastObservedTime: microStampOf(clock.now()) } };
  }

  /** A real one ends with the time in nanoseconds; a count makes up for a clock of milliseconds. */
  function nameFor(regarding: string): string {
    written += 1;
    return `${regarding}.${clock.now().toString(16)}${(written & 0xfffff).toString(16).padStart(5, "0")}`;
  }

  function dropOld(): void {
    for (const [what, { at, lastMs }] of known) {
      if (known.size <= simulatedEvents && clock.now() - lastMs <= simulatedEventMs) return;
      known.delete(what);
      server.delete(kinds.event, at);
    }
  }

  return { record: record };
}

/** In the older way, with counts and seconds, as kubelets and most controllers still do. */
function firstTimes(now: string): Record<string, unknown> {
  return { eventTime: null, deprecatedFirstTimestamp: now, deprecatedLastTimestamp: now, deprecatedCount: 1 };
}

function saidOf({ kind, object, by, node = "", container, action }: About): Record<string, unknown> {
  const { namespace, name, uid } = object.metadata;
  return {
    regarding: {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      name,
      uid,
      ...(namespace === undefined ? {} : { namespace }),
      ...(container === undefined ? {} : { fieldPath: `spec.containers{${container}}` }),
    },
    reportingController: by,
    ...(action === undefined
      ? { reportingInstance: node, deprecatedSource: { component: by, host: node } }
      : { reportingInstance: `${by}-control-plane`, action }),
  };
}
