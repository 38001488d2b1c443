/**
 * Writes Kubernetes Events for `kubectl describe`, at a bounded pace; repeated ones are counted in one series. Nothing waits for
 * them. events.k8s.io/v1, where repetition is a series of its own and the server validates.
 */
import { createHash } from "node:crypto";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { minute, second } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import { done, type Outcome, recheck } from "../runtime/outcome.ts";
import { createQueue } from "../runtime/queue.ts";
import { createTokenBucket } from "../runtime/throttle.ts";
import { microTime } from "./json-fields.ts";
import { kinds } from "./kinds.ts";
import type { Kube, KubeObject } from "./kube.ts";
import { type OwnedFields, ownedFields } from "./owned-fields.ts";

/** Events written a minute by one process: those of a thousand nodes are written within twenty minutes. */
export const eventsPerMinute = 60;
/** Series kept in memory; a kilobyte each. */
export const eventsKept = 1_000;
/** Least time between Events of the same object and reason with different notes. */
const eventRestMs = 5 * minute;
/** Interval of updates of a series. The API server deletes Events after an hour. */
const eventRepeatMs = 10 * minute;

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  /** Without it `kubectl describe` does not find the Event; `kubectl get events` does. */
  readonly uid?: string;
}

export interface EventToRecord {
  readonly regarding: ObjectReference;
  readonly type: "Normal" | "Warning";
  /** In CamelCase: "DiscoveryMissing". */
  readonly reason: string;
  /** What the controller did: "Look". */
  readonly action: string;
  /** A sentence for kubectl. */
  readonly note: string;
}

interface EventRecorderOptions {
  /** "akash.network/operator-inventory" */
  readonly controller: string;
  /** The name of the pod. */
  readonly instance: string;
}

interface EventRecorderDeps extends RuntimeDeps {
  readonly kube: Pick<Kube, "apply" | "fieldManager">;
}

export type EventRecorder = ReturnType<typeof createEventRecorder>;

/** One Event, and when it was last written. */
interface Series {
  readonly occurrence: EventToRecord;
  readonly firstMs: number;
  lastMs: number;
  count: number;
  writtenMs: number | undefined;
  live: OwnedFields | null;
}

export function createEventRecorder(options: EventRecorderOptions, deps: EventRecorderDeps) {
  const { kube, clock, log } = deps;
  const mayWrite = createTokenBucket({ atOnce: eventsPerMinute, perS: eventsPerMinute / 60 }, clock);
  /** By object and reason, the least recently recorded first. */
  const all = new Map<string, Series>();
  const counts = { written: 0, failed: 0 };
  let lastError = "";
  const queue = createQueue({ name: "events", work, concurrency: 1, maxKeys: eventsKept, ...deps });

  /** A lasting state is recorded again and again, as often as the caller likes. */
  function record(occurrence: EventToRecord): void {
    const key = keyOf(occurrence);
    const nowMs = clock.now();
    const before = all.get(key);
    const isNew = before?.occurrence.note !== occurrence.note;
    // A note with a changing number would otherwise be an Event each time.
    if (before && isNew && nowMs - before.firstMs < eventRestMs) return;
    const series = isNew || !before ? begin(occurrence, nowMs) : before;
    series.count += 1;
    series.lastMs = nowMs;
    all.delete(key);
    const [oldest] = all.keys();
    if (all.size >= eventsKept && oldest !== undefined) all.delete(oldest);
    all.set(key, series);
    if (series.writtenMs === undefined || nowMs - series.writtenMs >= eventRepeatMs) queue.add(key);
  }

  async function work(key: string, signal: AbortSignal): Promise<Outcome> {
    const series = all.get(key);
    if (!series) return done();
    if (!mayWrite()) return recheck(second);
    try {
      const { live } = series;
      const { object } = await kube.apply(kinds.event, eventOf(series, options), { live, force: true, signal });
      series.live = object ? ownedFields(object, kube.fieldManager) : series.live;
      series.writtenMs = clock.now();
      counts.written += 1;
    } catch (thrown) {
      const error = ProviderError.from(thrown);
      counts.failed += 1;
      if (error.message !== lastError)
        log.info("failed to write an Event", { code: error.code, reason: error.message });
      lastError = error.message;
    }
    return done();
  }

  return { record, run: (signal: AbortSignal) => queue.run(signal), queue, counts };
}

function begin(occurrence: EventToRecord, nowMs: number): Series {
  return { occurrence, firstMs: nowMs, lastMs: nowMs, count: 0, writtenMs: undefined, live: null };
}

function keyOf({ regarding: { kind, namespace = "", name }, reason }: EventToRecord): string {
  return [kind, namespace, name, reason].join("/");
}

function eventOf({ occurrence, firstMs, lastMs, count }: Series, options: EventRecorderOptions): KubeObject {
  const { regarding, note, reason, action, type } = occurrence;
  const digest = createHash("sha256")
    .update([keyOf(occurrence), firstMs, options.instance].join())
    .digest("hex");
  return {
    metadata: {
      name: `${regarding.name.slice(0, longestName)}.${digest.slice(0, 16)}`,
      // Events about cluster-scoped objects have to be in this namespace.
      namespace: regarding.namespace ?? "default",
    },
    regarding,
    type,
    reason,
    action,
    note: cutToBytes(note, longestNoteBytes),
    reportingController: options.controller,
    reportingInstance: options.instance.slice(0, longestInstance),
    eventTime: microTime(firstMs),
    ...(count > 1 && { series: { count, lastObservedTime: microTime(lastMs) } }),
  };
}

/** Limits of the API server: of a name before a dot and 16 digits, of a note, of an instance. */
const longestName = 236;
const longestNoteBytes = 1_024;
const longestInstance = 128;

function cutToBytes(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  const room = mostBytes - Buffer.byteLength("…");
  // A character that was cut in two becomes a replacement character.
  return `${bytes
    .subarray(0, room)
    .toString()
    .replace(/\uFFFD+$/, "")}…`;
}
