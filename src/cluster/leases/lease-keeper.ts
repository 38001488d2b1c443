/** Keeps every lease's workload as it should be: which leases there are, what wakes their loop, and how each of them stands. */
import type { Chain } from "../../chain/chain.ts";
import { mirrorTrouble } from "../../chain/mirror-trouble.ts";
import { runs } from "../../chain/records.ts";
import type { Journal } from "../../journal/journal.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { leaseOfLabels } from "../../kube/objects/lease-labels.ts";
import { leaseObjects } from "../../kube/objects/lease-objects.ts";
import type { LeaseWorkload, ObjectSettings } from "../../kube/objects/lease-workload.ts";
import { formatLeaseId, parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { Clock } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import type { Priority } from "../../runtime/lanes.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import { followTrouble } from "../watch-trouble.ts";
import { createLeasedAddresses } from "./declarations/leased-addresses.ts";
import { createDeploy, type DeployDeps, type Refreshes } from "./deploy.ts";
import { createHostnames } from "./hostnames/hostnames.ts";
import { createLeaseMoves } from "./lease-moves.ts";
import type { LeaseOptions } from "./lease-options.ts";
import { createLeaseStates } from "./lease-states.ts";
import { createLeaseTally } from "./lease-tally.ts";
import { isBehindCluster, readTruth } from "./lease-truth.ts";
import { type LiveObjects, watchLiveObjects } from "./live-objects.ts";
import { watchNetwork } from "./network/watched-network.ts";
import { watchNodes } from "./network/watched-nodes.ts";
import { createTeardown, type TeardownDeps } from "./teardown.ts";

/** Looks at leases under way at once: what waits for the API server leaves room for others, and does not flood it. */
const leaseRuns = 16;
/** Between tries of what the cluster would not take: a lease that is over is gone within a minute of its healing. */
const leasePauseMostMs = 30 * second;

interface LeaseKeeperDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider" | "onStep" | "status">;
  readonly journal: Pick<Journal, "read" | "durable" | "nowMs">;
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
  const { manifestNamespace, hosts, clusterPublicHostname } = options;
  const { provider } = chain;
  const states = createLeaseStates(deps.onChange);
  const tally = createLeaseTally();
  const refreshes: Refreshes = new Map();
  /** Which lease has a namespace of this name, of all that have been looked at. */
  const keyOf = new Map<string, string>();
  const lookedAt: ((key: string) => void)[] = [];
  const live: LiveObjects = watchLiveObjects({ kube, manifestNamespace, onChange: wakeNamespace });
  const publicHost = clusterPublicHostname === "" ? undefined : clusterPublicHostname;
  const hostnames = createHostnames({ kube, provider, settings: { ...hosts, publicHost, manifestNamespace }, clock });
  const addresses = createLeasedAddresses({ kube, provider, manifestNamespace });
  const nodes = watchNodes(kube);
  const network = watchNetwork(options.network, { kube, nodes, clock });
  const objectsOf = (workload: LeaseWorkload) => leaseObjects(workload, { ...options, policies: network.policies() });
  const look = createLeaseLoop({
    ...{ chain, journal, kube, live, hostnames, addresses, states, tally, objectsOf, manifestNamespace, clock, log },
    ...{ refreshes, staticHosts: hosts },
    addressSharing: options.addressSharing,
    networkTrouble: () => network.trouble,
  });
  const moves = createLeaseMoves({
    ...{ chain, journal, live, hostnames, addresses, addressSharing: options.addressSharing, clock, log },
  });
  const queue = createQueue({
    ...{ name: "leases", work, clock, random, log },
    concurrency: leaseRuns,
    pauseMostMs: leasePauseMostMs,
  });

  async function work(key: string, signal: AbortSignal): Promise<Outcome> {
    // One look takes a millisecond or two, and after a start hundreds of them come at once.
    await clock.yield();
    const outcome = await look(key, signal);
    if (outcome.kind === "done" && !states.get(key)) keyOf.delete(leaseNamespace(parseLeaseId(key)));
    for (const listener of lookedAt) listener(key);
    return outcome;
  }

  /** Why nothing may be judged by what is known of the cluster now. */
  function trouble(): string | undefined {
    return live.trouble ?? hostnames.trouble ?? addresses.trouble ?? network.trouble;
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

  /** Of what is watched, all that is not known now. */
  function unknown(): string {
    const others = { hosts: hostnames.trouble, addresses: addresses.trouble, network: network.trouble };
    const named = Object.entries(others).flatMap(([name, trouble]) => (trouble === undefined ? [] : name));
    const unlisted = live.kinds.filter((kind) => live.troubleOf(kind) !== undefined);
    return [...unlisted.map(({ plural }) => plural), ...named].join();
  }

  /** Leases that use it become unknown, or are looked at again. */
  function onUnknown(now: string | undefined, before: string | undefined): void {
    if (before === now) return;
    deps.onChange();
    wakeAll();
  }

  return {
    queue,
    states,
    tally,
    live,
    hostnames,
    addresses,
    moves,
    nodes,
    wake,
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
    /** The key of the lease that has this namespace. */
    leaseIn,
    /** Told whenever a lease has been looked at. */
    onLooked: (listener: (key: string) => void) => void lookedAt.push(listener),
    get trouble() {
      return trouble();
    },
    open(scope: Scope): void {
      scope.onStop(async () => {
        await Promise.all([live.close(), network.close(), nodes.cache.close()]);
      });
      chain.onStep(({ changed }) => {
        for (const { kind, key } of changed) if (kind === "lease") wake(key, "high");
      });
      for (const declared of [hostnames, addresses]) {
        declared.open(scope);
        declared.onChange((key) => wake(key, "low"));
      }
      // Every lease has policies.
      network.onChange(wakeAll);
      wakeAll();
      scope.task("leases", queue.run);
      scope.task("trouble of the cluster", (signal) => followTrouble(unknown, onUnknown, clock, signal));
    },
  };
}

// The loop of one lease, from its manifest to its end. It runs alike at start, on an event, after an error and on a
// timer: it reads what chain, journal and cluster say, and makes the smallest change that brings them together.
// runs, no manifest        nothing is made; the manifest service waits for it
// runs, manifest           its objects are made, put back or taken away, step by step
// runs, refused            what ran before goes on
// runs, withdrawn          its walls stay, and its volumes
// does not run             torn down, where the chain itself says that it is over
// nobody knows             nothing is touched, and that is said

/** How often a lease is looked at that nothing has happened to. It asks nobody for anything. */
export const leaseRecheckMs = 10 * minute;

type LeaseLoopDeps = DeployDeps &
  TeardownDeps & {
    /** Why no policies can be made now; every lease that runs has some. */
    readonly networkTrouble: () => string | undefined;
  };

function createLeaseLoop(deps: LeaseLoopDeps) {
  const { chain, states, live, networkTrouble } = deps;
  const deploy = createDeploy(deps);
  const teardown = createTeardown(deps);

  function unknown(key: string, on: string, why: string): Outcome {
    states.note(key, { state: "unknown", why });
    return waiting(on, why);
  }

  return async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    const unbuilt = mirrorTrouble(chain.mirror);
    if (unbuilt !== undefined) return unknown(key, "chain", unbuilt);
    const truth = readTruth(key, deps);
    const ends = !runs(truth.lease);
    const needed = ends ? [kinds.namespace] : [kinds.namespace, kinds.manifest];
    const wrong = live.troubleOf(...needed) ?? (ends ? undefined : networkTrouble());
    if (wrong !== undefined) return unknown(key, "cluster", wrong);
    if (ends) return teardown(truth, signal);
    if (isBehindCluster(truth, chain)) return unknown(key, "manifest", "its manifest is not in the journal yet");
    if (!truth.row) {
      states.note(key, { state: "waiting for manifest" });
      return done();
    }
    const outcome = await deploy(truth, signal);
    return outcome.kind === "done" ? recheck(leaseRecheckMs) : outcome;
  };
}
