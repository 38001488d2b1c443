/**
 * What we say of a lease ourselves: that something of it is not well, or is well again. It is written down from when it
 * begins until it is over, whichever of our processes saw that, and told once each time, to people with kubectl too.
 */
import type { Journal } from "../../../journal/journal.ts";
import { type OccurrenceRow, stillSo } from "../../../journal/occurrences.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { minute, second } from "../../../runtime/durations.ts";
import type { Log } from "../../../runtime/log.ts";
import { done, type Outcome, recheck } from "../../../runtime/outcome.ts";
import { createQueue } from "../../../runtime/queue.ts";
import type { Random } from "../../../runtime/random.ts";
import type { HealthView, Trouble } from "../../health/lease-health.ts";
import { healthStartingMs } from "../../health/lease-health.ts";
import type { Tell } from "./lease-events.ts";
import { occurrenceNoteChars, ourselves } from "./lease-history.ts";
import { keyOf } from "./same-occurrence.ts";
import { toldText } from "./told-text.ts";

/** Of one lease, of what the cluster tells and of what we do, each: the oldest go, so nobody crowds out another. */
export const occurrencesOfLease = 100;
export const occurrenceNameChars = 253;
/** A trouble that goes by sooner is none worth telling: a pod that waits for its node or its volume. */
const troubleBegunMs = 15 * second;
/** One in a crash loop runs for a moment between two crashes: well again is who stays so. */
export const troubleOverMs = 2 * minute;

interface JudgementDeps {
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly health: HealthView;
  readonly tell: Tell;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onRow: (row: OccurrenceRow) => void;
}

export function createJudgements({ journal, health, tell, onRow, ...deps }: JudgementDeps) {
  const { clock } = deps;
  const queue = createQueue({ name: "judgements", work, ...deps });
  /** Since when what was written down as a trouble is not seen any more. */
  const unseenSince = new Map<string, number>();

  /** Looks at a lease whose health has changed, and again once what has begun or ended has lasted for a while. */
  async function work(leaseId: string): Promise<Outcome> {
    const now = health.get(leaseId);
    if (now?.state === "unknown") return done();
    const nowMs = clock.now();
    const troubles = new Map(now?.troubles.map((trouble) => [troubleKey(trouble), trouble]));
    const open = journal.read.occurrences.open(leaseId);
    const isOpen = (key: string) => open.some((row) => row.key === key);
    let nextMs = Number.POSITIVE_INFINITY;

    const begun: Trouble[] = [];
    for (const [key, trouble] of troubles) {
      const leftMs = trouble.sinceMs + patienceMs(trouble) - nowMs;
      if (isOpen(key)) continue;
      if (leftMs <= 0) begun.push(trouble);
      else nextMs = Math.min(nextMs, leftMs);
    }
    const over: OccurrenceRow[] = [];
    for (const row of open) {
      const since = `${leaseId} ${row.key}`;
      if (troubles.has(row.key)) unseenSince.delete(since);
      else {
        const sinceMs = unseenSince.get(since) ?? nowMs;
        unseenSince.set(since, sinceMs);
        // What is not to run any more need not be waited for.
        const leftMs = now ? sinceMs + troubleOverMs - nowMs : 0;
        if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
        else over.push(row);
      }
    }
    await writeDown(leaseId, begun, over, now !== undefined);
    for (const { key } of over) unseenSince.delete(`${leaseId} ${key}`);
    return nextMs === Number.POSITIVE_INFINITY ? done() : recheck(nextMs);
  }

  /** Nobody but us writes these rows, one look at a lease after the other. */
  async function writeDown(
    leaseId: string,
    begun: readonly Trouble[],
    over: readonly OccurrenceRow[],
    stillRuns: boolean,
  ): Promise<void> {
    if (begun.length + over.length === 0) return;
    const nowMs = clock.now();
    const rows = await journal.relaxed("judgements", ({ occurrences }) => {
      const told = begun.map((trouble) =>
        begin(leaseId, trouble, occurrences.get(leaseId, troubleKey(trouble)), nowMs),
      );
      for (const row of over) {
        occurrences.record({ ...row, lastAtMs: nowMs, counted: "" });
        // What does not run any more is not well again.
        if (stillRuns) told.push(recovered(row, occurrences.get(leaseId, recoveredKey(row)), nowMs));
      }
      for (const row of told) occurrences.record(row);
      occurrences.trim(leaseId, "ours", occurrencesOfLease);
      return told;
    });
    for (const row of rows) {
      const { type, reason, note } = row;
      tell(leaseId, { type, reason, note, action: "Watch", service: serviceOf(row) });
      onRow(row);
    }
  }

  health.onChange((leaseId) => queue.add(leaseId));
  return { queue };
}

/** Every workload is not ready for a while when it starts. */
function patienceMs({ reason }: Trouble): number {
  return reason === "NotReady" ? healthStartingMs : troubleBegunMs;
}

/** What rows of ours are about. */
const serviceObject = "service ";

function serviceOf({ object }: OccurrenceRow): string {
  return object.slice(serviceObject.length);
}

function troubleKey({ service, reason }: Trouble): string {
  return keyOf("ours", service, reason);
}

function recoveredKey({ object, reason }: OccurrenceRow): string {
  return keyOf("ours", object, "Recovered", reason);
}

function begin(leaseId: string, trouble: Trouble, before: OccurrenceRow | undefined, nowMs: number): OccurrenceRow {
  const { service, reason, message, replicas, sinceMs } = trouble;
  const many = replicas > 1 ? ` (${replicas} replicas)` : "";
  return {
    ...{ leaseId, key: troubleKey(trouble), origin: "ours", type: "Warning", reason },
    object: toldText(`${serviceObject}${service}`, occurrenceNameChars),
    note: `${toldText(message, occurrenceNoteChars)}${many}`,
    count: (before?.count ?? 0) + 1,
    firstAtMs: before?.firstAtMs ?? Math.floor(Math.min(sinceMs, nowMs)),
    lastAtMs: nowMs,
    counted: stillSo,
    ...ourselves,
  };
}

function recovered(row: OccurrenceRow, before: OccurrenceRow | undefined, nowMs: number): OccurrenceRow {
  const { leaseId, object, reason } = row;
  return {
    ...{ leaseId, key: recoveredKey(row), origin: "ours", type: "Normal", reason: "Recovered", object },
    note: `${reason} is over`,
    count: (before?.count ?? 0) + 1,
    firstAtMs: before?.firstAtMs ?? nowMs,
    lastAtMs: nowMs,
    counted: "",
    ...ourselves,
  };
}
