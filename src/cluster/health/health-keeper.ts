/** Keeps how every lease is doing. What runs is watched, not polled: a lease is looked at anew when something of it changes. */

import type { Chain } from "../../chain/chain.ts";
import { mirrorTrouble } from "../../chain/mirror-trouble.ts";
import { runs } from "../../chain/records.ts";
import type { Journal } from "../../journal/journal.ts";
import { groupIn, manifestToRun, manifestWanted } from "../../journal/manifests.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { serviceLabel } from "../../kube/objects/lease-labels.ts";
import { parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { Clock } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import type { LeaseClaims, LeasePods } from "../capacity/reservations/lease-watches.ts";
import type { LeaseKeeper } from "../leases/lease-keeper.ts";
import type { LeaseOptions } from "../leases/lease-options.ts";
import { followTrouble, watchTrouble } from "../watch-trouble.ts";
import { createBrake, healthLookMs } from "./brake.ts";
import { createCloseUnwell, createWriteTrial } from "./close-unwell.ts";
import { type HealthFacts, judge, type WantedService, type WorkloadFacts, webhookIn } from "./judge.ts";
import type { HealthView, LeaseHealth, Trouble } from "./lease-health.ts";
import { healthStartingMs } from "./lease-health.ts";
import { createMonitoring, type SeenReplica, type SeenUnwell, steadyMs, unwellLimitMs } from "./monitoring.ts";
import type { PodFacts } from "./pod-facts.ts";

/** What is further behind may not show yet that a lease is over, or a tenant's newest word. */
export const healthMirrorMs = minute;

export interface HealthDeps {
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

/** While this is so, what was last judged says nothing. */
const unknown: LeaseHealth = { state: "unknown", services: [], troubles: [] };

export function createHealthKeeper(deps: HealthDeps) {
  const { chain, journal, kube, options, leases, pods, claims, clock, random, log } = deps;
  const { live, nodes } = leases;
  const healths = new Map<string, LeaseHealth>();
  /** The last that was known: since when a trouble is there is not forgotten while nobody can look. */
  const judged = new Map<string, LeaseHealth>();
  /** What was starting then may have started since: that is no alarm. */
  let blindSinceMs: number | undefined;
  const listeners: Listener[] = [];
  const readiness = new Map<string, boolean>();
  const monitoring = createMonitoring({
    ...{ journal, clock, counts, replicasOf },
    manifestOf: (key) => manifestWanted(journal.read.manifests.get(key))?.version,
    limitMs: unwellLimitMs(options.monitor),
    steadyMs: steadyMs(options.monitor),
    silentMs: () => Math.max(pods.cache?.ageMs ?? 0, nodes.cache.ageMs),
    tryToWrite: createWriteTrial(kube, options.manifestNamespace),
    close: createCloseUnwell({ chain, journal, kube, judge: look, log }),
  });
  const brake = createBrake({
    ...{ pods, claims, clock, alarms, factsOf },
    leaseIn: leases.leaseIn,
    judged: () => judged.keys(),
    // Also one that works between two crashes: its time is kept until it has worked for a while.
    counted: monitoring.keys,
  });
  const queue = createQueue({ name: "health", work, clock, random, log });

  function wakeNamespace(namespace: string): void {
    const key = leases.leaseIn(namespace);
    if (key !== undefined) queue.add(key);
  }

  function wakeAll(): void {
    const keys = new Set([...healths.keys(), ...monitoring.keys(), ...journal.read.manifests.leaseIds()]);
    for (const key of keys) queue.add(key, "low");
  }

  /** Nodes tell of themselves every few minutes; only what is new concerns leases. */
  function nodeChanged(name: string): void {
    const isReady = nodes.isReady(name);
    if (readiness.get(name) === isReady) return;
    readiness.set(name, isReady);
    const concerned = new Set<string>();
    for (const { namespace, facts } of pods.list()) if (facts.on === name) concerned.add(namespace);
    for (const namespace of concerned) wakeNamespace(namespace);
  }

  /** Why nothing may be judged by what is known now. */
  function trouble(): string | undefined {
    const caches = [pods.cache, claims.cache, nodes.cache].filter((cache) => cache !== undefined);
    return mirrorTrouble(chain.mirror) ?? watchTrouble(caches);
  }

  function* replicasOf(key: string): Iterable<SeenReplica> {
    for (const { uid, facts } of pods.in(leaseNamespace(parseLeaseId(key))))
      yield { uid, isReady: facts.state === "ready" };
  }

  /** Undefined where nothing should run. */
  function wantedOf(key: string): readonly WantedService[] | undefined {
    if (!runs(chain.mirror.lease(parseLeaseId(key)))) return undefined;
    const manifest = manifestWanted(journal.read.manifests.get(key));
    return manifest && groupIn(manifest.body).services.map(({ name, count }) => ({ name, count }));
  }

  function factsOf(key: string, services: readonly WantedService[] = [], podsNow?: readonly PodFacts[]): HealthFacts {
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
      isHeardOf: nodes.isReady,
      takesPods: nodes.takesPods,
      nowMs: clock.now(),
    };
  }

  /** What an operator should know of: not what merely starts. While the cluster cannot be read, what was known before. */
  function* alarms(): Iterable<readonly [string, readonly Trouble[]]> {
    const longAgoMs = (blindSinceMs ?? clock.now()) - healthStartingMs;
    for (const [key, { troubles }] of judged) {
      const alarming = troubles.filter(({ reason, sinceMs }) => reason !== "NotReady" || sinceMs <= longAgoMs);
      if (alarming.length > 0) yield [key, alarming];
    }
  }

  /** As it is now, by the caches or by these pods. */
  function look(key: string, podsNow?: readonly PodFacts[]): LeaseHealth | undefined {
    const { state } = leases.states.get(key) ?? {};
    if (trouble() !== undefined || state === "unknown") return unknown;
    const services = wantedOf(key);
    // Its loop, which knows what it uses, has not looked yet.
    if (services && state === undefined) return unknown;
    return services && judge(factsOf(key, services, podsNow), judged.get(key));
  }

  /**
   * What its tenant sent is there as a whole or rejected by the API server's own rules, the chain's newest word is that it runs,
   * and it is not one of many.
   */
  function counts(key: string): boolean {
    const { state, why } = leases.states.get(key) ?? {};
    const { refusal } = journal.read.manifests.get(key) ?? {};
    // With another reason, the server rejects what it accepted before and what runs.
    const isTenants = why === refusal && webhookIn(refusal ?? "") === undefined;
    const isBrought = state === "deployed" || (state === "refused" && isTenants);
    const isMirrorFresh = (chain.status.mirrorAgeMs ?? Number.POSITIVE_INFINITY) <= healthMirrorMs;
    const isActive = chain.mirror.lease(parseLeaseId(key))?.state === "active";
    return isBrought && isMirrorFresh && isActive && brake() === undefined;
  }

  async function work(key: string, signal: AbortSignal): Promise<Outcome> {
    const before = healths.get(key);
    const now = look(key);
    note(key, before, now);
    await monitoring.observe(key, now, signal);
    return now?.state === "unhealthy" || monitoring.has(key) ? recheck(healthLookMs) : done();
  }

  function note(key: string, before: LeaseHealth | undefined, now: LeaseHealth | undefined): void {
    if (now) healths.set(key, now);
    else healths.delete(key);
    if (!now) judged.delete(key);
    else if (now.state !== "unknown") judged.set(key, now);
    if (JSON.stringify(before) === JSON.stringify(now)) return;
    for (const listener of listeners) listener(key, now, before);
  }

  function onTrouble(now: string | undefined, before: string | undefined): void {
    if (now !== undefined) monitoring.interrupt();
    blindSinceMs = now === undefined ? undefined : (blindSinceMs ?? clock.now());
    if ((now === undefined) !== (before === undefined)) wakeAll();
  }

  const view: HealthView = {
    get: (key) => healths.get(key),
    onChange: (listener) => void listeners.push(listener),
  };
  pods.onChange(({ value }) => wakeNamespace(value.namespace));
  claims.onChange(({ value }) => wakeNamespace(value.namespace));
  nodes.onChange(nodeChanged);
  leases.onLooked((key) => void queue.add(key));

  return {
    ...view,
    view,
    queue,
    /** How long it was seen not to work so far. */
    unwell(key: string): SeenUnwell | undefined {
      const [seen, heldBy] = [monitoring.unwell(key), brake()];
      return seen && { ...seen, ...(heldBy !== undefined && { heldBy }) };
    },
    all: (): Iterable<readonly [string, LeaseHealth]> => healths.entries(),
    alarms,
    brake,
    open(scope: Scope): void {
      scope.onStop(async () => {
        await monitoring.saveAll();
      });
      wakeAll();
      scope.task("health", queue.run);
      scope.task("trouble of health", (signal) => followTrouble(trouble, onTrouble, clock, signal));
    },
  };
}
