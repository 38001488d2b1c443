/**
 * Conditions of inventory, addresses, leases and host names. Of each type a bounded number is listed, tenants in turn, so that
 * one with many hides no other's; the rest is counted.
 */
import { type Condition, condition } from "../runtime/condition.ts";
import type { AddressPool } from "./capacity/addresses/address-pool.ts";
import type { CapacityKeeper } from "./capacity/capacity-keeper.ts";
import type { ClusterSnapshot } from "./capacity/inventory/feed.ts";
import { conditionsOf } from "./capacity/reservations/upkeep.ts";
import type { HealthKeeper } from "./health/health-keeper.ts";
import { leaseProblemsNamed } from "./health/lease-health.ts";
import type { HostnameFeed } from "./leases/declarations/hostname-feed.ts";
import type { LeaseKeeper } from "./leases/lease-loop.ts";
import { isFailing, type LeaseStatus } from "./leases/lease-states.ts";
import type { Reconciler } from "./leases/reconcile/reconciler.ts";
/** Conditions of leases that are listed: the first ones say what is wrong with the others too. */
export const listedLeases = 50;

/** Messages of a snapshot that are quoted: an operator of another version can give one for each node. */
const feedConditions = 20;
/** Conditions that name a drift; one more says how many there are. */
const reconcileConditions = 20;

export interface ClusterStatusParts {
  readonly keeper: Pick<CapacityKeeper, "book" | "leases" | "inventory" | "pool">;
  readonly leaseKeeper: Pick<LeaseKeeper, "states" | "error">;
  readonly health: Pick<HealthKeeper, "all" | "alarms" | "circuitBreaker">;
  readonly reconciler: Pick<Reconciler, "lasting" | "skipped">;
  /** Undefined where IP addresses are not leased. */
  readonly ipOperator: unknown;
  readonly hostnameFeed: Pick<HostnameFeed, "unhealthy" | "unserved" | "error" | "missing"> | undefined;
  /** Whether a lease has a host name. */
  readonly hasHosts: () => boolean;
}

export function* clusterConditions(parts: ClusterStatusParts): Iterable<Condition> {
  const { keeper, leaseKeeper, health, reconciler, ipOperator, hostnameFeed } = parts;
  yield* inventoryConditions(keeper.inventory.error, keeper.book.snapshot);
  if (ipOperator) yield* addressConditions(keeper.pool);
  yield* conditionsOf(keeper.book);
  yield* leaseConditions(leaseKeeper);
  yield* healthConditions(health);
  yield* driftConditions(reconciler);
  if (hostnameFeed) yield* hostnameConditions(hostnameFeed, parts.hasHosts);
}

function* inventoryConditions(
  error: string | undefined,
  snapshot: Pick<ClusterSnapshot, "nodes" | "conditions"> | undefined,
): Iterable<Condition> {
  if (error !== undefined) yield condition("InventoryOld", error, { reason: snapshot ? "Silent" : "NeverSeen" });
  // One that is sold out has capacity; one whose nodes are all cordoned has none.
  if (snapshot && !snapshot.nodes.some(({ cpuMilli }) => cpuMilli.allocatable !== 0n)) {
    const message = "the inventory offers no node: each is cordoned, excluded, tainted or not ready";
    yield condition("NothingSellable", message, { reason: "NoNodeOffered" });
  }
  const invalid = snapshot?.conditions ?? [];
  if (invalid.length === 0) return;
  const messages = invalid.slice(0, feedConditions).map(({ message }) => message);
  const text = `${invalid.length} entries of the inventory are ignored: ${messages.join("; ")}`;
  yield condition("InventoryInvalid", text, { reason: invalid[0]?.type ?? "" });
}

function* addressConditions({ usage, free, error }: Pick<AddressPool, "usage" | "free" | "error">) {
  if (error !== undefined) yield condition("AddressesUnknown", error, { reason: usage ? "Silent" : "NeverSeen" });
  if (!usage || free > 0n) return;
  const isEmpty = usage.total === 0n;
  const counted = isEmpty ? "the IP operator has no address to lease" : `all ${usage.total} IP addresses are in use`;
  const { reason, message } = usage.shortage ?? { reason: isEmpty ? "PoolMissing" : "PoolExhausted", message: counted };
  yield condition("AddressesUnavailable", message, { reason });
}

/** While the caches are not current, that is listed beside what was last known. */
export function leaseConditions({ states, error }: Pick<LeaseKeeper, "states" | "error">): Condition[] {
  const found = Array.from(states.lastKnown(), ([subject, state]) =>
    Array.from(conditionsOfLease(state), ([type, message]) => ofLease(type, subject, message)),
  ).flat();
  const unseen = `leases that use it are left as they are: ${error}`;
  return [...(error === undefined ? [] : [condition("ClusterUnknown", unseen)]), ...listed(found, leaseHint)];
}

export function healthConditions({
  alarms,
  circuitBreaker,
}: Pick<HealthKeeper, "alarms" | "circuitBreaker">): Condition[] {
  const found = Array.from(alarms(), ([subject, problems]) => {
    const texts = problems.slice(0, leaseProblemsNamed).map(({ service, message }) => `${service}: ${message}`);
    return ofLease("LeaseUnhealthy", subject, texts.join("; "), problems[0]?.reason);
  });
  const cause = circuitBreaker();
  const many = condition("ManyLeasesUnhealthy", `${cause}: no unhealthy lease is closed meanwhile`);
  return [...(cause === undefined ? [] : [many]), ...listed(found, leaseHint)];
}

export function driftConditions({ lasting, skipped }: Pick<Reconciler, "lasting" | "skipped">): Condition[] {
  const found = lasting().map(({ kind, subject, evidence }) => {
    const about = `${kind} ${subject}`;
    return { owner: "", is: condition("Drift", `${about}: ${evidence}`, { subject: about }) };
  });
  const all = listed(found, ": see akash-provider reconcile --dry-run", reconcileConditions);
  const why = `chain, cluster and journal are not compared: ${skipped?.why}`;
  return skipped ? [...all, condition("ReconcileSkipped", why)] : all;
}

export function* hostnameConditions(
  { unhealthy, unserved, error, missing }: NonNullable<ClusterStatusParts["hostnameFeed"]>,
  hasHosts: () => boolean,
): Iterable<Condition> {
  const hosts = unhealthy().map(({ host, lease, health, why }) => {
    const message = `lease ${lease}: ${host} is ${health}${why && `: ${why}`}`;
    const reason = `${health.charAt(0).toUpperCase()}${health.slice(1)}`;
    return { owner: ownerOf(lease), is: condition("HostnameUnwell", message, { subject: host, reason }) };
  });
  yield* listed(hosts, " host names are not healthy");
  const silent = unserved();
  if (silent.length > 0) {
    const message = `no ingress controller has reported on the route of ${silent[0]} (${silent.length} host names): start it, or have it publish the status of routes`;
    yield condition("HostnamesUnserved", message, { status: "Unknown", reason: "NoControllerStatus" });
  }
  if (error !== undefined) yield condition("HostnamesUnknown", error, { reason: "Silent" });
  else if (missing !== undefined && hasHosts())
    yield condition("HostnamesUnknown", `leases have host names, and ${missing}`, { reason: "NeverSeen" });
}

interface Found {
  readonly owner: string;
  readonly is: Condition;
}

const leaseHint = " leases: see akash-provider leases";

function listed(found: readonly Found[], hint: string, most: number = listedLeases): Condition[] {
  const inTurns = takeTurns(found);
  const left = Map.groupBy(inTurns.slice(most), ({ type }) => type);
  const counts = Array.from(left, ([type, all]) => condition(type, `${all.length} more${hint}`));
  return [...inTurns.slice(0, most), ...counts];
}

function ofLease(type: string, subject: string, text: string, reason = type): Found {
  return { owner: ownerOf(subject), is: condition(type, `lease ${subject}: ${text}`, { subject, reason }) };
}

function ownerOf(leaseKey: string): string {
  return leaseKey.split("/", 1)[0] ?? "";
}

function* conditionsOfLease(lease: LeaseStatus): Iterable<[type: string, message: string]> {
  const { state, why = "", heldByOthers, addressless, foreign } = lease;
  if (state === "frozen") yield ["LeaseFrozen", why];
  if (state === "refused") yield ["LeaseRefused", why];
  if (state === "closing" && why !== "") yield ["LeaseHeld", why];
  if (isFailing(lease)) yield ["LeaseFailing", why];
  if (heldByOthers) yield ["LeaseWithheld", `does not have ${heldByOthers.join("; ")}`];
  if (addressless) yield ["AddressPending", `has no address for ${addressless.join(", ")}`];
  if (foreign) yield ["ForeignObjects", `objects that we did not make: ${foreign.join(", ")}`];
}

/** Round robin over owners: the first of each, then the second of each. */
function takeTurns(found: readonly Found[]): Condition[] {
  const owners = [...Map.groupBy(found, ({ owner }) => owner).values()];
  const rounds = Math.max(0, ...owners.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) => owners.flatMap((own) => own[round]?.is ?? [])).flat();
}
