/** What is watched of the cluster for all leases together, and what the loop of a lease is given besides. */
import type { Chain } from "../../chain/chain.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Kube } from "../../kube/kube.ts";
import type { ObjectSettings } from "../../kube/objects/container.ts";
import { leaseObjects } from "../../kube/objects/lease-objects.ts";
import type { LeaseObjects, LeaseWorkload } from "../../kube/objects/lease-workload.ts";
import type { Address } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";
import { createHostnames } from "./declarations/hostnames.ts";
import { createLeasedAddresses } from "./declarations/leased-addresses.ts";
import type { LeaseOptions } from "./lease-options.ts";
import type { LeaseStates } from "./lease-states.ts";
import { watchLiveObjects } from "./live-objects.ts";
import { watchNetwork, watchNodes } from "./watched-network.ts";

export type LeaseSettings = LeaseOptions & Pick<ObjectSettings, "overcommit">;

interface WatchDeps {
  readonly kube: Pick<Kube, "watch" | "get" | "apply" | "patch" | "delete" | "list" | "fieldManager">;
  readonly provider: Address;
  readonly options: LeaseSettings;
  readonly clock: Clock;
  readonly onChange: (namespace: string) => void;
}

type WatchedCluster = ReturnType<typeof watchCluster>;

export function watchCluster({ kube, provider, options, clock, onChange }: WatchDeps) {
  const { manifestNamespace, hosts, clusterPublicHostname } = options;
  const live = watchLiveObjects(kube, manifestNamespace, onChange);
  const publicHost = clusterPublicHostname === "" ? undefined : clusterPublicHostname;
  const hostnames = createHostnames({ kube, provider, settings: { ...hosts, publicHost, manifestNamespace }, clock });
  const addresses = createLeasedAddresses(kube, provider, manifestNamespace);
  const nodes = watchNodes(kube);
  const network = watchNetwork(options.network, { kube, nodes, clock });
  return {
    ...{ live, hostnames, addresses, nodes, network },
    objectsOf: (workload: LeaseWorkload): LeaseObjects =>
      leaseObjects(workload, { ...options, policies: network.policies() }),
    /** Why nothing may be judged by what is known of the cluster now. */
    error: (): string | undefined => live.error ?? hostnames.error ?? addresses.error ?? network.error,
    unknown(): string[] {
      const kinds = live.kinds.filter((kind) => live.errorOf(kind) !== undefined).map(({ plural }) => plural);
      const others = Object.entries({ hosts: hostnames, addresses, network });
      return [...kinds, ...others.flatMap(([name, { error }]) => (error === undefined ? [] : name))];
    },
    open(scope: Scope): void {
      scope.onStop(async () => {
        await Promise.all([live.close(), network.close(), nodes.cache.close()]);
      });
      hostnames.open(scope);
      addresses.open(scope);
    },
  };
}

/** Leases whose workloads shall have our newest pod templates, each with the promise that its caller awaits. */
export type Refreshes = Map<string, PromiseWithResolvers<void>>;

/** What the loop of a lease works with. */
export interface LeaseDeps extends Pick<WatchedCluster, "live" | "hostnames" | "addresses" | "network" | "objectsOf"> {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider">;
  readonly journal: Pick<Journal, "read" | "durable" | "nowMs">;
  readonly kube: Pick<Kube, "apply" | "delete" | "get" | "list" | "patch" | "fieldManager">;
  readonly options: LeaseSettings;
  readonly states: LeaseStates;
  readonly refreshes: Refreshes;
  readonly clock: Clock;
  readonly log: Log;
}
