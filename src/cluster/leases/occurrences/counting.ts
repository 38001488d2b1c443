/**
 * Adds an Event to the row of what it is the same as. Several Events share a row, each counts by itself and is seen again
 * after every start and every new list; so the row knows how often each of the newest was counted, and up to when all that
 * it no longer knows were. In doubt it counts too few: what happened once is never told twice.
 */
import type { OccurrenceRow } from "../../../journal/occurrences.ts";
import type { Sighting } from "./sighting.ts";

/** Events of which a row knows how often each was counted: the pods of a large service. Beyond, it counts too few. */
export const occurrenceEvents = 32;

/** Of each Event that is known: how often it was counted, and when it was last heard of. */
type Known = Readonly<Record<string, readonly [count: number, lastMs: number]>>;

interface Counted {
  /** What happened later is not in the events that were forgotten. */
  readonly forgottenMs: number;
  readonly events: Known;
}

/** The row with what is new; undefined where nothing is. */
export function counted(row: OccurrenceRow | undefined, seen: Sighting, nowMs: number): OccurrenceRow | undefined {
  const before = row ? readCounted(row.counted) : { forgottenMs: Number.NEGATIVE_INFINITY, events: {} };
  // A digest: eight signs tell those of one row apart.
  const id = seen.event.slice(0, 8);
  const more = moreThan(before, id, seen);
  if (more <= 0) return undefined;
  // A node whose clock is ahead must not have the last word for good.
  const lastAtMs = Math.min(seen.lastMs, nowMs);
  const firstAtMs = Math.min(seen.firstMs, lastAtMs);
  const isNewest = !row || lastAtMs >= row.lastAtMs;
  const { leaseId, key, type, reason } = seen;
  const known = before.events[id]?.[0] ?? 0;
  const after = forget({ ...before.events, [id]: [Math.max(known, seen.count), seen.lastMs] }, before.forgottenMs);
  return {
    ...{ leaseId, key, origin: "cluster", type, reason },
    ...whatIsSaid(isNewest ? seen : row),
    count: (row?.count ?? 0) + more,
    firstAtMs: Math.min(row?.firstAtMs ?? firstAtMs, firstAtMs),
    lastAtMs: Math.max(row?.lastAtMs ?? lastAtMs, lastAtMs),
    counted: JSON.stringify(after),
  };
}

/** What several Events that are the same may say each in its own way. */
export function whatIsSaid({ object, note, reportingController, reportingInstance }: Sighting | OccurrenceRow) {
  return { object, note, reportingController, reportingInstance };
}

function moreThan({ events, forgottenMs }: Counted, id: string, { count, firstMs, lastMs }: Sighting): number {
  const known = Object.hasOwn(events, id) ? events[id] : undefined;
  if (known) return count - known[0];
  if (firstMs > forgottenMs) return count;
  // It may be one that was forgotten, and has happened since.
  return lastMs > forgottenMs ? 1 : 0;
}

function forget(events: Known, forgottenMs: number): Counted {
  const newestFirst = Object.entries(events).sort(([, [, a]], [, [, b]]) => b - a);
  const gone = newestFirst.slice(occurrenceEvents).map(([, [, lastMs]]) => lastMs);
  return {
    forgottenMs: Math.max(forgottenMs, ...gone),
    events: Object.fromEntries(newestFirst.slice(0, occurrenceEvents)),
  };
}

/** Written by us, but negative infinity is null in JSON. */
function readCounted(text: string): Counted {
  const { forgottenMs, events } = JSON.parse(text) as { forgottenMs: number | null; events: Known };
  return { forgottenMs: forgottenMs ?? Number.NEGATIVE_INFINITY, events };
}
