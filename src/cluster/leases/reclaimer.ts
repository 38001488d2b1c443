/**
 * Closes the leases that are being reclaimed, whoever began with it, once their tenants have had their time: the chain does
 * not do it by itself. All is read from the mirror and the intents, so a restart at any moment forgets nothing.
 *
 *   not being reclaimed      nothing: it never was, or its tenant has closed it
 *   its time has not passed  wait, by the time of the last block: what is closed too early fails for good
 *   somebody ends it         wait until that is settled
 *   its time has passed      close it, where the chain itself says the same
 */
import type { Chain } from "../../chain/chain.ts";
import { closeBidMessage, closeReasonOf, endLeaseWaitMs, isEnding, lastEnding } from "../../chain/tx/closing.ts";
import { isUnderWay } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import { formatLeaseId, parseLeaseId } from "../../market/ids.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import { done, type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";

interface ReclaimerDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "outbox" | "onStep">;
  readonly journal: Pick<Journal, "read" | "durable">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const why = "its reclamation window has passed";

export type Reclaimer = ReturnType<typeof createReclaimer>;

export function createReclaimer({ chain, journal, clock, random, log }: ReclaimerDeps) {
  const { mirror, queries, outbox } = chain;
  const queue = createQueue({ name: "reclaimed leases", work: look, clock, random, log });

  async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    if (!mirror.ready) return waiting("chain", "the mirror has not been built yet");
    const id = parseLeaseId(key);
    const mirrored = mirror.lease(id);
    if (mirrored?.state !== "reclaiming") return done();
    const leftMs = endLeaseWaitMs(mirrored, mirror.timeNs);
    if (leftMs > 0) return later(leftMs);
    const last = lastEnding(key, journal.read.intents);
    if (isUnderWay(last)) return later(limits.leaseCloseRetryMs);
    const restedMs = last?.settledAtMs === undefined ? undefined : clock.now() - last.settledAtMs;
    // Below zero where somebody has set the clock back: then nobody knows.
    if (restedMs !== undefined && restedMs >= 0 && restedMs < limits.leaseCloseRetryMs)
      return later(limits.leaseCloseRetryMs - restedMs);
    const { value: lease } = await queries.lease(id, { atOrAbove: mirror.height, signal });
    if (!lease) return waiting("chain", "the chain does not know the lease that the mirror has");
    // The mirror will know it in a moment.
    if (lease.state !== "reclaiming") return later(0);
    const stillMs = endLeaseWaitMs(lease, mirror.timeNs);
    if (stillMs > 0) return later(stillMs);
    const reason = closeReasonOf(lease.reclamation?.reason ?? 0) ?? "decommission";
    const message = closeBidMessage(id, reason);
    const intent = outbox.intentOf({ subject: key, why, message, priority: "close" });
    const isFiled = await journal.durable("reclaimed lease", ({ intents, history }) => {
      if (isEnding(key, intents)) return false;
      intents.file(intent);
      history.add({ kind: "lease", subject: key, line: `closeBid filed: ${why}, reason ${reason}` });
      return true;
    });
    if (isFiled) log.info("closing reclaimed lease", { lease: key, reason });
    outbox.wake();
    return later(limits.leaseCloseRetryMs);
  }

  function wake(key: string): void {
    if (mirror.lease(parseLeaseId(key))?.state === "reclaiming") queue.add(key);
  }

  return {
    queue,
    /** How many leases are being reclaimed now. */
    get size() {
      return mirror.ready ? [...mirror.leases()].filter(({ state }) => state === "reclaiming").length : 0;
    },
    open(scope: Scope): void {
      chain.onStep(({ changed }) => {
        for (const { kind, key } of changed) if (kind === "lease") wake(key);
      });
      for (const { id } of mirror.leases()) wake(formatLeaseId(id));
      scope.task("reclaimed leases", queue.run);
    },
  };
}

function later(ms: number): Outcome {
  return recheck(Math.min(Math.max(ms, limits.reclaimLookLeastMs), limits.reclaimLookMostMs));
}

export function measureReclaimer(metrics: Metrics, reclaimer: Reclaimer): void {
  const help = "Leases whose tenants were told that they end, and that are closed when the agreed time has passed";
  metrics.read({ name: "akash_provider_leases_reclaiming", help, kind: "gauge" }, () => reclaimer.size);
}
