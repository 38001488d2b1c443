/**
 * Leases of many owners that are unhealthy at once have a common cause, and it is the provider's or the cluster's, whatever
 * each of them looks like: a broken proxy makes programs crash, a registry mirror answers that there is no such image.
 */
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import type { LeaseClaims, LeasePods } from "../capacity/reservations/lease-watches.ts";
import { type HealthFacts, webhookIn } from "./judge.ts";
import type { Trouble } from "./lease-health.ts";
import type { PodFacts } from "./pod-health.ts";

/** How often a lease that is not well is looked at, event or not, and its time added up. */
export const healthLookMs = 5 * second;

/** Two tenants may break their leases on one day; a third points to what they share. */
const leastOwners = 3;
/** One in so many: of few owners three are many, of hundreds some always have an unhealthy lease. */
const ownersPerUnhealthy = 5;

export interface UnhealthyLease {
  readonly owner: string;
  /** Empty between two crashes, when everything looks ready. */
  readonly troubles: readonly Trouble[];
  readonly facts: () => Pick<HealthFacts, "pods" | "claims" | "workloads" | "rejection" | "isHeardOf">;
}

/** Something that leases share, and the owner of one that uses it. */
export type SharedUse = readonly [shared: string, owner: string];

interface BrakeDeps {
  readonly alarms: () => Iterable<readonly [leaseKey: string, troubles: readonly Trouble[]]>;
  /** Leases whose unhealthy time is counted. */
  readonly counted: () => Iterable<string>;
  /** Every lease that has something to run. */
  readonly judged: () => Iterable<string>;
  readonly factsOf: (leaseKey: string) => HealthFacts;
  readonly pods: Pick<LeasePods, "list">;
  readonly claims: Pick<LeaseClaims, "list">;
  readonly leaseIn: (namespace: string) => string | undefined;
  readonly clock: Pick<Clock, "monotonicMs">;
}

/** Why no unhealthy lease is closed now; undefined where leases are. */
export function createBrake({ alarms, counted, judged, factsOf, pods, claims, leaseIn, clock }: BrakeDeps) {
  let known: { readonly atMs: number; readonly cause: string | undefined } | undefined;

  function look(): string | undefined {
    const alarming = new Map(alarms());
    const unhealthy = Array.from(new Set([...alarming.keys(), ...counted()]), (key) => {
      return { owner: ownerOf(key), troubles: alarming.get(key) ?? [], facts: () => factsOf(key) };
    });
    return commonCause(unhealthy, new Set(Array.from(judged(), ownerOf)).size, used);
  }

  function* used(): Iterable<SharedUse> {
    for (const { namespace, facts } of pods.list())
      if (facts.on !== undefined) yield [nodeShared(facts.on), ownerOf(leaseIn(namespace) ?? "")];
    for (const { namespace, storageClass } of claims.list())
      if (storageClass !== undefined) yield [classShared(storageClass), ownerOf(leaseIn(namespace) ?? "")];
  }

  return function brake(): string | undefined {
    const atMs = clock.monotonicMs();
    if (!known || atMs - known.atMs >= healthLookMs) known = { atMs, cause: look() };
    return known.cause;
  };
}

function ownerOf(leaseKey: string): string {
  return leaseKey.slice(0, leaseKey.indexOf("/"));
}

const nodeShared = (name: string) => `node ${name}`;
const classShared = (name: string) => `storage class ${name}`;

/**
 * What unhealthy leases of many owners share; undefined where there is no such thing. When most are unhealthy nothing is
 * looked up: that is when the process has the most to do.
 */
export function commonCause(
  unhealthy: readonly UnhealthyLease[],
  all: number,
  used: () => Iterable<SharedUse>,
): string | undefined {
  const { size } = new Set(unhealthy.map(({ owner }) => owner));
  if (size < leastOwners) return undefined;
  if (size * ownersPerUnhealthy > all) return `leases of ${size} of ${all} owners are unhealthy at once`;
  for (const [cause, owners] of ownersOf(unhealthy.flatMap(causesOf)))
    if (owners.size >= leastOwners) return `${cause} keeps leases of ${owners.size} owners from working`;
  const suspects = [...ownersOf(unhealthy.flatMap(suspectsOf))].filter(([, owners]) => owners.size >= leastOwners);
  const users = suspects.length > 0 ? ownersOf(used()) : undefined;
  for (const [suspect, { size }] of suspects) {
    const all = users?.get(suspect)?.size ?? size;
    if (size * ownersPerUnhealthy > all)
      return `on ${suspect}, leases of ${size} of ${all} owners are unhealthy at once`;
  }
  return undefined;
}

function ownersOf(uses: Iterable<SharedUse>): Map<string, Set<string>> {
  const owners = new Map<string, Set<string>>();
  for (const [shared, owner] of uses) owners.set(shared, (owners.get(shared) ?? new Set()).add(owner));
  return owners;
}

/** What is known to keep it from working, even if it works for other leases. */
function causesOf({ owner, troubles, facts }: UnhealthyLease): SharedUse[] {
  const awaiting = troubles.filter(({ reason }) => reason === "VolumeNotBound" || reason === "NotReady");
  const { claims, workloads, rejection } = facts();
  const classes = classesOf(claims, new Set(awaiting.map(({ service }) => service)));
  const failures = Array.from(workloads.values(), ({ failure }) => failure);
  const webhooks = [...failures, rejection].flatMap((words) => webhookIn(words ?? "") ?? []);
  return [...classes, ...webhooks.map((name) => `webhook ${name}`)].map((cause) => [cause, owner]);
}

/** What those of its replicas depend on that do not work. */
function suspectsOf({ owner, troubles, facts }: UnhealthyLease): SharedUse[] {
  const { pods, claims, isHeardOf } = facts();
  const placed = pods.filter(({ on }) => on !== undefined);
  const down = placed.filter(({ state, on = "" }) => state === "unready" || !isHeardOf(on));
  const nodes = (down.length > 0 ? down : placed).map(({ on = "" }: PodFacts) => nodeShared(on));
  const services = (troubles.length > 0 ? troubles : claims).map(({ service }) => service);
  return [...nodes, ...classesOf(claims, new Set(services))].map((suspect) => [suspect, owner]);
}

function classesOf(claims: HealthFacts["claims"], services: ReadonlySet<string>): string[] {
  const own = claims.filter(({ service }) => services.has(service));
  return own.flatMap(({ storageClass }) => (storageClass === undefined ? [] : classShared(storageClass)));
}
