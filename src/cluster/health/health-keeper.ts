/** Keeps the health of every lease. A lease is judged again when something of it changes; nothing is polled. */

import { type Chain, mirrorUnavailable } from "../../chain/chain.ts";
import { runs } from "../../chain/records.ts";
import type { Journal } from "../../journal/journal.ts";
import { groupIn, manifestToRun, manifestWanted } from "../../journal/manifests.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { serviceLabel } from "../../kube/objects/lease-labels.ts";
import { parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { Clock } from "../../runtime/clock.ts";
import { defineController } from "../../runtime/controller.ts";
import { minute } from "../../runtime/durations.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck } from "../../runtime/outcome.ts";
import type { Random } from "../../runtime/random.ts";
import { cachesError, pollError } from "../cache-error.ts";
import type { LeaseClaims, LeasePods } from "../capacity/reservations/lease-watches.ts";
import type { LeaseKeeper } from "../leases/lease-loop.ts";
import type { LeaseOptions } from "../leases/lease-options.ts";
import { createCircuitBreaker, healthCheckMs } from "./circuit-breaker.ts";
import { createCloseUnhealthy, createWriteTrial } from "./close-unhealthy.ts";
import { type HealthFacts, judge, type WantedService, type WorkloadFacts, webhookIn } from "./judge.ts";
import { type HealthProblem, type HealthView, healthStartingMs, type LeaseHealth } from "./lease-health.ts";
import { createMonitoring, type SeenReplica, type SeenUnhealthy, steadyMs, unhealthyLimitMs } from "./monitoring.ts";
import type { PodFacts } from "./pod-health.ts";

/** An older mirror may not show yet that a lease is over. */
export const healthMirrorMs = minute;

interface HealthDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "outbox" | "status">;
  readonly journal: Pick<Journal, "read" | "relaxed" | "durable" | "nowMs">;
  readonly kube: Pick<Kube, "list" | "create">;
  readonly options: Pick<LeaseOptions, "monitor" | "manifestNamespace">;
  readonly leases: Pick<LeaseKeeper, "live" | "nodes" | "states" | "leaseIn" | "onLooked">;
  readonly pods: LeasePods;
  readonly claims: LeaseClaims;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export type HealthKeeper = ReturnType<typeof createHealthKeeper>;
type Listener = Parameters<HealthView["onChange"]>[0];

const unknown: LeaseHealth = { state: "unknown", services: [], troubles: [] };

export function createHealthKeeper(deps: HealthDeps) {
  const { chain, journal, options, leases, pods, claims, clock } = deps;
  const { error, factsOf, wantedOf, replicasOf } = createLookUp(deps);
  const healths = createHealths();
  const { get, onChange, all } = healths;
  /** What was starting then may have started since. */
  let staleSinceMs: number | undefined;
  const monitoring = createMonitoring({
    ...{ journal, clock, counts, replicasOf },
    manifestOf: (key) => manifestWanted(journal.read.manifests.get(key))?.version,
    limitMs: unhealthyLimitMs(options.monitor),
    steadyMs: steadyMs(options.monitor),
    silentMs: () => Math.max(pods.cache?.ageMs ?? 0, leases.nodes.cache.ageMs),
    tryToWrite: createWriteTrial(deps.kube, options.manifestNamespace),
    close: createCloseUnhealthy({ ...deps, judge: judgeNow }),
  });
  const alarms = () => healths.alarms((staleSinceMs ?? clock.now()) - healthStartingMs);
  const circuitBreaker = createCircuitBreaker({
    ...{ pods, claims, clock, alarms, factsOf },
    leaseIn: leases.leaseIn,
    judged: healths.judgedKeys,
    // Also those between two crashes.
    counted: monitoring.keys,
  });
  const controller = defineController({
    ...{ ...deps, name: "health", reconcile: work },
    watch(_add, onStop) {
      onStop(monitoring.saveAll);
      wakeAll();
    },
  });

  function wakeNamespace(namespace: string): void {
    const key = leases.leaseIn(namespace);
    if (key !== undefined) controller.add(key);
  }

  function wakeAll(): void {
    const keys = [...healths.keys(), ...monitoring.keys(), ...journal.read.manifests.leaseIds()];
    for (const key of new Set(keys)) controller.add(key, "low");
  }

  /** By the caches, or by these pods instead of those of the cache. */
  function judgeNow(key: string, podsNow?: readonly PodFacts[]): LeaseHealth | undefined {
    const { state } = leases.states.get(key) ?? {};
    if (error() !== undefined || state === "unknown") return unknown;
    const services = wantedOf(key);
    // Its loop has not looked yet.
    if (services && state === undefined) return unknown;
    return services && judge(factsOf(key, services, podsNow), healths.judged(key));
  }

  /** Its manifest is deployed or rejected by the API server's own rules, its lease is active, and the breaker is closed. */
  function counts(key: string): boolean {
    const { state, why } = leases.states.get(key) ?? {};
    const rejection = journal.read.manifests.get(key)?.refusal;
    // With another reason, the server rejects what it accepted before.
    const isTenants = state === "refused" && why === rejection && webhookIn(rejection ?? "") === undefined;
    const isApplied = state === "deployed" || isTenants;
    const isMirrorFresh = (chain.status.mirrorAgeMs ?? Number.POSITIVE_INFINITY) <= healthMirrorMs;
    const isActive = chain.mirror.lease(parseLeaseId(key))?.state === "active";
    return isApplied && isMirrorFresh && isActive && circuitBreaker() === undefined;
  }

  async function work(key: string, signal: AbortSignal): Promise<Outcome> {
    const now = judgeNow(key);
    healths.note(key, now);
    await monitoring.observe(key, now, signal);
    return now?.state === "unhealthy" || monitoring.has(key) ? recheck(healthCheckMs) : done();
  }

  function onCacheError(now: string | undefined, before: string | undefined): void {
    if (now !== undefined) monitoring.interrupt();
    staleSinceMs = now === undefined ? undefined : (staleSinceMs ?? clock.now());
    if ((now === undefined) !== (before === undefined)) wakeAll();
  }

  for (const watched of [pods, claims]) watched.onChange(({ value }) => wakeNamespace(value.namespace));
  onReadiness(deps, wakeNamespace);
  leases.onLooked((key) => void controller.add(key));

  return {
    ...{ get, onChange, all, alarms, circuitBreaker, queue: controller.queue },
    view: { get, onChange } satisfies HealthView,
    unhealthy(key: string): SeenUnhealthy | undefined {
      const [seen, heldBy] = [monitoring.seen(key), circuitBreaker()];
      return seen && { ...seen, ...(heldBy !== undefined && { heldBy }) };
    },
    open(scope: Scope): void {
      controller.start(scope);
      scope.task("cache errors for health", (signal) => pollError(error, onCacheError, clock, signal));
    },
  };
}

function createHealths() {
  const healths = new Map<string, LeaseHealth>();
  /** Without "unknown": a problem keeps its beginning while the cluster cannot be read. */
  const judged = new Map<string, LeaseHealth>();
  const listeners: Listener[] = [];
  return {
    get: (key: string) => healths.get(key),
    judged: (key: string) => judged.get(key),
    keys: () => healths.keys(),
    judgedKeys: () => judged.keys(),
    all: (): Iterable<readonly [string, LeaseHealth]> => healths.entries(),
    onChange: (listener: Listener) => void listeners.push(listener),
    note(key: string, now: LeaseHealth | undefined): void {
      const before = healths.get(key);
      if (now) healths.set(key, now);
      else healths.delete(key);
      if (!now) judged.delete(key);
      else if (now.state !== "unknown") judged.set(key, now);
      if (JSON.stringify(before) === JSON.stringify(now)) return;
      for (const listener of listeners) listener(key, now, before);
    },
    /** Without what is starting since this time. */
    *alarms(longAgoMs: number): Iterable<readonly [string, readonly HealthProblem[]]> {
      for (const [key, { troubles }] of judged) {
        const alarming = troubles.filter(({ reason, sinceMs }) => reason !== "NotReady" || sinceMs <= longAgoMs);
        if (alarming.length > 0) yield [key, alarming];
      }
    },
  };
}

/** Nodes report every few minutes; only a change of readiness concerns the leases with pods there. */
function onReadiness({ leases: { nodes }, pods }: HealthDeps, wakeNamespace: (namespace: string) => void): void {
  const readiness = new Map<string, boolean>();
  nodes.onChange((name) => {
    const isReady = nodes.isReady(name);
    if (readiness.get(name) === isReady) return;
    readiness.set(name, isReady);
    const concerned = [...pods.list()].filter(({ facts }) => facts.on === name).map(({ namespace }) => namespace);
    for (const namespace of new Set(concerned)) wakeNamespace(namespace);
  });
}

function createLookUp({ chain, journal, leases, pods, claims, clock }: HealthDeps) {
  const { live, nodes } = leases;
  return {
    /** Why mirror or caches are not up to date. */
    error(): string | undefined {
      const caches = [pods.cache, claims.cache, nodes.cache].filter((cache) => cache !== undefined);
      return mirrorUnavailable(chain.mirror) ?? cachesError(caches);
    },
    *replicasOf(key: string): Iterable<SeenReplica> {
      for (const { uid, facts } of pods.in(leaseNamespace(parseLeaseId(key))))
        yield { uid, isReady: facts.state === "ready" };
    },
    /** Undefined where nothing should run. */
    wantedOf(key: string): readonly WantedService[] | undefined {
      if (!runs(chain.mirror.lease(parseLeaseId(key)))) return undefined;
      const manifest = manifestWanted(journal.read.manifests.get(key));
      return manifest && groupIn(manifest.body).services.map(({ name, count }) => ({ name, count }));
    },
    factsOf(key: string, services: readonly WantedService[] = [], podsNow?: readonly PodFacts[]): HealthFacts {
      const namespace = leaseNamespace(parseLeaseId(key));
      const row = journal.read.manifests.get(key);
      const workloads = new Map<string, WorkloadFacts>();
      for (const { kind, name, labels, failure, deletingSinceMs } of live.workloads(namespace)) {
        if (deletingSinceMs !== undefined) continue;
        workloads.set(labels[serviceLabel] ?? name, { isSet: kind === kinds.statefulSet, failure });
      }
      return {
        services,
        pods: podsNow ?? Array.from(pods.in(namespace), ({ facts }) => facts),
        workloads,
        claims: [...claims.in(namespace)],
        rejection: manifestToRun(row) ? undefined : row?.refusal,
        isNodeReady: nodes.isReady,
        takesPods: nodes.takesPods,
        nowMs: clock.now(),
      };
    },
  };
}
