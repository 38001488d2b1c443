/**
 * The loop of one lease of ours, as far as its manifest is concerned. It runs alike at start, on an event, after an error
 * and on a timer.
 *
 *   not running              forget its deadline; the manifest goes with the workload, when that is torn down
 *   the cluster knows more   take up what the journal has lost
 *   has a manifest           nothing is waited for any more
 *   has none                 wait until its deadline, then end the lease: its tenant pays for nothing
 */

import { type Chain, mirrorUnavailable } from "../chain/chain.ts";
import { endingPauseMs, fileEnding, isEnding } from "../chain/closing.ts";
import { type Lease, runs } from "../chain/records.ts";
import { manifestDeadline } from "../journal/deadlines.ts";
import { type Intent, isUnderWay } from "../journal/intents.ts";
import type { Journal } from "../journal/journal.ts";
import { type ManifestRow, restoredRow } from "../journal/manifests.ts";
import { deploymentOf, parseLeaseId } from "../market/ids.ts";
import { isNewerInCluster } from "../market/manifest.ts";
import { nsToMs } from "../runtime/clock.ts";
import { minute } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import { leaseCloseRetryMs } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import { done, type Outcome, recheck, stalled, waiting } from "../runtime/outcome.ts";
import type { ClusterSide } from "./checks.ts";
import type { ManifestStates } from "./manifest-status.ts";
import type { MissedTime } from "./missed-time.ts";

/** How often the manifest in the cluster is compared with the journal's, from caches. */
export const manifestRecheckMs = 10 * minute;

interface LoopDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "outbox" | "status">;
  readonly journal: Journal;
  readonly cluster: ClusterSide;
  readonly missed: Pick<MissedTime, "settle" | "away">;
  /** 0 turns it off. */
  readonly timeoutMs: number;
  readonly states: ManifestStates;
  readonly onRestored: (key: string, version: string) => void;
  readonly log: Log;
}

/** Why such a lease is closed. */
const noManifest = "no manifest came in time";

/** Whether this would end a lease for the lack of a manifest, and may yet be stopped. */
export function isTimeout(intent: Intent): boolean {
  return isEnding(intent) && intent.why === noManifest && isUnderWay(intent);
}

export type ManifestLoop = ReturnType<typeof createManifestLoop>;

export function createManifestLoop(deps: LoopDeps) {
  const { chain, journal, cluster, missed, timeoutMs, states, log } = deps;
  const { mirror, queries, outbox } = chain;
  const { read } = journal;
  const reunite = (lease: Pick<Lease, "id">, key: string) => reuniteManifest(lease, key, deps);

  async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    const unbuilt = mirrorUnavailable(mirror);
    if (unbuilt !== undefined) return waiting("chain", unbuilt);
    const lease = mirror.lease(parseLeaseId(key));
    if (!lease || !runs(lease)) return forget(key);
    try {
      return await follow(lease, key, signal);
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_CLUSTER_UNKNOWN")) throw thrown;
      missed.away();
      return waiting("cluster", thrown.message);
    }
  }

  async function follow(lease: Lease, key: string, signal: AbortSignal): Promise<Outcome> {
    const row = await reunite(lease, key);
    if (!row) cluster.checkHostsKnown();
    const isCurrent = await missed.settle(signal);
    if (row || timeoutMs === 0) return settle(key, row);
    return isCurrent ? watch(lease, key, signal) : waiting("chain", "the mirror is behind the chain");
  }

  async function forget(key: string): Promise<Outcome> {
    await disarm(key);
    states.forget(key);
    return done();
  }

  async function settle(key: string, row: ManifestRow | undefined): Promise<Outcome> {
    states.note(key, row ? (row.withdrawnAtMs === undefined ? "received" : "withdrawn") : "waiting");
    await disarm(key);
    // The Manifest resource may be restored or edited, and the lease's own loop then waits for us.
    return recheck(manifestRecheckMs);
  }

  async function disarm(key: string): Promise<void> {
    if (!read.deadlines.get(manifestDeadline, key)) return;
    await journal.relaxed("manifest deadline", ({ deadlines }) => deadlines.remove(manifestDeadline, key));
  }

  /** Its deadline is written down before anything is done about it. */
  async function watch(lease: Lease, key: string, signal: AbortSignal): Promise<Outcome> {
    const dueAtMs = read.deadlines.get(manifestDeadline, key)?.dueAtMs ?? (await arm(key));
    states.note(key, "waiting", dueAtMs);
    const leftMs = dueAtMs - nsToMs(mirror.timeNs);
    if (leftMs <= 0) return end(lease, key, signal);
    // Time passes with blocks.
    return recheck(Math.max(leftMs, chain.status.blockTimeMs));
  }

  /** From when we see the lease: its tenant cannot send a manifest to a provider that does not know it. */
  async function arm(key: string): Promise<number> {
    const dueAtMs = nsToMs(mirror.timeNs) + timeoutMs;
    await journal.durable("manifest deadline", ({ manifests, deadlines }) => {
      if (!manifests.get(key)) deadlines.put({ kind: manifestDeadline, subject: key, dueAtMs });
    });
    return dueAtMs;
  }

  /** By proof: the chain says that it runs, cluster and journal that nothing was ever sent. */
  async function end({ id }: Lease, key: string, signal: AbortSignal): Promise<Outcome> {
    const pauseMs = endingPauseMs(key, read.intents, journal.nowMs());
    // It is being ended; when that is settled it is looked at again.
    if (pauseMs === undefined) return done();
    if (pauseMs > 0) return recheck(pauseMs);
    if (cluster.hasNamespace(id)) return stalled("its namespace is there, and no Manifest resource says what was sent");
    const { value: lease } = await queries.lease(id, { atOrAbove: mirror.height, signal });
    if (!lease) return waiting("chain", "the chain does not know the lease that the mirror has");
    if (!runs(lease)) return recheck(leaseCloseRetryMs);
    // Its tenant was notified; it is closed with all others of that kind when the window has passed.
    if (lease.state === "reclaiming") return recheck(manifestRecheckMs);
    const isFiled = await fileEnding(
      {
        lease,
        reason: "manifest-timeout",
        why: noManifest,
        unless: ({ manifests }) => manifests.get(key) !== undefined,
      },
      { outbox, journal },
    );
    if (!isFiled) return done();
    states.counts.timedOut += 1;
    log.info("closing lease without manifest", { lease: key });
    return done();
  }

  return { look, reunite };
}

/** The newer manifest of journal and cluster; the journal has it afterwards. Throws while the cluster's state is unknown. */
async function reuniteManifest(
  { id }: Pick<Lease, "id">,
  key: string,
  { chain: { mirror }, journal, cluster, states, onRestored, log }: LoopDeps,
): Promise<ManifestRow | undefined> {
  const { read } = journal;
  const before = read.manifests.get(key);
  const recorded = await cluster.recorded(id);
  const { hash } = mirror.deployment(deploymentOf(id)) ?? {};
  if (!recorded || !isNewerInCluster(recorded, before, hash)) return read.manifests.get(key);
  const found = restoredRow(key, recorded);
  const isRestored = await journal.durable("manifest found", ({ manifests, deadlines, history }) => {
    const now = manifests.get(key);
    // One that came meanwhile is newer than anything.
    if (now?.version !== before?.version || now?.receivedAtMs !== before?.receivedAtMs) return false;
    manifests.restore(found);
    deadlines.remove(manifestDeadline, key);
    history.add({ kind: "manifest", subject: key, line: "manifest restored from the cluster" });
    return true;
  });
  if (isRestored) {
    states.counts.restored += 1;
    log.info("restored manifest from cluster", { lease: key, version: found.version });
    onRestored(key, found.version);
  }
  return read.manifests.get(key);
}
