/**
 * Adds up how long leases are unhealthy by their tenants' fault, over all our runs, and has those closed that never work. Only
 * what was observed counts: while chain or cluster are out of reach, and while we do not run, nothing is added. It is reset once
 * the lease works for as long as there is between two checks of the network's provider: what crashes a second after its start is
 * ready for a second, and does not work. It also begins anew where its tenant sends another manifest, and with every replica
 * that comes to work: they start one by one.
 */
import type { Journal } from "../../journal/journal.ts";
import type { UnhealthRow } from "../../journal/tables.ts";
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import type { LeaseHealth } from "./lease-health.ts";

/** How often that time is written down: a crash loses no more of it. */
export const healthSaveMs = 15 * second;
/** Two looks at a lease that are further apart than this: we slept, and what was between them was not seen. */
const healthGapMs = 30 * second;
/** A lease is closed no sooner after a cluster is known to take writes again: by then kubelets have told how things are. */
export const healthConfirmMs = 30 * second;

export interface MonitorOptions {
  readonly maxRetries: number;
  readonly retryPeriodMs: number;
  readonly retryJitterMs: number;
}

/** With none, no lease is closed: what starts or is updated is unhealthy for a moment. */
export function unhealthyLimitMs(options: MonitorOptions): number {
  return options.maxRetries === 0 ? Number.POSITIVE_INFINITY : options.maxRetries * steadyMs(options);
}

/** The average pause between two looks of the network's provider. */
export function steadyMs({ retryPeriodMs, retryJitterMs }: MonitorOptions): number {
  return retryPeriodMs + retryJitterMs / 2;
}

/** What came of it when a lease was to be closed. "well": by what the server itself says, it is not so. */
export type CloseResult = "filed" | "later" | "well";

interface MonitoringDeps {
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly limitMs: number;
  /** How long a lease has to work until all is forgotten. */
  readonly steadyMs: number;
  /** How long ago the cluster was last heard of: what was so then is sure. */
  readonly silentMs: () => number;
  /** Whether what is seen of this lease may be held against it now. */
  readonly counts: (leaseKey: string) => boolean;
  /** The version of the manifest that it is to run. */
  readonly manifestOf: (leaseKey: string) => string | undefined;
  readonly replicasOf: (leaseKey: string) => Iterable<SeenReplica>;
  /** Throws while the cluster takes no writes: then it is not the lease that does not work. */
  readonly tryToWrite: (signal: AbortSignal) => Promise<void>;
  readonly close: (leaseKey: string, observedMs: number, signal: AbortSignal) => Promise<CloseResult>;
  readonly clock: Clock;
}

/** How long a lease was seen not to work, and when it is closed for that; without a limit it never is. */
export interface SeenUnhealthy {
  readonly observedMs: number;
  readonly limitMs?: number;
  /** Why nothing is counted now, for any lease. */
  readonly heldBy?: string;
}

export interface SeenReplica {
  /** Of its pod. */
  readonly uid: string;
  readonly isReady: boolean;
}

/** Of one lease that does not work, or did not a moment ago. */
interface Watched {
  readonly sinceMs: number;
  observedMs: number;
  /** What of that is sure: the rest is taken back when it turns out that nothing could be heard. */
  sureMs: number;
  savedAtMs: number;
  /** When it was last looked at and added up; undefined while it is not. */
  lookedAtMs: number | undefined;
  /** It works now, and perhaps not for long. */
  worksSinceMs: number | undefined;
  /** How much was observed when the cluster last was known to take writes, since when nothing went wrong. */
  observedAtWriteMs: number | undefined;
  /** When the server may next be asked whether it takes writes. */
  nextTryMs: number;
  /** What it was to run then; undefined where nobody has looked since our start. */
  manifest: string | undefined;
  /** Since when each replica works, by the uid of its pod; 0 for those that are no news any more. */
  readySinceMs: ReadonlyMap<string, number> | undefined;
}

export function createMonitoring(deps: MonitoringDeps) {
  const { journal, limitMs, steadyMs, silentMs, counts, manifestOf, replicasOf, clock } = deps;
  const confirmMs = Math.min(healthConfirmMs, limitMs / 2);
  const all = new Map(journal.read.unhealth.all().map((row) => [row.leaseId, fromRow(row)]));

  async function observe(key: string, health: LeaseHealth | undefined, signal: AbortSignal): Promise<void> {
    if (!health || isOfBefore(key)) await forget(key);
    if (!health) return;
    const known = all.get(key);
    if (health.state === "healthy") return known && works(key, known);
    if (health.state === "unknown") return known && takeBack(known);
    if (!health.isTenantsFault || !counts(key)) return known && stopCounting(known);
    const watched = known ?? begin(clock.now());
    watched.worksSinceMs = undefined;
    watched.manifest ??= manifestOf(key);
    all.set(key, watched);
    const nowMs = clock.monotonicMs();
    add(watched, nowMs, silentMs());
    const hasNewReplica = noteReplicas(watched, replicasOf(key), nowMs, steadyMs);
    const isDue = nowMs - watched.savedAtMs >= healthSaveMs;
    if (!known || isDue || hasNewReplica) await save(key, watched);
    if (watched.observedMs >= limitMs - confirmMs) await end(key, watched, signal);
  }

  async function works(key: string, watched: Watched): Promise<void> {
    const nowMs = clock.monotonicMs();
    stopCounting(watched);
    // What works now has been heard of.
    watched.sureMs = watched.observedMs;
    watched.worksSinceMs ??= nowMs;
    if (nowMs - watched.worksSinceMs >= steadyMs) await forget(key);
  }

  /** Its tenant has sent something else since. */
  function isOfBefore(key: string): boolean {
    const { manifest } = all.get(key) ?? {};
    return manifest !== undefined && manifest !== manifestOf(key);
  }

  /**
   * A cluster that takes no writes still answers, and what it shows stands still. So it is tried twice, and in between
   * everything has the time to report.
   */
  async function end(key: string, watched: Watched, signal: AbortSignal): Promise<void> {
    const { observedMs, observedAtWriteMs } = watched;
    const nowMs = clock.monotonicMs();
    if (nowMs < watched.nextTryMs) return;
    const isConfirmed =
      observedAtWriteMs !== undefined && observedMs >= Math.max(limitMs, observedAtWriteMs + confirmMs);
    if (observedAtWriteMs !== undefined && !isConfirmed) return;
    watched.nextTryMs = nowMs + healthSaveMs;
    watched.observedAtWriteMs = undefined;
    await deps.tryToWrite(signal);
    watched.observedAtWriteMs = observedAtWriteMs ?? observedMs;
    if (isConfirmed && (await deps.close(key, observedMs, signal)) === "well") stopCounting(watched);
  }

  function save(leaseId: string, watched: Watched): Promise<void> {
    watched.savedAtMs = clock.monotonicMs();
    const { sinceMs, observedMs } = watched;
    const row = { leaseId, sinceMs, observedMs, atMs: clock.now() };
    return journal.relaxed("unhealth", ({ unhealth }) => unhealth.put(row));
  }

  async function forget(key: string): Promise<void> {
    if (!all.delete(key)) return;
    await journal.relaxed("unhealth", ({ unhealth }) => unhealth.remove(key));
  }

  return {
    observe,
    keys: (): Iterable<string> => all.keys(),
    has: (key: string) => all.has(key),
    seen(key: string): SeenUnhealthy | undefined {
      const { observedMs } = all.get(key) ?? {};
      if (observedMs === undefined) return undefined;
      return { observedMs, ...(limitMs !== Number.POSITIVE_INFINITY && { limitMs }) };
    },
    /** Between now and the next look something went wrong: nobody knows how it was. */
    interrupt(): void {
      for (const watched of all.values()) takeBack(watched);
    },
    async saveAll(): Promise<void> {
      await Promise.all(Array.from(all, ([key, watched]) => save(key, watched)));
    },
  };
}

function begin(sinceMs: number): Watched {
  return {
    ...{ sinceMs, observedMs: 0, sureMs: 0, savedAtMs: 0, nextTryMs: 0 },
    ...{ lookedAtMs: undefined, worksSinceMs: undefined, observedAtWriteMs: undefined },
    ...{ manifest: undefined, readySinceMs: undefined },
  };
}

function fromRow({ sinceMs, observedMs }: UnhealthRow): Watched {
  return { ...begin(sinceMs), observedMs, sureMs: observedMs };
}

/** Where nothing has been in the way since the last look. */
function add(watched: Watched, nowMs: number, silentMs: number): void {
  // The process slept.
  if (nowMs - (watched.lookedAtMs ?? nowMs) > healthGapMs) takeBack(watched);
  watched.observedMs += nowMs - (watched.lookedAtMs ?? nowMs);
  watched.sureMs = Math.max(watched.sureMs, watched.observedMs - silentMs);
  watched.lookedAtMs = nowMs;
}

/** Nobody knows how it was since the cluster was last heard of. */
function takeBack(watched: Watched): void {
  stopCounting(watched);
  watched.observedMs = watched.sureMs;
  watched.worksSinceMs = undefined;
}

function stopCounting(watched: Watched): void {
  watched.lookedAtMs = undefined;
  watched.observedAtWriteMs = undefined;
}

/**
 * Whether a replica has come to work that never did before, for as long as one has to; then what was before that is forgotten.
 * Each is news once, however often it crashes.
 */
function noteReplicas(watched: Watched, replicas: Iterable<SeenReplica>, nowMs: number, steadyMs: number): boolean {
  const before = watched.readySinceMs;
  const since = new Map<string, number>();
  let isNews = false;
  for (const { uid, isReady } of replicas) {
    const isOld = before ? before.get(uid) === 0 : isReady;
    const sinceMs = isOld ? 0 : (before?.get(uid) ?? nowMs);
    const isSteady = isReady && !isOld && nowMs - sinceMs >= steadyMs;
    if (isSteady) {
      isNews = true;
      watched.observedMs = Math.min(watched.observedMs, nowMs - sinceMs);
    }
    if (isReady || isOld) since.set(uid, isSteady ? 0 : sinceMs);
  }
  watched.readySinceMs = since;
  if (isNews) {
    watched.sureMs = Math.min(watched.sureMs, watched.observedMs);
    watched.observedAtWriteMs = undefined;
  }
  return isNews;
}
