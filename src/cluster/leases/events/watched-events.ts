/**
 * Writes down the Kubernetes Events about our leases, each as one row, so that they outlive the hour for which the API server
 * keeps them. No selector finds them, so all Events of the cluster pass by, and none is kept in memory.
 */
import type { Journal } from "../../../journal/journal.ts";
import type { OccurrenceRow } from "../../../journal/occurrences.ts";
import { fieldsOf, textOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../../../kube/kube.ts";
import { parseTime, sleep } from "../../../runtime/clock.ts";
import type { RuntimeDeps } from "../../../runtime/deps.ts";
import { day, minute, second } from "../../../runtime/durations.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { cacheLookMs } from "../../cache-error.ts";
import {
  eventNameChars,
  eventNoteChars,
  eventReasonChars,
  eventRowsOfLease,
  keyOf,
  printableText,
} from "./lease-history.ts";

/** Events that are written at once; beyond, the API server is not read until one of them is. */
export const eventsUnderWay = 200;
/** Pause after a write that found the journal locked. */
const eventRetryMs = second;
/** By how much the clock of a node may be off: ahead of ours, and behind the server's when that made the Event. */
const clockAheadMs = minute;
const clockBehindMs = day;

interface WatchedEventsDeps extends Pick<RuntimeDeps, "clock" | "log"> {
  readonly kube: Pick<Kube, "watch">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
  /** Whose namespace it is; undefined where it is none of our leases'. */
  readonly leaseIn: (namespace: string) => string | undefined;
  /** Why it is not known yet which namespaces are whose. */
  readonly cacheError: () => string | undefined;
  /** The name under which we write Events ourselves: they are in the journal already. */
  readonly controller: string;
  readonly onRow: (row: OccurrenceRow) => void;
}

export function createWatchedEvents(deps: WatchedEventsDeps) {
  const { kube, journal, clock, log, leaseIn, cacheError, controller, onRow } = deps;
  const counts = { seen: 0, kept: 0 };
  const underWay = new Set<Promise<void>>();
  let watch: WatchCache<unknown> | undefined;

  function project(event: KubeObject): OccurrenceRow | undefined {
    const leaseId = leaseIn(event.metadata.namespace ?? "");
    if (leaseId === undefined || event["reportingController"] === controller) return undefined;
    return readObservedEvent(leaseId, event, clock.now());
  }

  function take(row: OccurrenceRow, signal: AbortSignal): Promise<void> | undefined {
    counts.seen += 1;
    const writing = write(row, signal).finally(() => underWay.delete(writing));
    underWay.add(writing);
    return underWay.size < eventsUnderWay ? undefined : Promise.race(underWay);
  }

  async function write(seen: OccurrenceRow, signal: AbortSignal): Promise<void> {
    const { leaseId, key } = seen;
    // After a start or a new list most of them are known.
    if (!updated(journal.read.occurrences.get(leaseId, key), seen)) return;
    try {
      const row = await journal.relaxed("occurrences", ({ occurrences }) => {
        const now = updated(occurrences.get(leaseId, key), seen);
        if (now) occurrences.record(now);
        if (now) occurrences.trim(leaseId, "cluster", eventRowsOfLease);
        return now;
      });
      if (!row) return;
      counts.kept += 1;
      onRow(row);
    } catch (thrown) {
      if (signal.aborted) return;
      if (ProviderError.is(thrown, "AKP_JOURNAL_BUSY")) {
        await sleep(clock, eventRetryMs, signal).catch(() => undefined);
        return write(seen, signal);
      }
      // An Event that is lost stops nothing; a file that cannot be written ends the process by itself.
      log.error("failed to write down an Event", { lease: leaseId, error: ProviderError.from(thrown) });
    }
  }

  return {
    counts,
    get watch() {
      return watch;
    },
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted && cacheError() !== undefined) await sleep(clock, cacheLookMs, signal);
      if (signal.aborted) return;
      const handle = ({ value }: { readonly value: OccurrenceRow | undefined }) => value && take(value, signal);
      watch = kube.watch({ kind: kinds.event, uncached: true, project, handle });
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await watch.close();
    },
  };
}

/** The row with what is new; undefined where it is known. A restored cluster counts from less than was seen. */
function updated(before: OccurrenceRow | undefined, seen: OccurrenceRow): OccurrenceRow | undefined {
  if (!before) return seen;
  if (seen.count <= before.count) return undefined;
  const lastAtMs = Math.max(before.lastAtMs, seen.lastAtMs);
  return { ...seen, firstAtMs: Math.min(before.firstAtMs, seen.firstAtMs), lastAtMs };
}

/**
 * In either of its two forms: with a count and its first and last time, as kubelets and most controllers write it in the core
 * group, or as a series, as the scheduler does.
 */
export function readObservedEvent(leaseId: string, event: KubeObject, nowMs: number): OccurrenceRow {
  const regarding = fieldsOf(event["regarding"]);
  const series = fieldsOf(event["series"]);
  const text = (value: unknown, mostChars = eventReasonChars) => printableText(textOf(value) ?? "", mostChars);
  const { eventTime, deprecatedFirstTimestamp, deprecatedLastTimestamp } = event;
  const latestMs = nowMs + clockAheadMs;
  const [madeMs = nowMs] = timesIn([event.metadata.creationTimestamp], Number.NEGATIVE_INFINITY, latestMs);
  // A node whose clock is far off does not know when it was: the server does.
  const timeOf = (...texts: unknown[]) => timesIn(texts, madeMs - clockBehindMs, latestMs)[0] ?? madeMs;
  const lastAtMs = Math.min(timeOf(series["lastObservedTime"], deprecatedLastTimestamp, eventTime), nowMs);
  return {
    ...{ leaseId, origin: "cluster", counted: "" },
    // By its name, in which there is a time: one that was deleted is made again under it, and goes on counting.
    key: keyOf(leaseId, event.metadata.name),
    type: event["type"] === "Normal" ? "Normal" : "Warning",
    reason: text(event["reason"]),
    note: text(event["note"], eventNoteChars),
    object: `${text(regarding["kind"])} ${text(regarding["name"], eventNameChars)}`,
    reportingController: text(event["reportingController"]),
    reportingInstance: text(event["reportingInstance"]),
    count: Math.max(wholeNumber(series["count"]), wholeNumber(event["deprecatedCount"]), 1),
    firstAtMs: Math.min(timeOf(deprecatedFirstTimestamp, eventTime), lastAtMs),
    lastAtMs,
  };
}

function timesIn(texts: readonly unknown[], earliestMs: number, latestMs: number): number[] {
  const times = texts.map((text) => parseTime(textOf(text) ?? ""));
  return times.filter((ms) => ms >= earliestMs && ms <= latestMs);
}

function wholeNumber(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : 0;
}
