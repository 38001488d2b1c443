/**
 * The cluster's network as policies need to know it: which addresses are its own, and where its API server answers. What
 * is in the ranges that are closed anyway is left out, so on most clusters a node that comes or goes changes nothing.
 */
import { conditionHolds, fieldsOf, listOf, recordsOf, textOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../../kube/kube.ts";
import {
  type AdmittedController,
  type ApiServerAddress,
  closedRanges,
  type NetworkFacts,
  type PolicySettings,
} from "../../kube/objects/network-policies.ts";
import { coarserList, type IpRange, rangeText, readRange, smallestList } from "../../market/ip-range.ts";
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { throttle } from "../../runtime/throttle.ts";
import { cachesError } from "../cache-error.ts";

/** Changes of nodes to the next look at the cluster's network: each may write a policy of every lease. */
export const networkEveryMs = second;
/** Ranges of public nodes in the policy of every lease, 16 KiB; beyond, neighbours of the nodes are closed with them. */
const networkRanges = 500;

export interface NetworkSettings {
  readonly enabled: boolean;
  readonly admitted: readonly AdmittedController[];
  /** Of the cluster or its surroundings, which cannot be discovered. */
  readonly closedRanges: readonly string[];
}

export function watchNetwork(
  settings: NetworkSettings,
  { kube, nodes, clock }: { readonly kube: Pick<Kube, "watch">; readonly nodes: WatchedNodes; readonly clock: Clock },
) {
  const { enabled, admitted } = settings;
  const given = settings.closedRanges.map(readRange);
  const listeners: (() => void)[] = [];
  let isRead = false;
  let current: PolicySettings = { enabled, admitted, facts: factsOf(given, [], []) };
  // Without policies nothing needs the address of the API server.
  const apiServer = enabled
    ? kube.watch({
        kind: kinds.endpointSlice,
        namespace: "default",
        labelSelector: "kubernetes.io/service-name=kubernetes",
        project: apiServerAddresses,
        handle: () => changes.ask(),
      })
    : undefined;
  if (apiServer) nodes.onChange(() => changes.ask());
  const caches: readonly WatchCache<unknown>[] = apiServer ? [nodes.cache, apiServer] : [];

  // A cluster that starts has many nodes at once, and a change makes the policies of every lease anew.
  const changes = throttle(networkEveryMs, clock, look);

  function look(): void {
    // Half of the facts would close what should be open, or the other way.
    if (!apiServer?.ready || !nodes.cache.ready) return;
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
    /** The same object for as long as nothing changes. While there is problem, it may lack facts. */
    policies(): PolicySettings {
      if (!isRead) look();
      return current;
    },
    onChange: (listener: () => void): void => void listeners.push(listener),
    async synced(signal?: AbortSignal): Promise<void> {
      await Promise.all(caches.map((cache) => cache.synced(signal)));
      look();
    },
    get error(): string | undefined {
      return cachesError(caches);
    },
    async close() {
      changes.stop();
      await apiServer?.close();
    },
  };
}

/** Sorted: another order would write every policy anew. */
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

// Which ingress controllers the settings admit to workloads.

/** As an operator names one: what it is called, or where its requests come from. */
type NamedController = { readonly name: string } | { readonly range: string };

export function admittedControllers(
  controllers: readonly NamedController[],
  gatewayNamespace?: string,
): AdmittedController[] {
  // Charts label their pods with the name; who installs by hand has a namespace of that name.
  const admitted = controllers.flatMap((each): AdmittedController[] =>
    "name" in each ? [{ pods: each.name }, { namespace: each.name }] : [each],
  );
  return gatewayNamespace === undefined ? admitted : [...admitted, { namespace: gatewayNamespace }];
}

// The cluster's nodes, watched once for all who need them: the addresses that are theirs, and whether they are heard of.

type WatchedNode = ReturnType<typeof projectNode>;

type WatchedNodes = ReturnType<typeof watchNodes>;

export function watchNodes(kube: Pick<Kube, "watch">) {
  const listeners: ((name: string) => void)[] = [];
  const cache: WatchCache<WatchedNode> = kube.watch({
    kind: kinds.node,
    project: projectNode,
    handle({ name }) {
      for (const listener of listeners) listener(name);
    },
  });
  return {
    cache,
    onChange: (listener: (name: string) => void) => void listeners.push(listener),
    isReady: (name: string) => cache.get({ name })?.isReady ?? false,
    takesPods: (name: string) => takesPods(cache.get({ name })),
  };
}

/** Workloads of tenants tolerate nothing. */
export function nodeTakesPods(node: KubeObject): boolean {
  return takesPods(projectNode(node));
}

function takesPods(node: WatchedNode | undefined): boolean {
  return node?.isReady === true && !node.isClosed;
}

/** The effects of taints; another one only prefers other nodes. */
const closing = new Set(["NoSchedule", "NoExecute"]);

function projectNode(node: KubeObject) {
  const { unschedulable, taints } = fieldsOf(node["spec"]);
  return {
    ranges: nodeRanges(node),
    /** Its kubelet reports how its pods are doing. */
    isReady: conditionHolds(fieldsOf(node["status"])["conditions"], "Ready"),
    /** Cordoned, or tainted so that it takes no pods or keeps none. */
    isClosed: unschedulable === true || recordsOf(taints).some(({ effect }) => closing.has(textOf(effect) ?? "")),
  };
}

// Which addresses are a node's: its own and those of its pods, without those that are closed to tenants anyway.

export const closed = closedRanges.map(readRange);

function nodeRanges(node: KubeObject): readonly IpRange[] {
  const addresses = recordsOf(fieldsOf(node["status"])["addresses"]).map(({ address }) => address);
  const { podCIDR, podCIDRs } = fieldsOf(node["spec"]);
  return smallestList([...addresses, podCIDR, ...listOf(podCIDRs)].flatMap(readIfRange), closed);
}

/** Host names are among the addresses of a node. */
export function readIfRange(value: unknown): IpRange[] {
  try {
    return [readRange(textOf(value) ?? "")];
  } catch (thrown) {
    if (thrown instanceof ProviderError) return [];
    throw thrown;
  }
}
