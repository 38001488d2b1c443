/** Keeps every lease's workload as it should be: which leases there are, what wakes their loop, and how each of them stands. */
import { type Chain, mirrorUnavailable } from "../../chain/chain.ts";
import { runs } from "../../chain/records.ts";
import type { Journal } from "../../journal/journal.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { leaseOfLabels } from "../../kube/objects/lease-labels.ts";
import { formatLeaseId, parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { minute, second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import type { Priority } from "../../runtime/lanes.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import { type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import { pollError } from "../cache-error.ts";
import { createDeploy } from "./deploy.ts";
import { createLeaseMoves } from "./lease-moves.ts";
import { createLeaseStates } from "./lease-states.ts";
import { isBehindCluster, observeLease } from "./observed-lease.ts";
import { teardown } from "./teardown.ts";
import { type LeaseDeps, type LeaseSettings, type Refreshes, watchCluster } from "./watched-cluster.ts";

/** Leases under way at once: what waits for the API server leaves room for others, and does not flood it. */
const leaseRuns = 16;
/** Longest pause between tries: a lease that is over is gone within a minute of the cluster's healing. */
const leasePauseMostMs = 30 * second;
/** How often a lease is reconciled without an event. It costs no request. */
export const leaseRecheckMs = 10 * minute;
/** How often a lease without a manifest is looked at, in case the bus lost the message that one came. */
export const awaitedManifestRecheckMs = 15 * second;

interface LeaseKeeperDeps extends RuntimeDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider" | "onStep" | "status">;
  readonly journal: Pick<Journal, "read" | "durable" | "nowMs">;
  readonly kube: Kube;
  readonly options: LeaseSettings;
  readonly onChange: () => void;
}

export type LeaseKeeper = ReturnType<typeof createLeaseKeeper>;

export function createLeaseKeeper(deps: LeaseKeeperDeps) {
  const { chain, journal, clock, onChange } = deps;
  const { provider } = chain;
  const states = createLeaseStates(onChange);
  const refreshes: Refreshes = new Map();
  /** Lease by namespace, of all that have been looked at. */
  const keyOf = new Map<string, string>();
  const lookedListeners: ((key: string) => void)[] = [];
  const cluster = watchCluster({ ...deps, provider, onChange: wakeNamespace });
  const { live, hostnames, addresses, nodes, network } = cluster;
  const leaseDeps = { ...deps, ...cluster, states, refreshes };
  const look = createLeaseLoop(leaseDeps);
  const queue = createQueue({ ...deps, name: "leases", work, concurrency: leaseRuns, pauseMostMs: leasePauseMostMs });

  async function work(key: string, signal: AbortSignal): Promise<Outcome> {
    // One look takes a millisecond or two, and after a start hundreds of them come at once.
    await clock.yield();
    const outcome = await look(key, signal);
    if (outcome.kind === "done" && !states.get(key)) keyOf.delete(leaseNamespace(parseLeaseId(key)));
    for (const listener of lookedListeners) listener(key);
    return outcome;
  }

  function wake(key: string, priority: Priority = "normal"): void {
    keyOf.set(leaseNamespace(parseLeaseId(key)), key);
    queue.add(key, priority);
  }

  function wakeNamespace(name: string): void {
    const key = leaseIn(name);
    if (key !== undefined) wake(key, "low");
  }

  /** That has been looked at, or whose namespace says that it is of a lease of ours, and has the name of that lease. */
  function leaseIn(name: string): string | undefined {
    const known = keyOf.get(name);
    if (known !== undefined) return known;
    const lease = leaseOfLabels(live.namespace(name)?.labels ?? live.manifest(name)?.metadata.labels);
    return lease?.provider === provider && leaseNamespace(lease) === name ? formatLeaseId(lease) : undefined;
  }

  function wakeAll(): void {
    for (const { id } of chain.mirror.leases()) wake(formatLeaseId(id));
    for (const key of journal.read.manifests.leaseIds()) wake(key);
    for (const key of keyOf.values()) wake(key, "low");
  }

  /** Leases that use what is unknown become unknown, or are looked at again. */
  function onUnknown(now: string | undefined, before: string | undefined): void {
    if (before === now) return;
    onChange();
    wakeAll();
  }

  return {
    ...{ queue, states, live, hostnames, addresses, nodes, wake },
    moves: createLeaseMoves(leaseDeps),
    /** Resolves when its workloads have our newest pod templates; they roll after that. */
    async refresh(key: string, signal: AbortSignal): Promise<void> {
      if (!journal.read.manifests.get(key)) return;
      const refresh = refreshes.get(key) ?? Promise.withResolvers<void>();
      refreshes.set(key, refresh);
      wake(key, "high");
      try {
        await endedBy(refresh.promise, signal);
      } finally {
        refreshes.delete(key);
      }
    },
    leaseIn,
    onLooked: (listener: (key: string) => void) => void lookedListeners.push(listener),
    get error() {
      return cluster.error();
    },
    open(scope: Scope): void {
      chain.onStep(({ changed }) => {
        for (const { kind, key } of changed) if (kind === "lease") wake(key, "high");
      });
      cluster.open(scope);
      for (const declared of [hostnames, addresses]) declared.onChange((key) => wake(key, "low"));
      // Every lease has policies.
      network.onChange(wakeAll);
      wakeAll();
      scope.task("leases", queue.run);
      scope.task("cache errors", (signal) => pollError(() => cluster.unknown().join(), onUnknown, clock, signal));
    },
  };
}

// The loop of one lease, from its manifest to its end. It runs alike at start, on an event, after an error and on a
// timer: it reads what chain, journal and cluster say, and makes the smallest change between them.
// runs, no manifest        nothing is made; the manifest service waits for it
// runs, manifest           its objects are made, put back or taken away, step by step
// runs, rejected            what ran before goes on
// runs, withdrawn          its isolation stays, and its volumes
// does not run             torn down, where the chain itself says that it is over
// unknown                  nothing is touched, and the state says so

function createLeaseLoop(deps: LeaseDeps) {
  const { chain, states, live, network } = deps;
  const deploy = createDeploy(deps);

  function unknown(key: string, on: string, why: string): Outcome {
    states.note(key, { state: "unknown", why });
    return waiting(on, why);
  }

  return async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    const unbuilt = mirrorUnavailable(chain.mirror);
    if (unbuilt !== undefined) return unknown(key, "chain", unbuilt);
    const lease = observeLease(key, deps);
    const ends = !runs(lease.lease);
    const needed = ends ? [kinds.namespace] : [kinds.namespace, kinds.manifest];
    const error = live.errorOf(...needed) ?? (ends ? undefined : network.error);
    if (error !== undefined) return unknown(key, "cluster", error);
    if (ends) return teardown(lease, deps, signal);
    if (isBehindCluster(lease, chain)) return unknown(key, "manifest", "its manifest is not in the journal yet");
    if (!lease.row) {
      states.note(key, { state: "waiting for manifest" });
      return recheck(awaitedManifestRecheckMs);
    }
    const outcome = await deploy(lease, signal);
    return outcome.kind === "done" ? recheck(leaseRecheckMs) : outcome;
  };
}
