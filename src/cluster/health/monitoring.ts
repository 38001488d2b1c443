/**
 * Adds up how long leases are unhealthy by their tenants' fault, over all our runs, and has those closed that never work. Only
 * what was observed counts: while chain or cluster are out of reach, and while we do not run, nothing is added. It is reset once
 * the lease works for as long as there is between two checks of the network's provider: what crashes a second after its start is
 * ready for a second, and does not work. It also begins anew where its tenant sends another manifest, and with every replica
 * that comes to work: they start one by one.
 */
import type { Journal } from "../../journal/journal.ts";
import type { UnhealthRow } from "../../journal/unhealth.ts";
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

/** With none, no lease is closed: what starts or is updated is unwell for a moment, and nobody means to close that. */
export function unwellLimitMs(options: MonitorOptions): number {
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
export interface SeenUnwell {
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

interface Unwell {
  readonly sinceMs: number;
  observedMs: number;
  /** What of that was so for sure: the rest is taken back when it turns out that nothing could be heard. */
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
  const { journal, limitMs, steadyMs, silentMs, counts, manifestOf, replicasOf, tryToWrite, close, clock } = deps;
  const confirmMs = Math.min(healthConfirmMs, limitMs / 2);
  const all = new Map<string, Unwell>(journal.read.unhealth.all().map((row) => [row.leaseId, fromRow(row)]));

  async function observe(key: string, health: LeaseHealth | undefined, signal: AbortSignal): Promise<void> {
    if (!health || isOfBefore(key)) await forget(key);
    if (!health) return;
    const known = all.get(key);
    if (health.state === "healthy") return known && works(key, known);
    if (health.state === "unknown") return known && takeBack(known);
    if (!health.isTenantsFault || !counts(key)) return known && stopCounting(known);
    const unwell = known ?? begin(clock.now());
    unwell.worksSinceMs = undefined;
    unwell.manifest ??= manifestOf(key);
    all.set(key, unwell);
    add(unwell);
    const hasGotOn = noteReplicas(key, unwell);
    const isDue = clock.monotonicMs() - unwell.savedAtMs >= healthSaveMs;
    if (!known || isDue || hasGotOn) await save(key, unwell);
    if (unwell.observedMs >= limitMs - confirmMs) await end(key, unwell, signal);
  }

  async function works(key: string, unwell: Unwell): Promise<void> {
    const nowMs = clock.monotonicMs();
    stopCounting(unwell);
    // What works now has been heard of.
    unwell.sureMs = unwell.observedMs;
    unwell.worksSinceMs ??= nowMs;
    if (nowMs - unwell.worksSinceMs >= steadyMs) await forget(key);
  }

  /** Its tenant has sent something else since. */
  function isOfBefore(key: string): boolean {
    const { manifest } = all.get(key) ?? {};
    return manifest !== undefined && manifest !== manifestOf(key);
  }

  /**
   * Whether a replica has come to work that never did before, for as long as one has to; then what was before that is
   * forgotten. Each is news once, however often it crashes.
   */
  function noteReplicas(key: string, unwell: Unwell): boolean {
    const nowMs = clock.monotonicMs();
    const before = unwell.readySinceMs;
    const since = new Map<string, number>();
    let isNews = false;
    for (const { uid, isReady } of replicasOf(key)) {
      const isOld = before ? before.get(uid) === 0 : isReady;
      const sinceMs = isOld ? 0 : (before?.get(uid) ?? nowMs);
      const isSteady = isReady && !isOld && nowMs - sinceMs >= steadyMs;
      if (isSteady) {
        isNews = true;
        unwell.observedMs = Math.min(unwell.observedMs, nowMs - sinceMs);
      }
      if (isReady || isOld) since.set(uid, isSteady ? 0 : sinceMs);
    }
    unwell.readySinceMs = since;
    if (isNews) {
      unwell.sureMs = Math.min(unwell.sureMs, unwell.observedMs);
      unwell.observedAtWriteMs = undefined;
    }
    return isNews;
  }

  /** Where nothing has been in the way since the last look. */
  function add(unwell: Unwell): void {
    const nowMs = clock.monotonicMs();
    // We slept.
    if (nowMs - (unwell.lookedAtMs ?? nowMs) > healthGapMs) takeBack(unwell);
    unwell.observedMs += nowMs - (unwell.lookedAtMs ?? nowMs);
    unwell.sureMs = Math.max(unwell.sureMs, unwell.observedMs - silentMs());
    unwell.lookedAtMs = nowMs;
  }

  /** Nobody knows how it was since the cluster was last heard of. */
  function takeBack(unwell: Unwell): void {
    stopCounting(unwell);
    unwell.observedMs = unwell.sureMs;
    unwell.worksSinceMs = undefined;
  }

  function stopCounting(unwell: Unwell): void {
    unwell.lookedAtMs = undefined;
    unwell.observedAtWriteMs = undefined;
  }

  /**
   * A cluster that takes no writes still answers, and what it shows stands still. So it is tried twice, and in between
   * everybody has the time to say how things are.
   */
  async function end(key: string, unwell: Unwell, signal: AbortSignal): Promise<void> {
    const { observedMs, observedAtWriteMs } = unwell;
    const nowMs = clock.monotonicMs();
    if (nowMs < unwell.nextTryMs) return;
    const isConfirmed =
      observedAtWriteMs !== undefined && observedMs >= Math.max(limitMs, observedAtWriteMs + confirmMs);
    if (observedAtWriteMs !== undefined && !isConfirmed) return;
    unwell.nextTryMs = nowMs + healthSaveMs;
    unwell.observedAtWriteMs = undefined;
    await tryToWrite(signal);
    unwell.observedAtWriteMs = observedAtWriteMs ?? observedMs;
    if (!isConfirmed) return;
    if ((await close(key, observedMs, signal)) === "well") stopCounting(unwell);
  }

  function save(key: string, unwell: Unwell): Promise<void> {
    unwell.savedAtMs = clock.monotonicMs();
    const { sinceMs, observedMs } = unwell;
    return journal.relaxed("unhealth", ({ unhealth }) =>
      unhealth.put({ leaseId: key, sinceMs, observedMs, atMs: clock.now() }),
    );
  }

  async function forget(key: string): Promise<void> {
    if (!all.delete(key)) return;
    await journal.relaxed("unhealth", ({ unhealth }) => unhealth.remove(key));
  }

  return {
    observe,
    keys: (): Iterable<string> => all.keys(),
    has: (key: string) => all.has(key),
    unwell(key: string): SeenUnwell | undefined {
      const { observedMs } = all.get(key) ?? {};
      if (observedMs === undefined) return undefined;
      return { observedMs, ...(limitMs !== Number.POSITIVE_INFINITY && { limitMs }) };
    },
    /** Between now and the next look something went wrong: nobody knows how it was. */
    interrupt(): void {
      for (const unwell of all.values()) takeBack(unwell);
    },
    /** All that was seen. */
    async saveAll(): Promise<void> {
      await Promise.all(Array.from(all, ([key, unwell]) => save(key, unwell)));
    },
  };
}

function begin(sinceMs: number): Unwell {
  return {
    ...{ sinceMs, observedMs: 0, sureMs: 0, savedAtMs: 0, nextTryMs: 0 },
    ...{ lookedAtMs: undefined, worksSinceMs: undefined, observedAtWriteMs: undefined },
    ...{ manifest: undefined, readySinceMs: undefined },
  };
}

function fromRow({ sinceMs, observedMs }: UnhealthRow): Unwell {
  return { ...begin(sinceMs), observedMs, sureMs: observedMs };
}
