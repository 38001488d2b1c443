/**
 * Compares chain, cluster and journal periodically and on request. It deletes and writes nothing: what it finds wakes the loops
 * that have the rules. A drift counts once two checks have seen it, since one may meet a write that is under way.
 */
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import { createWakeSignal } from "../../../runtime/wake-signal.ts";
import type { LeaseKeeper } from "../lease-loop.ts";
import { compare, type Drift, driftKey, driftKinds, reconcileUnderWayMs, type Waker } from "./drift.ts";
import { type ReconcilerDeps, type ReconcileSnapshot, readSnapshot } from "./snapshot.ts";

/** Events report most changes at once; this finds those that none reported. */
export const reconcileEveryMs = 5 * minute;
/** Between the two checks: a write, an event or a block that is under way has come by then. */
export const reconcileConfirmMs = 15 * second;
/** Drift that is found again so much later did not heal by itself, and an operator should know. */
const reconcileHealMs = 6 * minute;
/** Drifts that one report names; all are counted. */
const reconcileNamed = 1_000;
/** Lines for history and log from one report: if all leases drift at once, a hundred say so. */
const reconcileLines = 100;

interface ReconcileRequest {
  /** Only report: nothing is woken or kept. */
  readonly dryRun: boolean;
}

export interface ReportedDrift extends Drift {
  readonly remedy: string;
  readonly sinceMs: number;
}

type Drifts = ReadonlyMap<string, ReportedDrift>;

export type Report = Awaited<ReturnType<Reconciler["reconcile"]>>;

export type Reconciler = ReturnType<typeof createReconciler>;

export function createReconciler(deps: ReconcilerDeps) {
  const { leases, clock, log, onChange } = deps;
  const pause = createWakeSignal(clock);
  const restoration = watchRestoration(leases.live, clock, pause.notify);
  let known: Drifts = new Map();
  let last: { readonly atMs: number; readonly drifts: readonly ReportedDrift[] } | undefined;
  let checkMs = 0;
  let skipped: { readonly why: string } | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  async function check(isRestored: boolean, signal: AbortSignal) {
    const startedMs = clock.monotonicMs();
    const snapshot = await readSnapshot(deps, isRestored, signal);
    await clock.yield();
    const drifts = compare(snapshot);
    checkMs = clock.monotonicMs() - startedMs;
    return { drifts, unasked: snapshot.unasked, height: snapshot.height, compared: countsOf(snapshot) };
  }

  /** Of a restored cluster the cause is known, and loops may fix it before a second check. */
  async function checkTwice(isRestored: boolean, signal: AbortSignal) {
    const first = await check(isRestored, signal);
    if (isRestored || first.drifts.every((drift) => known.has(driftKey(drift)))) return first;
    await sleep(clock, reconcileConfirmMs, signal);
    const second = await check(isRestored, signal);
    const before = new Set(first.drifts.map(driftKey));
    return { ...second, drifts: second.drifts.filter((drift) => before.has(driftKey(drift))) };
  }

  async function makeReport({ dryRun }: ReconcileRequest, signal: AbortSignal) {
    const isRestored = restoration.isToReport();
    const { drifts: found, ...about } = await checkTwice(isRestored, signal);
    const atMs = clock.now();
    const all: Drifts = new Map(
      found.map((drift) => {
        const { sinceMs = atMs } = known.get(driftKey(drift)) ?? {};
        return [driftKey(drift), { ...drift, remedy: driftKinds[drift.kind].remedy, sinceMs }];
      }),
    );
    const drifts = [...all.values()].slice(0, reconcileNamed);
    const report = { atMs, dryRun, drifts, more: all.size - drifts.length, ...about };
    if (dryRun) return report;
    const before = known;
    [known, last, skipped] = [all, report, undefined];
    if (isRestored) restoration.reported();
    onChange();
    await recordChanges(before, all, deps);
    await wakeLoops([...all.values()], deps, signal);
    return report;
  }

  /** One after the other, except dry runs, which change nothing. */
  function reconcile(request: ReconcileRequest, signal: AbortSignal): ReturnType<typeof makeReport> {
    if (request.dryRun) return makeReport(request, signal);
    const mine = turn.then(() => makeReport(request, signal));
    turn = mine.catch(() => undefined);
    return mine;
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause.wait(restoration.isUnreported() ? reconcileConfirmMs : reconcileEveryMs, signal);
      if (signal.aborted) return;
      try {
        await reconcile({ dryRun: false }, signal);
      } catch (thrown) {
        if (signal.aborted) return;
        if (!skipped) log.warn("reconcile skipped, retrying later", { error: thrown });
        skipped = { why: reasonOf(thrown) };
        onChange();
      }
    }
  }

  return {
    ...{ reconcile, run },
    /** Of the last report. */
    drifts: () => known.values(),
    /** Those that should have healed by now, and those that do not. */
    lasting: () =>
      [...known.values()].filter(({ kind, sinceMs }) => {
        return !driftKinds[kind].heals || (last && last.atMs - sinceMs >= reconcileHealMs);
      }),
    get last() {
      return last;
    },
    /** How long the last check took. */
    get checkMs() {
      return checkMs;
    },
    /** Why the last one was not made. */
    get skipped() {
      return skipped;
    },
  };
}

/** Each cache finds out for itself that the cluster was restored; the first of them has a report made. */
function watchRestoration(live: LeaseKeeper["live"], clock: Clock, onFirst: () => void) {
  let atMs = Number.NEGATIVE_INFINITY;
  let isUnreported = false;
  const isRecent = () => clock.monotonicMs() - atMs < reconcileUnderWayMs;
  live.onRestored(() => {
    const isFirst = !isRecent();
    atMs = clock.monotonicMs();
    isUnreported ||= isFirst;
    if (isFirst) onFirst();
  });
  return {
    isToReport: () => isUnreported || isRecent(),
    isUnreported: () => isUnreported,
    reported(): void {
      isUnreported = false;
    },
  };
}

/** How many there were of what was compared. */
function countsOf(snapshot: ReconcileSnapshot) {
  const { running, namespaces, resources, manifests, reservations } = snapshot;
  return {
    ...{ leases: running.size, manifests: manifests.size, reservations: reservations.size },
    ...{ namespaces: namespaces.length, resources: resources.length },
  };
}

/** Writes what is new and what is gone into log and history. */
async function recordChanges(before: Drifts, now: Drifts, { journal, log }: ReconcilerDeps): Promise<void> {
  const lines: { readonly subject: string; readonly line: string }[] = [];
  for (const [key, { kind, subject, evidence, remedy }] of now) {
    if (before.has(key)) continue;
    if (lines.length < reconcileLines) log.warn("drift found", { kind, subject, evidence, remedy });
    lines.push({ subject, line: `drift found: ${kind}: ${evidence}` });
  }
  for (const [key, { kind, subject }] of before) {
    if (now.has(key)) continue;
    if (lines.length < reconcileLines) log.info("drift is gone", { kind, subject });
    lines.push({ subject, line: `drift is gone: ${kind}` });
  }
  if (lines.length === 0) return;
  await journal.relaxed("drift", ({ history }) => {
    for (const line of lines.slice(0, reconcileLines)) history.add({ kind: "reconcile", ...line });
    const more = lines.length - reconcileLines;
    if (more > 0) history.add({ kind: "reconcile", subject: "cluster", line: `drift: and ${more} more` });
  });
}

async function wakeLoops(
  drifts: readonly Drift[],
  { chain, leases, capacity, log }: ReconcilerDeps,
  signal: AbortSignal,
): Promise<void> {
  const of = (waker: Waker) => drifts.filter(({ kind }) => driftKinds[kind].wakes === waker);
  for (const { subject } of of("lease")) leases.wake(subject);
  for (const { subject } of of("reservation")) capacity.wake(subject);
  if (of("caches").length > 0) leases.live.relist("reconcile found that it shows something else than the server has");
  if (of("mirror").length === 0) return;
  try {
    await chain.compareMirror(signal);
  } catch (thrown) {
    // The report stands; the next one finds what was not built anew.
    if (signal.aborted) throw thrown;
    log.warn("mirror not compared, retrying later", { error: thrown });
  }
}
