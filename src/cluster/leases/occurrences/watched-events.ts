/**
 * The cluster's Events, as far as they are about our leases, written down. No selector finds them, so all of the cluster
 * pass by, and none is kept: what the journal has of them is what is known.
 */
import type { Journal } from "../../../journal/journal.ts";
import type { OccurrenceRow } from "../../../journal/occurrences.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../../../kube/kube.ts";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { endedBy } from "../../../runtime/ended-by.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";
import { createWakeSignal } from "../../../runtime/wake-signal.ts";
import { leaseTroubleLookMs } from "../../watch-trouble.ts";
import { occurrencesOfLease } from "./health-events.ts";
import { counted, type ObservedEvent, readObservedEvent, whatIsSaid } from "./observed-event.ts";

/** How long Events are gathered before they are written down together. */
const occurrenceGatherMs = second;
/** Events that wait to be written down; then the server is not listened to until they are. */
const occurrencesWaiting = 2_000;
/** Of these in one unit of the journal: a few milliseconds. */
export const occurrenceWrites = 200;

interface WatchedEventsDeps {
  readonly kube: Pick<Kube, "watch">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly clock: Clock;
  readonly log: Log;
  /** Whose namespace it is; undefined where it is none of our leases'. */
  readonly leaseIn: (namespace: string) => string | undefined;
  readonly trouble: () => string | undefined;
  /** The name under which we write Events ourselves: they are in the journal already. */
  readonly controller: string;
  /** Told of every Event by itself, with what its row has become. */
  readonly onRow: (row: OccurrenceRow) => void;
}

export function createWatchedEvents(deps: WatchedEventsDeps) {
  const { kube, journal, clock, log, leaseIn, trouble, controller, onRow } = deps;
  const waiting = new Map<string, ObservedEvent>();
  const counts = { seen: 0, kept: 0 };
  let watch: WatchCache<unknown> | undefined;
  let arrived = Promise.withResolvers<void>();
  let room: PromiseWithResolvers<void> | undefined;
  const gathering = createWakeSignal(clock);

  function project(event: KubeObject): ObservedEvent | undefined {
    const leaseId = leaseIn(event.metadata.namespace ?? "");
    if (leaseId === undefined || event["reportingController"] === controller) return undefined;
    return readObservedEvent(leaseId, event, clock.now());
  }

  function take(seen: ObservedEvent | undefined): void | Promise<void> {
    if (!seen) return;
    counts.seen += 1;
    waiting.set(seen.event, seen);
    arrived.resolve();
    if (waiting.size < occurrencesWaiting) return;
    room ??= Promise.withResolvers();
    gathering.notify();
    return room.promise;
  }

  async function writeDown(): Promise<void> {
    while (waiting.size > 0) {
      const slice = [...waiting.values()].slice(0, occurrenceWrites);
      try {
        await write(slice);
      } catch (thrown) {
        // Somebody else holds the file for a moment.
        if (ProviderError.is(thrown, "AKP_JOURNAL_BUSY")) return arrived.resolve();
        if (ProviderError.is(thrown, "AKP_JOURNAL_CLOSED")) throw thrown;
        // What nobody needs in order to go on must not end us; a file that cannot be written ends us by itself.
        log.error("failed to write down Events", { events: slice.length, error: ProviderError.from(thrown) });
      }
      // What has come meanwhile of the same Event waits on.
      for (const seen of slice) if (waiting.get(seen.event) === seen) waiting.delete(seen.event);
      await clock.yield();
    }
    room?.resolve();
    room = undefined;
  }

  /** After a start or a new list most of it is known. */
  async function write(slice: readonly ObservedEvent[]): Promise<void> {
    const nowMs = clock.now();
    const known = journal.read.occurrences;
    if (!slice.some((seen) => counted(known.get(seen.leaseId, seen.key), seen, nowMs))) return;
    const rows = await journal.relaxed("occurrences", ({ occurrences }) => {
      const written: OccurrenceRow[] = [];
      const leases = new Set<string>();
      for (const seen of slice) {
        const row = counted(occurrences.get(seen.leaseId, seen.key), seen, nowMs);
        if (!row) continue;
        occurrences.record(row);
        written.push({ ...row, ...whatIsSaid(seen) });
        leases.add(row.leaseId);
      }
      for (const leaseId of leases) occurrences.trim(leaseId, "cluster", occurrencesOfLease);
      return written;
    });
    counts.kept += rows.length;
    for (const row of rows) onRow(row);
  }

  /** What is not known yet to be a lease's would be taken for somebody else's. */
  async function untilKnown(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && trouble() !== undefined) await sleep(clock, leaseTroubleLookMs, signal);
  }

  return {
    counts,
    get watch() {
      return watch;
    },
    async run(signal: AbortSignal): Promise<void> {
      await untilKnown(signal);
      watch = kube.watch({ kind: kinds.event, passing: true, project, handle: ({ value }) => take(value) });
      try {
        while (!signal.aborted) {
          await endedBy(arrived.promise, signal);
          arrived = Promise.withResolvers();
          await gathering.wait(occurrenceGatherMs, signal);
          await writeDown();
        }
      } finally {
        await watch.close();
      }
    },
  };
}
