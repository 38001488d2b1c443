/**
 * The cluster's network as policies need to know it: which addresses are its own, and where its API server answers. What
 * is in the ranges that are closed anyway is left out, so on most clusters a node that comes or goes changes nothing.
 */
import { listOf, recordsOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../../../kube/kube.ts";
import type {
  AdmittedController,
  ApiServerAddress,
  NetworkFacts,
  PolicySettings,
} from "../../../kube/objects/network-policies.ts";
import { coarserList, type IpRange, rangeText, readRange, smallestList } from "../../../market/ip-range.ts";
import { atMostEvery } from "../../../runtime/at-most-every.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { watchTrouble } from "../../watch-trouble.ts";
import { closed, readIfRange } from "./node-ranges.ts";
import type { WatchedNodes } from "./watched-nodes.ts";

/** Changes of nodes to the next look at the cluster's network: each may write a policy of every lease. */
export const networkEveryMs = second;
/** Ranges of public nodes in the policy of every lease, 16 KiB; beyond, neighbours of the nodes are closed with them. */
const networkRanges = 500;

export interface NetworkSettings {
  /** Whether leases have network policies. */
  readonly enabled: boolean;
  readonly admitted: readonly AdmittedController[];
  /** Of the cluster or its surroundings, where nobody can see them. */
  readonly closedRanges: readonly string[];
}

export interface WatchedNetwork {
  /** What policies are made of now; the same object for as long as nothing changes. While there is trouble, it may lack facts. */
  policies(): PolicySettings;
  /** Called when policies have to be made anew. */
  onChange(listener: () => void): void;
  synced(signal?: AbortSignal): Promise<void>;
  /** Why it may be out of date or has not been read yet, if so. */
  readonly trouble: string | undefined;
  close(): Promise<void>;
}

interface NetworkDeps {
  readonly kube: Pick<Kube, "watch">;
  readonly nodes: WatchedNodes;
  readonly clock: Clock;
}

export function watchNetwork(settings: NetworkSettings, { kube, nodes, clock }: NetworkDeps): WatchedNetwork {
  const { enabled, admitted } = settings;
  const given = settings.closedRanges.map(readRange);
  const listeners: (() => void)[] = [];
  let isRead = false;
  let current: PolicySettings = { enabled, admitted, facts: factsOf(given, [], []) };
  // Without policies nobody asks.
  if (!enabled) {
    const nothing = async () => undefined;
    return { policies: () => current, onChange: nothing, synced: nothing, trouble: undefined, close: nothing };
  }

  nodes.onChange(() => changes.ask());
  const apiServer = kube.watch({
    kind: kinds.endpointSlice,
    namespace: "default",
    labelSelector: "kubernetes.io/service-name=kubernetes",
    project: apiServerAddresses,
    handle: () => changes.ask(),
  });
  const caches: readonly WatchCache<unknown>[] = [nodes.cache, apiServer];

  // A cluster that starts has many nodes at once, and a change makes the policies of every lease anew.
  const changes = atMostEvery(networkEveryMs, clock, look);

  function look(): void {
    // Half of the facts would close what should be open, or the other way.
    if (!caches.every(({ ready }) => ready)) return;
    isRead = true;
    const facts = factsOf(
      given,
      [...nodes.cache.list()].flatMap(({ ranges }) => ranges),
      [...apiServer.list()].flat(),
    );
    if (JSON.stringify(facts) === JSON.stringify(current.facts)) return;
    current = { ...current, facts };
    for (const listener of listeners) listener();
  }

  return {
    policies() {
      if (!isRead) look();
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
    async synced(signal) {
      await Promise.all(caches.map((cache) => cache.synced(signal)));
      look();
    },
    get trouble() {
      return watchTrouble(caches);
    },
    async close() {
      changes.stop();
      await apiServer.close();
    },
  };
}

/** In one order, whatever the order in which they were told: else policies would be written anew for nothing. */
function factsOf(
  given: readonly IpRange[],
  nodes: readonly IpRange[],
  apiServer: readonly ApiServerAddress[],
): NetworkFacts {
  const addresses = new Map(apiServer.map((address) => [`${address.ip} ${address.port}`, address]));
  // A managed cluster may have its API server on a public address.
  const ranges = [...given, ...nodes, ...apiServer.flatMap(({ ip }) => readIfRange(ip))];
  return {
    ranges: coarserList(smallestList(ranges, closed), networkRanges).map(rangeText),
    apiServer: [...addresses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, address]) => address),
  };
}

function apiServerAddresses(slice: KubeObject): readonly ApiServerAddress[] {
  const ips = recordsOf(slice["endpoints"]).flatMap(({ addresses }) => listOf(addresses));
  const ports = recordsOf(slice["ports"]).map(({ port }) => port);
  return ips.flatMap((ip) =>
    ports.flatMap((port) => (typeof ip === "string" && typeof port === "number" ? [{ ip, port }] : [])),
  );
}
