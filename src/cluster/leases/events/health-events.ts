/**
 * Events of our own: something of a lease has become unhealthy, or is healthy again. Written down from its beginning to its
 * end, across restarts, and recorded once each in the cluster too.
 */
import type { Journal } from "../../../journal/journal.ts";
import { type OccurrenceRow, stillSo } from "../../../journal/occurrences.ts";
import type { EventRecorder, EventToRecord, ObjectReference } from "../../../kube/event-recorder.ts";
import { apiVersionOf } from "../../../kube/kinds.ts";
import { readLeaseId } from "../../../kube/objects/lease-labels.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import type { RuntimeDeps } from "../../../runtime/deps.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { done, type Outcome, recheck } from "../../../runtime/outcome.ts";
import { createQueue } from "../../../runtime/queue.ts";
import { type HealthProblem, type HealthView, healthStartingMs } from "../../health/lease-health.ts";
import type { LiveObjects } from "../live-objects.ts";
import { eventNameChars, eventNoteChars, eventRowsOfLease, keyOf, ourselves, printableText } from "./lease-history.ts";

/** What is over sooner is not reported: a pod that waits for its node or its volume. */
const problemBeginsMs = 15 * second;
/** In a crash loop a container runs for a moment between two crashes. */
export const problemOverMs = 2 * minute;

interface HealthEventDeps extends RuntimeDeps {
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly health: HealthView;
  readonly recordEvent: RecordEvent;
  readonly onRow: (row: OccurrenceRow) => void;
}

export function createHealthEvents({ journal, health, recordEvent, onRow, ...deps }: HealthEventDeps) {
  const { clock } = deps;
  const queue = createQueue({ name: "judgements", work, ...deps });
  /** Since when a problem that was written down is not seen any more. */
  const unseenSince = new Map<string, number>();

  /** Runs when a lease's health changes, and again once what has begun or ended has lasted for a while. */
  async function work(leaseId: string): Promise<Outcome> {
    const now = health.get(leaseId);
    if (now?.state === "unknown") return done();
    const nowMs = clock.now();
    const problems = new Map(now?.troubles.map((problem) => [problemKey(problem), problem]));
    const open = journal.read.occurrences.open(leaseId);
    const openKeys = new Set(open.map(({ key }) => key));
    for (const key of problems.keys()) unseenSince.delete(`${leaseId} ${key}`);
    const begun = [...problems]
      .filter(([key]) => !openKeys.has(key))
      .map(([, problem]) => ({ problem, leftMs: problem.sinceMs + delayMs(problem) - nowMs }));
    const over = open
      .filter(({ key }) => !problems.has(key))
      .map((row) => {
        const since = `${leaseId} ${row.key}`;
        const sinceMs = unseenSince.get(since) ?? nowMs;
        unseenSince.set(since, sinceMs);
        // What is not to run any more need not be waited for.
        return { row, since, leftMs: now ? sinceMs + problemOverMs - nowMs : 0 };
      });
    const ended = over.filter(({ leftMs }) => leftMs <= 0);
    const begins = begun.filter(({ leftMs }) => leftMs <= 0).map(({ problem }) => problem);
    const ends = ended.map(({ row }) => row);
    await writeDown(leaseId, begins, ends, now !== undefined);
    for (const { since } of ended) unseenSince.delete(since);
    const nextMs = Math.min(...[...begun, ...over].map(({ leftMs }) => leftMs).filter((leftMs) => leftMs > 0));
    return nextMs === Number.POSITIVE_INFINITY ? done() : recheck(nextMs);
  }

  async function writeDown(
    leaseId: string,
    begun: readonly HealthProblem[],
    over: readonly OccurrenceRow[],
    stillRuns: boolean,
  ): Promise<void> {
    if (begun.length + over.length === 0) return;
    const nowMs = clock.now();
    const rows = await journal.relaxed("judgements", ({ occurrences }) => {
      const changes = begun.map((problem) =>
        begin(leaseId, problem, occurrences.get(leaseId, problemKey(problem)), nowMs),
      );
      for (const row of over) {
        occurrences.record({ ...row, lastAtMs: nowMs, counted: "" });
        // What does not run any more is not well again.
        if (stillRuns) changes.push(recovered(row, occurrences.get(leaseId, recoveredKey(row)), nowMs));
      }
      for (const row of changes) occurrences.record(row);
      occurrences.trim(leaseId, "ours", eventRowsOfLease);
      return changes;
    });
    for (const row of rows) {
      const { type, reason, note } = row;
      recordEvent(leaseId, { type, reason, note, action: "Watch", service: serviceOf(row) });
      onRow(row);
    }
  }

  health.onChange((leaseId) => queue.add(leaseId));
  return { queue };
}

/** Every workload is not ready for a while when it starts. */
function delayMs({ reason }: HealthProblem): number {
  return reason === "NotReady" ? healthStartingMs : problemBeginsMs;
}

/** What rows of ours are about. */
const serviceObject = "service ";

function serviceOf({ object }: OccurrenceRow): string {
  return object.slice(serviceObject.length);
}

function problemKey({ service, reason }: HealthProblem): string {
  return keyOf("ours", service, reason);
}

function recoveredKey({ object, reason }: OccurrenceRow): string {
  return keyOf("ours", object, "Recovered", reason);
}

function begin(
  leaseId: string,
  problem: HealthProblem,
  before: OccurrenceRow | undefined,
  nowMs: number,
): OccurrenceRow {
  const { service, reason, message, replicas, sinceMs } = problem;
  const many = replicas > 1 ? ` (${replicas} replicas)` : "";
  return {
    ...{ leaseId, key: problemKey(problem), type: "Warning", reason, counted: stillSo },
    object: printableText(`${serviceObject}${service}`, eventNameChars),
    note: `${printableText(message, eventNoteChars)}${many}`,
    ...again(before, Math.floor(Math.min(sinceMs, nowMs)), nowMs),
  };
}

function recovered(row: OccurrenceRow, before: OccurrenceRow | undefined, nowMs: number): OccurrenceRow {
  const { leaseId, object, reason } = row;
  return {
    ...{ leaseId, key: recoveredKey(row), type: "Normal", reason: "Recovered", object, counted: "" },
    note: `${reason} is over`,
    ...again(before, nowMs, nowMs),
  };
}

function again(before: OccurrenceRow | undefined, firstAtMs: number, lastAtMs: number) {
  const times = { count: (before?.count ?? 0) + 1, firstAtMs: before?.firstAtMs ?? firstAtMs, lastAtMs };
  return { origin: "ours" as const, ...times, ...ourselves };
}

/** Writes an Event about a service's workload, or without one about the lease as a whole. */
type RecordEvent = (leaseId: string, event: Omit<EventToRecord, "regarding"> & { readonly service?: string }) => void;

type Live = Pick<LiveObjects, "namespace" | "workloads">;

export function eventsAbout(live: Live, recorder: Pick<EventRecorder, "record">): RecordEvent {
  return (leaseId, { service, ...event }) => {
    const id = readLeaseId(leaseId.split("/"));
    const regarding = id && objectOf(live, leaseNamespace(id), service);
    if (regarding) recorder.record({ regarding, ...event });
  };
}

/** Undefined where the namespace is not there or on its way out, and takes no Events. */
function objectOf(live: Live, namespace: string, service: string | undefined): ObjectReference | undefined {
  const home = live.namespace(namespace);
  if (!home || home.deletingSinceMs !== undefined) return undefined;
  const workload =
    service === undefined ? undefined : [...live.workloads(namespace)].find(({ name }) => name === service);
  if (workload) {
    const { kind, name, uid } = workload;
    return { apiVersion: apiVersionOf(kind), kind: kind.kind, name, namespace, uid };
  }
  // It is in itself, so that the Event is where the tenant looks and not in `default`.
  return { apiVersion: "v1", kind: "Namespace", name: namespace, namespace, uid: home.uid };
}
