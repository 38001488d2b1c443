/** What the cluster has of leased addresses: resources that ask for them, Services that have them, MetalLB's pools. */
import { cacheTrouble, firstTrouble } from "../../kube/cache-trouble.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Change, Kube } from "../../kube/kube.ts";
import { leasedIpName } from "../../kube/objects/leased-ip.ts";
import { isReadyController, metalLbNamespace, poolHas } from "../../kube/objects/metallb.ts";
import type { Address } from "../../market/address.ts";
import { readIpAddress } from "../../market/address-range.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import { type Balancer, isForPort, type OwnBalancer, placeOf, plainName, readBalancer } from "./balancer.ts";
import { type DeclaredPort, type LeasedPort, readDeclaredPort } from "./leased-port.ts";
import { readSeenAdvertisement, readSeenPool, type SeenAdvertisement, type SeenPool } from "./own-pool.ts";
import type { AddressTruth } from "./plan.ts";

interface ViewOptions {
  readonly provider: Address;
  /** Where the custom resources of all leases are kept. */
  readonly manifestNamespace: string;
}

interface ViewDeps {
  readonly kube: Pick<Kube, "watch" | "fieldManager">;
  /** The key of an address about which something changed. */
  readonly wake: (key: string) => void;
  /** Addresses may be free that were not, or the other way round. */
  readonly onAddresses: () => void;
}

export type IpView = ReturnType<typeof openView>;

export function openView({ provider, manifestNamespace }: ViewOptions, deps: ViewDeps, scope: Scope) {
  const { kube, wake, onAddresses } = deps;
  const { fieldManager } = kube;

  const declared = kube.watch({
    kind: kinds.providerLeasedIp,
    namespace: manifestNamespace,
    withManagedFields: true,
    project: (object): DeclaredPort => readDeclaredPort(object, provider),
    indexes: { key: ({ key }) => key, place: ({ port }) => port && plainPlace(port) },
    handle: wakeBoth<DeclaredPort>(({ key }) => key, wake),
  });
  const balancers = kube.watch({
    kind: kinds.service,
    withManagedFields: true,
    project: (object): Balancer => readBalancer(object, provider, fieldManager),
    indexes: {
      key: ({ ours }) => ours?.key,
      address: ({ addresses: [first] }) => first,
      lease: ({ ours, namespace }) => ours && namespace,
      without: ({ ours, deleting, addresses }) => (ours && !deleting && addresses.length === 0 ? "address" : undefined),
    },
    handle: thenAddresses(wakeBoth<Balancer>(({ ours }) => ours?.key, wake)),
  });
  const pools = kube.watch({
    kind: kinds.ipAddressPool,
    namespace: metalLbNamespace,
    withManagedFields: true,
    project: (object): SeenPool => readSeenPool(object, provider, fieldManager),
    indexes: { key: ({ own }) => own?.key },
    handle: thenAddresses(wakeBoth<SeenPool>(({ own }) => own?.key, wake)),
  });
  const advertisements = kube.watch({
    kind: kinds.l2Advertisement,
    namespace: metalLbNamespace,
    withManagedFields: true,
    project: (object): SeenAdvertisement => readSeenAdvertisement(object, provider, fieldManager),
    indexes: { key: ({ key }) => key },
    handle: wakeBoth<SeenAdvertisement>(({ key }) => key, wake),
  });
  const pods = kube.watch({
    kind: kinds.pod,
    namespace: metalLbNamespace,
    project: isReadyController,
    handle: onAddresses,
  });
  const all = [declared, balancers, pools, advertisements, pods];
  scope.onStop(async () => void (await Promise.all(all.map((cache) => cache.close()))));

  function thenAddresses<T>(handle: (change: Change<T>) => void): (change: Change<T>) => void {
    return (change) => {
      handle(change);
      onAddresses();
    };
  }

  /** Each port of a protocol once: of two resources that want one, the one that is called after it. */
  function portsOf(key: string): { readonly ports: LeasedPort[]; readonly double: LeasedPort[] } {
    const found = [...declared.by("key", key)].flatMap(({ port }) => port ?? []).sort(byResource);
    const canonical = (port: LeasedPort) => (leasedIpName(port) === port.resource ? 0 : 1);
    const chosen = new Map<string, LeasedPort>();
    for (const port of found.toSorted((a, b) => canonical(a) - canonical(b))) {
      const what = `${port.protocol}/${port.externalPort}`;
      if (!chosen.has(what)) chosen.set(what, port);
    }
    const ports = new Set(chosen.values());
    return { ports: found.filter((port) => ports.has(port)), double: found.filter((port) => !ports.has(port)) };
  }

  function canHave(key: string, text: string): boolean {
    const address = readIpAddress(text);
    if (!address || ![...pools.list()].some((pool) => poolHas(pool, address))) return false;
    return [...balancers.by("address", text)].every(({ ours }) => ours?.key === key);
  }

  function isTaken(key: string, at: { readonly namespace: string; readonly name: string }): boolean {
    const live = balancers.get(at);
    // Else its provider and we would write over each other without end.
    if (live?.isTenants) return true;
    if (live?.ours) return live.ours.key !== key;
    // One of ours that was changed by hand is put right: a second one would be at another address.
    if (live && !live.isMade) return true;
    const [first = key] = [...declared.by("place", placeOf(at))].flatMap((each) => each.key ?? []).sort();
    return first !== key;
  }

  function ownPoolOf(key: string): SeenPool | undefined {
    return [...pools.by("key", key)].sort((a, b) => (a.name < b.name ? -1 : 1))[0];
  }

  return {
    declared,
    balancers,
    pools,
    advertisements,
    portsOf,
    ownPoolOf,
    /** Undefined while it has none. */
    addressOf(port: LeasedPort): string | undefined {
      const same = [...balancers.by("key", port.sharingKey)].find((each) => !each.deleting && isForPort(each, port));
      return same?.addresses[0];
    },
    /** Of Services that name none: the API server's own Service has the first family of the cluster. */
    get family(): 4 | 6 {
      return balancers.get({ namespace: "default", name: "kubernetes" })?.family ?? 4;
    },
    /** Those of ours to which MetalLB has not given an address. */
    without(): OwnBalancer[] {
      return [...balancers.by("without", "address")].filter(isOwn);
    },
    truth(key: string): AddressTruth {
      const pool = ownPoolOf(key);
      return {
        ports: portsOf(key).ports,
        balancers: [...balancers.by("key", key)].filter(isOwn).sort(byAge),
        poolAddress: pool?.deleting ? undefined : pool?.own?.address,
        isTaken: (at) => isTaken(key, at),
        canHave: (address) => canHave(key, address),
      };
    },
    /** The addresses that any Service has, and those that ours ask for: MetalLB is about to give them. */
    given(): ReadonlySet<string> {
      return new Set(
        [...balancers.list()].flatMap(({ addresses, ours }) => [...addresses, ...(ours?.pin ? [ours.pin] : [])]),
      );
    },
    keys(): ReadonlySet<string> {
      const keys = [
        ...Array.from(declared.list(), ({ key }) => key),
        ...Array.from(balancers.list(), ({ ours }) => ours?.key),
        ...Array.from(pools.list(), ({ own }) => own?.key),
        ...Array.from(advertisements.list(), ({ key }) => key),
      ];
      return new Set(keys.flatMap((key) => key ?? []));
    },
    /** Why nothing may be decided by what is shown here. A MetalLB that is not there has no pools that one could miss. */
    get trouble(): string | undefined {
      const missing = metalLbMissing() === undefined ? [pools, advertisements] : [];
      return firstTrouble([declared, balancers, ...missing]);
    },
    /** Why nothing can be told of what leases have. */
    get waitingFor(): string | undefined {
      return declared.ready && balancers.ready ? undefined : firstTrouble([declared, balancers]);
    },
    /** Why there is no MetalLB to ask for addresses. */
    get metalLbMissing(): string | undefined {
      return metalLbMissing();
    },
    get controllerMissing(): string | undefined {
      const isMissing = pods.ready && !isForbidden() && ![...pods.list()].includes(true);
      return isMissing ? `no controller pod in ${metalLbNamespace} is ready` : undefined;
    },
    /** Why the controller is taken for ready without a look: a Role from before does not allow it. */
    get controllerUnknown(): string | undefined {
      return isForbidden() ? cacheTrouble(pods) : undefined;
    },
  };

  function isForbidden(): boolean {
    return ProviderError.is(pods.trouble, "AKP_KUBE_FORBIDDEN");
  }

  function metalLbMissing(): string | undefined {
    const missing = [pools, advertisements].find(({ trouble }) => ProviderError.is(trouble, "AKP_KUBE_KIND_MISSING"));
    return missing && `the cluster does not know ${missing.resource}`;
  }
}

function plainPlace(port: LeasedPort): string {
  return placeOf({ namespace: port.namespace, name: plainName(port) });
}

function isOwn(balancer: Balancer): balancer is OwnBalancer {
  return balancer.ours !== undefined;
}

function byResource(a: LeasedPort, b: LeasedPort): number {
  return a.resource < b.resource ? -1 : 1;
}

function byAge(a: Balancer, b: Balancer): number {
  return (a.createdAt === b.createdAt ? placeOf(a) < placeOf(b) : a.createdAt < b.createdAt) ? -1 : 1;
}

/** An object may move from one key to another: both are woken, the one that it has left too. */
function wakeBoth<T>(
  keyOf: (value: T) => string | undefined,
  wake: (key: string) => void,
): (change: Change<T>) => void {
  return ({ value, before }) => {
    const left = before && keyOf(before);
    for (const key of new Set([left, keyOf(value)])) if (key !== undefined) wake(key);
  };
}
