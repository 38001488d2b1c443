/**
 * Compares chain, cluster and journal as a whole, now and then and when asked. It deletes and writes nothing: what it finds
 * wakes the loops that have the rules. What differs in one look only was under way, so nothing counts that was not seen twice.
 */
import type { Chain } from "../../../chain/chain.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { Kube } from "../../../kube/kube.ts";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";
import { createPause } from "../../../runtime/pause.ts";
import type { CapacityKeeper } from "../../capacity/capacity-keeper.ts";
import type { LeaseKeeper } from "../lease-keeper.ts";
import { compare } from "./compare.ts";
import {
  type Compared,
  type Drift,
  driftKinds,
  type Report,
  type ReportedDrift,
  sameDrift,
  type Waker,
} from "./drift.ts";
import { type GatherDeps, gather } from "./gather.ts";
import { reconcileUnderWayMs } from "./lease-checks.ts";
import type { Truths } from "./truths.ts";

/** How often chain, cluster and journal are compared as a whole: events tell of changes at once, this finds what none told. */
export const reconcileEveryMs = 5 * minute;
/** From the first look to the second, where something differs: a write, an event or a block that is under way has come by then. */
export const reconcileConfirmMs = 15 * second;
/** Drift that was found in a report and is in one so much later did not heal by itself: a person should know. */
const reconcileHealMs = 6 * minute;
/** Drifts that one report names; all are counted. */
const reconcileNamed = 1_000;
/** Lines for the history, and for the log, from one report: if all leases drift at once, a hundred say so. */
const reconcileLines = 100;

interface ReconcilerDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider" | "status" | "compareMirror">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly kube: Pick<Kube, "list">;
  readonly leases: Pick<LeaseKeeper, "live" | "wake" | "trouble">;
  readonly capacity: Pick<CapacityKeeper, "book" | "wake">;
  readonly manifestNamespace: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Told when what is known of drift is otherwise than before. */
  readonly onChange: () => void;
}

interface ReconcileRequest {
  /** Only told: nobody is woken, and nothing of it is kept. */
  readonly dryRun: boolean;
}

interface Look {
  readonly drifts: readonly Drift[];
  readonly height: bigint;
  readonly compared: Compared;
  readonly unasked: number;
}

export type Reconciler = ReturnType<typeof createReconciler>;

export function createReconciler(deps: ReconcilerDeps) {
  const { chain, journal, leases, capacity, clock, log, onChange } = deps;
  const asked: GatherDeps = { ...deps, live: leases.live, book: capacity.book, trouble: () => leases.trouble };
  const pause = createPause(clock);
  /** When it was last seen that the cluster was put back. */
  let restoredAtMs = Number.NEGATIVE_INFINITY;
  /** No report was made since then. */
  let isRestoreUntold = false;
  /** In the last report. */
  let known: ReadonlyMap<string, ReportedDrift> = new Map();
  let last: Report | undefined;
  let lookMs = 0;
  let skipped: { readonly why: string } | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  async function look(restored: boolean, signal: AbortSignal): Promise<Look> {
    const startedMs = clock.monotonicMs();
    const { truths, unasked } = await gather(asked, restored, signal);
    await clock.yield();
    const drifts = compare(truths);
    lookMs = clock.monotonicMs() - startedMs;
    return { drifts, height: truths.chain.height, compared: countsOf(truths), unasked };
  }

  /** What is new must be there in two looks, unless the reason is known: then the loops may be quicker than the second. */
  async function lookTwice(restored: boolean, signal: AbortSignal): Promise<Look> {
    const first = await look(restored, signal);
    if (restored || first.drifts.every((drift) => known.has(sameDrift(drift)))) return first;
    await sleep(clock, reconcileConfirmMs, signal);
    const second = await look(restored, signal);
    const before = new Set(first.drifts.map(sameDrift));
    return { ...second, drifts: second.drifts.filter((drift) => before.has(sameDrift(drift))) };
  }

  async function reconcileNow({ dryRun }: ReconcileRequest, signal: AbortSignal): Promise<Report> {
    const restored = isRestoreUntold || isRestored();
    const { drifts: found, height, compared, unasked } = await lookTwice(restored, signal);
    const atMs = clock.now();
    const all = new Map(found.map((drift) => [sameDrift(drift), reported(drift, atMs)]));
    const drifts = [...all.values()];
    const named = drifts.slice(0, reconcileNamed);
    const report = { atMs, height, dryRun, compared, drifts: named, more: drifts.length - named.length, unasked };
    if (dryRun) return report;
    const before = known;
    [known, last, skipped] = [all, report, undefined];
    if (restored) isRestoreUntold = false;
    onChange();
    await tell(before, all);
    await wake(drifts, signal);
    return report;
  }

  function isRestored(): boolean {
    return clock.monotonicMs() - restoredAtMs < reconcileUnderWayMs;
  }

  function reported(drift: Drift, atMs: number): ReportedDrift {
    const { sinceMs = atMs } = known.get(sameDrift(drift)) ?? {};
    return { ...drift, remedy: driftKinds[drift.kind].remedy, sinceMs };
  }

  /** What is news, and what is gone. */
  async function tell(
    before: ReadonlyMap<string, ReportedDrift>,
    now: ReadonlyMap<string, ReportedDrift>,
  ): Promise<void> {
    const fresh = [...now].filter(([key]) => !before.has(key)).map(([, drift]) => drift);
    const gone = [...before].filter(([key]) => !now.has(key)).map(([, drift]) => drift);
    for (const { kind, subject, evidence, remedy } of fresh.slice(0, reconcileLines)) {
      log.warn("drift found", { kind, subject, evidence, remedy });
    }
    for (const { kind, subject } of gone.slice(0, reconcileLines)) log.info("drift is gone", { kind, subject });
    if (fresh.length + gone.length === 0) return;
    const lines = [
      ...fresh.map(({ kind, subject, evidence }) => ({ subject, line: `drift found: ${kind}: ${evidence}` })),
      ...gone.map(({ kind, subject }) => ({ subject, line: `drift is gone: ${kind}` })),
    ];
    await journal.relaxed("drift", ({ history }) => {
      for (const line of lines.slice(0, reconcileLines)) history.add({ kind: "reconcile", ...line });
      const more = lines.length - reconcileLines;
      if (more > 0) history.add({ kind: "reconcile", subject: "cluster", line: `drift: and ${more} more` });
    });
  }

  async function wake(drifts: readonly ReportedDrift[], signal: AbortSignal): Promise<void> {
    const of = (waker: Waker) => drifts.filter(({ kind }) => driftKinds[kind].wakes === waker);
    for (const { subject } of of("lease")) leases.wake(subject);
    for (const { subject } of of("reservation")) capacity.wake(subject);
    if (of("caches").length > 0) leases.live.relist("reconcile found that it shows something else than the server has");
    if (of("mirror").length > 0) await compareMirror(signal);
  }

  /** The report has been made by then; what was not built anew is in the next one. */
  async function compareMirror(signal: AbortSignal): Promise<void> {
    try {
      await chain.compareMirror(signal);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      log.warn("mirror not compared, retrying later", { error: thrown });
    }
  }

  /** One after the other; one that changes nothing waits for nobody, and nobody for it. */
  function reconcile(request: ReconcileRequest, signal: AbortSignal): Promise<Report> {
    if (request.dryRun) return reconcileNow(request, signal);
    const mine = turn.then(() => reconcileNow(request, signal));
    turn = mine.catch(() => undefined);
    return mine;
  }

  async function nowAndThen(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause.wait(isRestoreUntold ? reconcileConfirmMs : reconcileEveryMs, signal);
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

  /** One cache after the other finds it out, and the first of them has a report made. */
  leases.live.onRestored(() => {
    const isFirst = !isRestored();
    restoredAtMs = clock.monotonicMs();
    if (!isFirst) return;
    isRestoreUntold = true;
    pause.ring();
  });

  return {
    reconcile,
    run: nowAndThen,
    /** How many there are of each kind, by the last report. */
    counts(): Map<string, number> {
      const counts = new Map<string, number>(Object.keys(driftKinds).map((kind) => [kind, 0]));
      for (const { kind } of known.values()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return counts;
    },
    /** Those that should have healed by now, and those that do not. */
    lasting: () =>
      [...known.values()].filter(({ kind, sinceMs }) => {
        return !driftKinds[kind].heals || (last && last.atMs - sinceMs >= reconcileHealMs);
      }),
    get last() {
      return last;
    },
    get lookMs() {
      return lookMs;
    },
    /** Why the last time came to nothing. */
    get skipped() {
      return skipped;
    },
  };
}

function countsOf({ chain, cluster, journal }: Truths): Compared {
  return {
    leases: chain.running.size,
    namespaces: cluster.namespaces.length,
    resources: cluster.resources.length,
    manifests: journal.manifests.size,
    reservations: journal.reservations.size,
  };
}
