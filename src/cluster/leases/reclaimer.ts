/**
 * Closes the leases that are being reclaimed, whoever began with it, once their tenants have had their time: the chain does
 * not do it by itself. All is read from the mirror and the intents, so a restart at any moment forgets nothing.
 *
 *   not being reclaimed      nothing: it never was, or its tenant has closed it
 *   its time has not passed  nothing yet, by the time of the last block: what is closed too early fails for good
 *   somebody ends it         nothing, unless that fails, and then after a pause
 *   its time has passed      close it, where the chain itself says the same
 */
import type { Chain } from "../../chain/chain.ts";
import { endingPauseMs, fileEnding } from "../../chain/lease-ending.ts";
import type { Lease } from "../../chain/records.ts";
import { closeReasonOf, endLeaseWaitMs } from "../../chain/tx/closing.ts";
import type { Journal } from "../../journal/journal.ts";
import { formatLeaseId, parseLeaseId } from "../../market/ids.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import { done, type Outcome, waiting } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";

interface ReclaimerDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "outbox" | "onStep">;
  readonly journal: Pick<Journal, "read" | "durable" | "nowMs">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export type Reclaimer = ReturnType<typeof createReclaimer>;

export function createReclaimer({ chain, journal, clock, random, log }: ReclaimerDeps) {
  const { mirror, queries, outbox } = chain;
  const queue = createQueue({ name: "reclaimed leases", work: look, clock, random, log });

  async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    const id = parseLeaseId(key);
    if (!isDue(mirror.lease(id))) return done();
    if (endingPauseMs(key, journal.read.intents, journal.nowMs()) !== 0) return done();
    const { value: lease } = await queries.lease(id, { atOrAbove: mirror.height, signal });
    if (!lease) return waiting("chain", "the chain does not know the lease that the mirror has");
    if (!isDue(lease)) return done();
    const reason = closeReasonOf(lease.reclamation?.reason ?? 0) ?? "decommission";
    const why = `its reclamation window has passed, reason ${reason}`;
    const isFiled = await fileEnding({ lease, reason, why }, { outbox, journal });
    if (isFiled) log.info("closing reclaimed lease", { lease: key, reason });
    return done();
  }

  function isDue(lease: Lease | undefined): boolean {
    return lease?.state === "reclaiming" && endLeaseWaitMs(lease, mirror.timeNs) === 0;
  }

  /** After each block: time passes with blocks alone, and what could not be done now is looked at with the next. */
  function wakeDue(): void {
    for (const lease of mirror.leases()) if (isDue(lease)) queue.add(formatLeaseId(lease.id));
  }

  return {
    queue,
    /** How many leases are being reclaimed now. */
    get size() {
      return [...mirror.leases()].filter(({ state }) => state === "reclaiming").length;
    },
    open(scope: Scope): void {
      chain.onStep(wakeDue);
      wakeDue();
      scope.task("reclaimed leases", queue.run);
    },
  };
}

export function measureReclaimer(metrics: Metrics, reclaimer: Reclaimer): void {
  const help = "Leases whose tenants were told that they end, and that are closed when the agreed time has passed";
  metrics.read({ name: "akash_provider_leases_reclaiming", help, kind: "gauge" }, () => reclaimer.size);
}
