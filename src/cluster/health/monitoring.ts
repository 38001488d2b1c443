/**
 * Adds up how long leases are unhealthy by their tenants' fault, over all runs, and closes those that never work. Only
 * observed time counts. It is reset once the lease works for as long as the Go provider pauses between two checks,
 * by another manifest, and by every replica that comes to work: they start one by one.
 */
import type { Journal } from "../../journal/journal.ts";
import type { UnhealthRow } from "../../journal/tables.ts";
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import type { LeaseHealth } from "./lease-health.ts";

/** A crash loses no more of that time. */
export const healthSaveMs = 15 * second;
/** After a longer gap between two checks the process slept, and the time between is not counted. */
const healthGapMs = 30 * second;
/** A lease is closed no sooner after the API server takes writes again: by then kubelets have reported. */
export const healthConfirmMs = 30 * second;

export interface MonitorOptions {
  readonly maxRetries: number;
  readonly retryPeriodMs: number;
  readonly retryJitterMs: number;
}

/** Without retries no lease is closed. */
export function unhealthyLimitMs(options: MonitorOptions): number {
  return options.maxRetries === 0 ? Number.POSITIVE_INFINITY : options.maxRetries * steadyMs(options);
}

/** The average pause between two checks of the Go provider. */
export function steadyMs({ retryPeriodMs, retryJitterMs }: MonitorOptions): number {
  return retryPeriodMs + retryJitterMs / 2;
}

/** "healthy": by a list from the API server itself. */
export type CloseResult = "filed" | "later" | "healthy";

interface MonitoringDeps {
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly limitMs: number;
  /** How long a lease has to work until its time is reset. */
  readonly steadyMs: number;
  /** Age of the caches: what was observed before is certain. */
  readonly silentMs: () => number;
  /** Whether time of this lease counts now. */
  readonly counts: (leaseKey: string) => boolean;
  /** The version of its wanted manifest. */
  readonly manifestOf: (leaseKey: string) => string | undefined;
  readonly replicasOf: (leaseKey: string) => Iterable<SeenReplica>;
  /** Throws while the API server takes no writes. */
  readonly tryToWrite: (signal: AbortSignal) => Promise<void>;
  readonly close: (leaseKey: string, observedMs: number, signal: AbortSignal) => Promise<CloseResult>;
  readonly clock: Clock;
}

/** Without a limit it is never closed. */
export interface SeenUnhealthy {
  readonly observedMs: number;
  readonly limitMs?: number;
  /** Why no time counts now, for any lease. */
  readonly heldBy?: string;
}

export interface SeenReplica {
  /** Of its pod. */
  readonly uid: string;
  readonly isReady: boolean;
}

/** Of one lease that does not work, or did not a moment ago. All but `sinceMs` is on the monotonic clock. */
interface Watched {
  readonly sinceMs: number;
  observedMs: number;
  /** The certain part of that: the rest is taken back when the caches turn out to be stale. */
  sureMs: number;
  savedAtMs: number;
  /** The last check that was added up; undefined while time does not count. */
  checkedAtMs?: number | undefined;
  worksSinceMs?: number | undefined;
  /** `observedMs` when the API server last took a write; undefined after something went wrong. */
  observedAtWriteMs?: number | undefined;
  nextTryMs: number;
  /** The version of its manifest; undefined until the first check after a start. */
  manifest?: string | undefined;
  /** Since when each replica works, by the uid of its pod; 0 for those that were ready at the first check, or counted. */
  readySinceMs?: ReadonlyMap<string, number>;
}

export function createMonitoring(deps: MonitoringDeps) {
  const { journal, limitMs, steadyMs, silentMs, counts, manifestOf, replicasOf, clock } = deps;
  const confirmMs = Math.min(healthConfirmMs, limitMs / 2);
  const all = new Map(journal.read.unhealth.all().map((row) => [row.leaseId, fromRow(row)]));

  async function observe(key: string, health: LeaseHealth | undefined, signal: AbortSignal): Promise<void> {
    const { manifest } = all.get(key) ?? {};
    // The tenant has sent another manifest since.
    if (!health || (manifest !== undefined && manifest !== manifestOf(key))) await forget(key);
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
    const isReset = noteReplicas(watched, replicasOf(key), nowMs, steadyMs);
    const isDue = nowMs - watched.savedAtMs >= healthSaveMs;
    if (!known || isDue || isReset) await save(key, watched);
    if (watched.observedMs >= limitMs - confirmMs) await end(key, watched, signal);
  }

  async function works(key: string, watched: Watched): Promise<void> {
    const nowMs = clock.monotonicMs();
    stopCounting(watched);
    watched.sureMs = watched.observedMs;
    watched.worksSinceMs ??= nowMs;
    if (nowMs - watched.worksSinceMs >= steadyMs) await forget(key);
  }

  /** An API server that takes no writes still answers, with a state that stands still: so a write is tried twice. */
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
    if (isConfirmed && (await deps.close(key, observedMs, signal)) === "healthy") stopCounting(watched);
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
    /** Something went wrong since the last check. */
    interrupt(): void {
      for (const watched of all.values()) takeBack(watched);
    },
    async saveAll(): Promise<void> {
      await Promise.all(Array.from(all, ([key, watched]) => save(key, watched)));
    },
  };
}

function begin(sinceMs: number): Watched {
  return { sinceMs, observedMs: 0, sureMs: 0, savedAtMs: 0, nextTryMs: 0 };
}

function fromRow({ sinceMs, observedMs }: UnhealthRow): Watched {
  return { ...begin(sinceMs), observedMs, sureMs: observedMs };
}

function add(watched: Watched, nowMs: number, silentMs: number): void {
  // The process slept.
  if (nowMs - (watched.checkedAtMs ?? nowMs) > healthGapMs) takeBack(watched);
  watched.observedMs += nowMs - (watched.checkedAtMs ?? nowMs);
  watched.sureMs = Math.max(watched.sureMs, watched.observedMs - silentMs);
  watched.checkedAtMs = nowMs;
}

/** What was observed since the caches were last up to date is unknown. */
function takeBack(watched: Watched): void {
  stopCounting(watched);
  watched.observedMs = watched.sureMs;
  watched.worksSinceMs = undefined;
}

function stopCounting(watched: Watched): void {
  watched.checkedAtMs = undefined;
  watched.observedAtWriteMs = undefined;
}

/** Whether a replica works for the first time, and for long enough: then the time before that is reset, once per replica. */
function noteReplicas(watched: Watched, replicas: Iterable<SeenReplica>, nowMs: number, steadyMs: number): boolean {
  const before = watched.readySinceMs;
  const since = new Map<string, number>();
  let hasNewReplica = false;
  for (const { uid, isReady } of replicas) {
    const isOld = before ? before.get(uid) === 0 : isReady;
    const sinceMs = isOld ? 0 : (before?.get(uid) ?? nowMs);
    const isSteady = isReady && !isOld && nowMs - sinceMs >= steadyMs;
    if (isSteady) {
      hasNewReplica = true;
      watched.observedMs = Math.min(watched.observedMs, nowMs - sinceMs);
    }
    if (isReady || isOld) since.set(uid, isSteady ? 0 : sinceMs);
  }
  watched.readySinceMs = since;
  if (hasNewReplica) {
    watched.sureMs = Math.min(watched.sureMs, watched.observedMs);
    watched.observedAtWriteMs = undefined;
  }
  return hasNewReplica;
}
