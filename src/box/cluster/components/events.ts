/** Events about objects, in bounded number: the same event again only raises its count. */
import { apiVersionOf, type Kind, kinds } from "../../../kube/kinds.ts";
import type { ObjectAt } from "../../../kube/kube.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { limits } from "../../../runtime/limits.ts";
import type { ApiServer } from "../api-server/in-process.ts";
import type { Stored } from "./shapes/metadata.ts";
import { stampOf } from "./shapes/time.ts";
import type { View } from "./view.ts";

export interface Events {
  tell(about: About, type: "Normal" | "Warning", reason: string, note: string): void;
}

interface About {
  readonly kind: Kind;
  readonly object: Stored;
  /** Who says so: "kubelet", "default-scheduler". */
  readonly by: string;
  readonly node?: string | undefined;
  readonly container?: string;
}

export function createEvents(server: ApiServer, view: View, clock: Clock): Events {
  /** Where each event is and when it happened, the last one at the end. */
  const known = new Map<string, { readonly at: ObjectAt; readonly lastMs: number }>();
  let written = 0;

  function tell(about: About, type: string, reason: string, note: string): void {
    const { object, by, container = "" } = about;
    const namespace = object.metadata.namespace ?? "default";
    // A namespace on its way out takes no new objects; a real component loses its events there too.
    if (!view.isOpen(namespace)) return;
    const what = [object.metadata.uid, reason, note, container, by].join("\n");
    const before = view.get(kinds.event, known.get(what)?.at ?? { name: "" });
    const name = before?.metadata.name ?? nameFor(object.metadata.name);
    known.delete(what);
    known.set(what, { at: { namespace, name }, lastMs: clock.now() });
    const now = { deprecatedLastTimestamp: stampOf(clock.now()) };
    if (before) {
      const deprecatedCount = Number(before["deprecatedCount"]) + 1;
      server.update(kinds.event, { ...before, ...now, deprecatedCount }, by);
    } else {
      const first = { type, reason, note, deprecatedFirstTimestamp: stampOf(clock.now()), deprecatedCount: 1 };
      server.create(kinds.event, { metadata: { name, namespace }, ...first, ...now, ...saidOf(about) }, by);
    }
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

  return { tell };
}

/** In the older way, with counts and seconds, as kubelets and most controllers still do. */
function saidOf({ kind, object, by, node = "", container }: About): Record<string, unknown> {
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
    eventTime: null,
    reportingController: by,
    reportingInstance: node,
    deprecatedSource: { component: by, host: node },
  };
}
