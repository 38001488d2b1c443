/**
 * Holds the closing of unhealthy leases back while those of many owners are unhealthy at once: then the common cause is
 * the provider's or the cluster's, whatever each looks like. A broken proxy makes programs crash, for instance.
 */
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { memoizeFor } from "../../runtime/memoize.ts";
import type { LeaseClaims, LeasePods } from "../capacity/reservations/lease-watches.ts";
import { type HealthFacts, webhookIn } from "./judge.ts";
import type { HealthProblem } from "./lease-health.ts";
import type { PodFacts } from "./pod-health.ts";

/** How often an unhealthy lease is checked and its time added up. */
export const healthCheckMs = 5 * second;

/** Two tenants may break their leases at once; a third points to what they share. */
const leastOwners = 3;
/** The share of owners: of hundreds, some always have an unhealthy lease. */
const ownersPerUnhealthy = 5;

export interface UnhealthyLease {
  readonly owner: string;
  /** Empty between two crashes. */
  readonly problems: readonly HealthProblem[];
  readonly facts: () => Pick<HealthFacts, "pods" | "claims" | "workloads" | "rejection" | "isNodeReady">;
}

/** Something that leases share, and the owner of one that uses it. */
export type SharedUse = readonly [shared: string, owner: string];

interface CircuitBreakerDeps {
  readonly alarms: () => Iterable<readonly [leaseKey: string, problems: readonly HealthProblem[]]>;
  /** Leases whose unhealthy time is counted. */
  readonly counted: () => Iterable<string>;
  /** Every lease that has something to run. */
  readonly judged: () => Iterable<string>;
  readonly factsOf: (leaseKey: string) => HealthFacts;
  readonly pods: Pick<LeasePods, "list">;
  readonly claims: Pick<LeaseClaims, "list">;
  readonly leaseIn: (namespace: string) => string | undefined;
  readonly clock: Clock;
}

/** Why no unhealthy lease is closed now; undefined where leases are. */
export function createCircuitBreaker(deps: CircuitBreakerDeps): () => string | undefined {
  const { alarms, counted, judged, factsOf, pods, claims, leaseIn, clock } = deps;

  function* used(): Iterable<SharedUse> {
    for (const { namespace, facts } of pods.list())
      if (facts.on !== undefined) yield [nodeShared(facts.on), ownerOf(leaseIn(namespace) ?? "")];
    for (const { namespace, storageClass } of claims.list())
      if (storageClass !== undefined) yield [classShared(storageClass), ownerOf(leaseIn(namespace) ?? "")];
  }

  return memoizeFor(healthCheckMs, clock, () => {
    const alarming = new Map(alarms());
    const unhealthy = Array.from(new Set([...alarming.keys(), ...counted()]), (key) => {
      return { owner: ownerOf(key), problems: alarming.get(key) ?? [], facts: () => factsOf(key) };
    });
    return commonCause(unhealthy, new Set(Array.from(judged(), ownerOf)).size, used);
  });
}

function ownerOf(leaseKey: string): string {
  return leaseKey.slice(0, leaseKey.indexOf("/"));
}

const nodeShared = (name: string) => `node ${name}`;
const classShared = (name: string) => `storage class ${name}`;

/** What unhealthy leases of many owners share; when most are unhealthy, nothing is looked up. */
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
  if (suspects.length === 0) return undefined;
  const users = ownersOf(used());
  for (const [suspect, { size }] of suspects) {
    const all = users.get(suspect)?.size ?? size;
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

/** Known causes, even if they do not affect other leases. */
function causesOf({ owner, problems, facts }: UnhealthyLease): SharedUse[] {
  const awaiting = problems.filter(({ reason }) => reason === "VolumeNotBound" || reason === "NotReady");
  const { claims, workloads, rejection } = facts();
  const classes = classesOf(claims, new Set(awaiting.map(({ service }) => service)));
  const failures = Array.from(workloads.values(), ({ failure }) => failure);
  const webhooks = [...failures, rejection].flatMap((words) => webhookIn(words ?? "") ?? []);
  return [...classes, ...webhooks.map((name) => `webhook ${name}`)].map((cause) => [cause, owner]);
}

/** What its failing replicas depend on. */
function suspectsOf({ owner, problems, facts }: UnhealthyLease): SharedUse[] {
  const { pods, claims, isNodeReady } = facts();
  const placed = pods.filter(({ on }) => on !== undefined);
  const down = placed.filter(({ state, on = "" }) => state === "unready" || !isNodeReady(on));
  const nodes = (down.length > 0 ? down : placed).map(({ on = "" }: PodFacts) => nodeShared(on));
  const services = (problems.length > 0 ? problems : claims).map(({ service }) => service);
  return [...nodes, ...classesOf(claims, new Set(services))].map((suspect) => [suspect, owner]);
}

function classesOf(claims: HealthFacts["claims"], services: ReadonlySet<string>): string[] {
  const own = claims.filter(({ service }) => services.has(service));
  return own.flatMap(({ storageClass }) => (storageClass === undefined ? [] : classShared(storageClass)));
}
