/** Keeps every lease's workload as it should be: which leases there are, what wakes their loop, and how each of them stands. */
import type { Chain } from "../../chain/chain.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Kube } from "../../kube/kube.ts";
import { leaseOfLabels } from "../../kube/objects/lease-labels.ts";
import { leaseObjects } from "../../kube/objects/lease-objects.ts";
import type { LeaseWorkload, ObjectSettings } from "../../kube/objects/lease-workload.ts";
import type { NetworkFacts } from "../../kube/objects/network-policies.ts";
import { formatLeaseId, parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import { createLeaseLoop } from "./lease-loop.ts";
import type { LeaseOptions } from "./lease-options.ts";
import { createLeaseStates } from "./lease-states.ts";
import { type LiveObjects, watchLiveObjects } from "./live-objects.ts";

interface LeaseKeeperDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider" | "onStep">;
  readonly journal: Pick<Journal, "read" | "durable" | "relaxed">;
  readonly kube: Kube;
  readonly options: LeaseOptions & Pick<ObjectSettings, "overcommit">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Told when some lease stands otherwise than before. */
  readonly onChange: () => void;
}

export type LeaseKeeper = ReturnType<typeof createLeaseKeeper>;

export function createLeaseKeeper(deps: LeaseKeeperDeps) {
  const { chain, journal, kube, options, clock, random, log } = deps;
  const { manifestNamespace } = options;
  const states = createLeaseStates(deps.onChange);
  /** Whose namespace it is, of all leases that have been looked at. */
  const keyOf = new Map<string, string>();
  const live: LiveObjects = watchLiveObjects({ kube, manifestNamespace, onChange: wakeNamespace });
  const facts: NetworkFacts = { ranges: [], apiServer: [] };
  const objectsOf = (workload: LeaseWorkload) =>
    leaseObjects(workload, { ...options, policies: { ...options.policies, facts } });
  const look = createLeaseLoop({ ...deps, objectsOf, manifestNamespace, live, states });
  const queue = createQueue({
    ...{ name: "leases", clock, random, log },
    concurrency: limits.leaseRuns,
    async work(key, signal) {
      const outcome = await look(key, signal);
      if (outcome.kind === "done" && states.get(key) === undefined) keyOf.delete(leaseNamespace(parseLeaseId(key)));
      return outcome;
    },
  });

  function wake(key: string, priority: "high" | "normal" | "low" = "normal"): void {
    keyOf.set(leaseNamespace(parseLeaseId(key)), key);
    queue.add(key, priority);
  }

  function wakeNamespace(name: string): void {
    const key = keyOf.get(name) ?? keyOfLabels(name);
    if (key !== undefined) wake(key, "low");
  }

  /** What says that it is of a lease of ours, and has the name of that lease. */
  function keyOfLabels(name: string): string | undefined {
    const labels = live.namespace(name)?.labels ?? live.manifest(name)?.metadata.labels;
    const lease = leaseOfLabels(labels);
    const isOurs = lease?.provider === chain.provider && leaseNamespace(lease) === name;
    return isOurs ? formatLeaseId(lease) : undefined;
  }

  function wakeAll(): void {
    for (const { id } of chain.mirror.leases()) wake(formatLeaseId(id));
    for (const key of journal.read.manifests.leaseIds()) wake(key);
    for (const key of keyOf.values()) wake(key, "low");
  }

  return {
    queue,
    states,
    live,
    wake,
    wakeAll,
    /** Those that have something in the cluster or wait for it. */
    get size() {
      return states.size;
    },
    open(scope: Scope): void {
      scope.onStop(() => live.close());
      chain.onStep(({ changed }) => {
        for (const { kind, key } of changed) if (kind === "lease") wake(key, "high");
      });
      wakeAll();
      scope.task("leases", queue.run);
    },
  };
}
