/** An operator closes or reclaims a lease: shows the cost, reads the lease from the chain again, and files an intent. */
import type { Chain } from "../../chain/chain.ts";
import {
  type CloseReason,
  closeReasonOf,
  endingOf,
  endingPauseMs,
  endLeaseWaitMs,
  fileEnding,
  isBeingEnded,
  reclaimedAtMs,
} from "../../chain/closing.ts";
import { type Lease, runs } from "../../chain/records.ts";
import type { Journal } from "../../journal/journal.ts";
import { groupIn } from "../../journal/manifests.ts";
import { showDecCoin } from "../../market/coin.ts";
import { volumeKind } from "../../market/group-spec.ts";
import { bidOn, formatLeaseId, type LeaseId, parseLeaseId, parseOrderId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { ManifestService } from "../../market/manifest.ts";
import { formatTime, nsToMs } from "../../runtime/clock.ts";
import { defineController } from "../../runtime/controller.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, waiting } from "../../runtime/outcome.ts";

export interface ClosingDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "outbox" | "provider">;
  readonly journal: Pick<Journal, "read" | "durable">;
  readonly hostsOf: (leaseId: string) => readonly string[];
  readonly log: Log;
}

/** What ending a lease does and costs. */
export type Closing = Awaited<ReturnType<typeof end>>;

export interface CloseRequest {
  /** Of the lease, or of the order that it came from: as people have it at hand. */
  readonly id: string;
  readonly reason: CloseReason;
  readonly dryRun: boolean;
}

/** Its tenant is notified first where that was agreed, and the lease is closed later by itself. */
export async function closeLease(request: CloseRequest, deps: ClosingDeps, signal: AbortSignal): Promise<Closing> {
  const lease = await runningLease(request.id, deps.chain, signal);
  if (endLeaseWaitMs(lease, deps.chain.mirror.timeNs) > 0) throw reclaimedLater(lease);
  return end(lease, request, deps);
}

/** The same for a lease with such an agreement only: it ends none at once. */
export async function reclaimLease(request: CloseRequest, deps: ClosingDeps, signal: AbortSignal): Promise<Closing> {
  const lease = await runningLease(request.id, deps.chain, signal);
  if (!lease.reclamation) throw new ProviderError("AKP_LEASE_NOT_RECLAIMABLE", { lease: formatLeaseId(lease.id) });
  if (lease.state === "reclaiming") throw reclaimedLater(lease);
  return end(lease, request, deps);
}

async function end(lease: Lease, { reason, dryRun }: CloseRequest, deps: ClosingDeps) {
  const { chain, journal, log } = deps;
  const key = formatLeaseId(lease.id);
  const ending = { lease, reason, why: `closed by the operator, reason ${reason}` };
  const { what } = endingOf(ending, chain.outbox);
  const noticeNs = what === "startReclaim" ? lease.reclamation?.windowNs : undefined;
  /** Of "startReclaim": about when it is closed, by itself. */
  const closes: { readonly closesAtMs?: number } =
    noticeNs === undefined ? {} : { closesAtMs: nsToMs(chain.mirror.timeNs + noticeNs) };
  const about = { lease: key, message: what, ...closes, reason, dryRun, loses: losesOf(lease, deps) };
  // Under way: it is being ended already, and nothing more is filed.
  if (dryRun) return { ...about, underWay: isBeingEnded(key, journal.read.intents) };
  const isFiled = await fileEnding(ending, { outbox: chain.outbox, journal });
  if (isFiled) log.info("operator closes a lease", { lease: key, message: what, reason });
  return { ...about, underWay: !isFiled };
}

/** By the chain itself: a lease that is closed or not ours costs a fee and does nothing. */
export async function runningLease(
  text: string,
  { queries, mirror, provider }: Pick<ClosingDeps["chain"], "queries" | "mirror" | "provider">,
  signal: AbortSignal,
): Promise<Lease> {
  const id: LeaseId = text.split("/").length <= 4 ? bidOn(parseOrderId(text), provider) : parseLeaseId(text);
  const lease = formatLeaseId(id);
  if (id.provider !== provider)
    throw new ProviderError("AKP_LEASE_NOT_OURS", { lease, provider: id.provider, ours: provider });
  const { value, height } = await queries.lease(id, { atOrAbove: mirror.height, signal });
  if (!value) throw new ProviderError("AKP_LEASE_UNKNOWN", { lease, height });
  const { state, closedOn } = value;
  if (!runs(value)) throw new ProviderError("AKP_LEASE_OVER", { lease, state, closedOn });
  return value;
}

function reclaimedLater({ id, reclamation }: Lease): ProviderError {
  invariant(reclamation, "what is being reclaimed has a deadline", { lease: id });
  const from = formatTime(reclaimedAtMs(reclamation));
  return new ProviderError("AKP_LEASE_RECLAIMED_LATER", { lease: formatLeaseId(id), from });
}

function losesOf({ id, price }: Lease, { journal, hostsOf }: ClosingDeps) {
  const key = formatLeaseId(id);
  const row = journal.read.manifests.get(key);
  const services = row && row.withdrawnAtMs === undefined ? groupIn(row.body).services : [];
  return {
    price: showDecCoin(price),
    namespace: leaseNamespace(id),
    hosts: hostsOf(key),
    services: services.map(({ name, count }) => ({ name, count })),
    /** What tenants have written there is gone for good. */
    volumes: services.flatMap(volumesOf),
  };
}

function volumesOf({ name: service, resources, params }: ManifestService) {
  const mounted = new Set(params?.storage?.map(({ name }) => name));
  return (resources.storage ?? [])
    .filter((volume) => volumeKind(volume).persistent && mounted.has(volume.name))
    .map(({ name, size }) => ({ service, name, bytes: size.val }));
}

// The reclaimer closes leases whose tenants have had their notice: the chain does not do it by itself. All is read from
// the mirror and the intents, so a restart forgets nothing. Time is that of the last block: closed too early fails.

interface ReclaimerDeps extends RuntimeDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "outbox" | "onStep">;
  readonly journal: Pick<Journal, "read" | "durable" | "nowMs">;
}

export function createReclaimer(deps: ReclaimerDeps) {
  const { chain, journal, log } = deps;
  const { mirror, queries, outbox } = chain;
  const controller = defineController({
    ...{ ...deps, name: "reclaimed leases", reconcile: look },
    watch() {
      chain.onStep(wakeDue);
      wakeDue();
    },
  });

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
    for (const lease of mirror.leases()) if (isDue(lease)) controller.add(formatLeaseId(lease.id));
  }

  return {
    queue: controller.queue,
    get size() {
      return [...mirror.leases()].filter(({ state }) => state === "reclaiming").length;
    },
    open: controller.start,
  };
}
