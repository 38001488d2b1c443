/**
 * Writes Kubernetes Events for `kubectl describe`, at a bounded pace; repeated ones are counted in one series. Nothing waits for
 * them. events.k8s.io/v1, where repetition is a series of its own and the server validates.
 */
import { createHash } from "node:crypto";
import { type Clock, formatTime } from "../runtime/clock.ts";
import { minute } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { Log } from "../runtime/log.ts";
import { done, type Outcome, recheck } from "../runtime/outcome.ts";
import { createQueue, type Queue } from "../runtime/queue.ts";
import type { Random } from "../runtime/random.ts";
import { kinds } from "./kinds.ts";
import type { Kube, KubeObject } from "./kube.ts";
import { type OwnedFields, ownedFields } from "./owned-fields.ts";

/** Events written a minute, by one process: a thousand nodes in trouble are told within twenty minutes. */
export const eventsPerMinute = 60;
/** Objects and reasons of which it is known that an Event tells of them; a kilobyte each. */
export const eventsKept = 1_000;
/** How soon an Event may be followed by another of the same object and reason, with other words. */
const eventRestMs = 5 * minute;
/** How often an Event is told to go on. The API server forgets it after an hour. */
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
  /** A word for programs: "DiscoveryMissing". */
  readonly reason: string;
  /** What we were doing: "Look". */
  readonly action: string;
  /** For people. */
  readonly note: string;
}

export interface EventRecorder {
  /** What lasts is said again and again, as often as one likes. */
  record(occurrence: EventToRecord): void;
  run(signal: AbortSignal): Promise<void>;
  readonly queue: Queue;
  readonly counts: Readonly<EventCounts>;
}

interface EventCounts {
  written: number;
  /** Could not be written; said again, they are tried again. */
  failed: number;
}

interface EventRecorderOptions {
  /** "akash.network/operator-inventory" */
  readonly controller: string;
  /** Which of its processes; the name of its pod. */
  readonly instance: string;
}

interface EventRecorderDeps {
  readonly kube: Pick<Kube, "apply" | "fieldManager">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** One Event, and what of it was told. */
interface Series {
  readonly occurrence: EventToRecord;
  readonly firstMs: number;
  lastMs: number;
  count: number;
  toldMs: number | undefined;
  live: OwnedFields | null;
}

export function createEventRecorder(options: EventRecorderOptions, deps: EventRecorderDeps): EventRecorder {
  const { kube, clock, log } = deps;
  const pace = createPace(clock);
  /** By object and reason, the longest unheard first. */
  const all = new Map<string, Series>();
  const counts = { written: 0, failed: 0 };
  let complained = "";
  const queue = createQueue({ name: "events", work, concurrency: 1, maxKeys: eventsKept, ...deps });

  function record(occurrence: EventToRecord): void {
    const key = keyOf(occurrence);
    const nowMs = clock.now();
    const before = all.get(key);
    const isNew = before?.occurrence.note !== occurrence.note;
    // A note that changes all the time, like a number in it, would otherwise be an Event each time.
    if (before && isNew && nowMs - before.firstMs < eventRestMs) return;
    const series = isNew || !before ? begin(occurrence, nowMs) : before;
    series.count += 1;
    series.lastMs = nowMs;
    all.delete(key);
    const [oldest] = all.keys();
    if (all.size >= eventsKept && oldest !== undefined) all.delete(oldest);
    all.set(key, series);
    if (series.toldMs === undefined || nowMs - series.toldMs >= eventRepeatMs) queue.add(key);
  }

  async function work(key: string, signal: AbortSignal): Promise<Outcome> {
    const series = all.get(key);
    if (!series) return done();
    const waitMs = pace.waitMs();
    if (waitMs > 0) return recheck(waitMs);
    pace.take();
    try {
      const { live } = series;
      const { object } = await kube.apply(kinds.event, eventOf(series, options), { live, force: true, signal });
      series.live = object ? ownedFields(object, kube.fieldManager) : series.live;
      series.toldMs = clock.now();
      counts.written += 1;
    } catch (thrown) {
      const error = ProviderError.from(thrown);
      counts.failed += 1;
      if (error.message !== complained)
        log.info("failed to write an Event", { code: error.code, reason: error.message });
      complained = error.message;
    }
    return done();
  }

  return { record, run: (signal) => queue.run(signal), queue, counts };
}

function begin(occurrence: EventToRecord, nowMs: number): Series {
  return { occurrence, firstMs: nowMs, lastMs: nowMs, count: 0, toldMs: undefined, live: null };
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
      // Where Events about objects without a namespace have to be.
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

/** What the API server takes: of a name with a dot and 16 digits after it, of a note, of an instance. */
const longestName = 236;
const longestNoteBytes = 1_024;
const longestInstance = 128;
const minuteMs = 60_000;

function cutToBytes(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  const room = mostBytes - Buffer.byteLength("…");
  // A letter that was cut in two reads as a replacement character.
  return `${bytes
    .subarray(0, room)
    .toString()
    .replace(/\uFFFD+$/, "")}…`;
}

/** With exactly six digits after the second. */
function microTime(ms: number): string {
  return formatTime(ms).replace("Z", "000Z");
}

/** So many a minute, and as many at once after a rest. */
function createPace(clock: Clock) {
  const everyMs = minuteMs / eventsPerMinute;
  /** Up to when the writes so far have used the pace up. */
  let usedMs = Number.NEGATIVE_INFINITY;
  return {
    waitMs: () => Math.max(0, usedMs + everyMs - minuteMs - clock.monotonicMs()),
    take() {
      usedMs = Math.max(usedMs, clock.monotonicMs()) + everyMs;
    },
  };
}
