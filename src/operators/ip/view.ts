import { kinds } from "../../kube/kinds.ts";
import {
  type Change,
  cacheProblem,
  firstCacheProblem,
  type Kube,
  type ObjectAt,
  type WatchCache,
} from "../../kube/kube.ts";
import { leasedIpName } from "../../kube/objects/leased-ip.ts";
import { isReadyController, metalLbNamespace, poolHas } from "../../kube/objects/metallb.ts";
import type { Address } from "../../market/address.ts";
import { readIpAddress } from "../../market/ip-range.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { OperatorDeps } from "../operator-service.ts";
import type { PacedApply } from "../write-pace.ts";
import {
  type AddressPort,
  type Balancer,
  type DeclaredPort,
  isForPort,
  networkName,
  type OwnBalancer,
  pathOf,
  readBalancer,
  readDeclaredPort,
  readWatchedAdvertisement,
  readWatchedPool,
  type WatchedAdvertisement,
  type WatchedPool,
} from "./objects.ts";
import type { ObservedAddress } from "./plan.ts";

interface ViewDeps {
  readonly provider: Address;
  /** Where the custom resources of all leases are kept. */
  readonly manifestNamespace: string;
  readonly kube: Pick<Kube, "watch" | "fieldManager">;
  readonly wake: (key: string) => void;
  /** Addresses may be free that were not, or the other way round. */
  readonly onAddresses: () => void;
}

/** What the parts of the operator share. */
export interface IpDeps extends OperatorDeps {
  readonly provider: Address;
  readonly manifestNamespace: string;
  readonly view: IpView;
  readonly apply: PacedApply;
}

export class IpView {
  readonly declared: WatchCache<DeclaredPort, "key" | "place">;
  readonly balancers: WatchCache<Balancer, "key" | "address" | "lease" | "unassigned">;
  readonly pools: WatchCache<WatchedPool, "key">;
  readonly advertisements: WatchCache<WatchedAdvertisement, "key">;
  readonly #pods: WatchCache<boolean>;

  constructor({ provider, manifestNamespace, kube, wake, onAddresses }: ViewDeps, scope: Scope) {
    const { fieldManager } = kube;
    /** An object may move from one key to another, and wakes both. */
    const wakeBoth =
      <T>(keyOf: (value: T) => string | undefined, then?: () => void) =>
      ({ value, before }: Change<T>) => {
        const left = before && keyOf(before);
        for (const key of new Set([left, keyOf(value)])) if (key !== undefined) wake(key);
        then?.();
      };
    const inMetalLb = { namespace: metalLbNamespace, withManagedFields: true };
    this.declared = kube.watch<DeclaredPort, "key" | "place">({
      ...{ kind: kinds.providerLeasedIp, namespace: manifestNamespace, withManagedFields: true },
      project: (object) => readDeclaredPort(object, provider),
      indexes: { key: ({ key }: DeclaredPort) => key, place: ({ port }: DeclaredPort) => port && plainPlace(port) },
      handle: wakeBoth(({ key }) => key),
    });
    this.balancers = kube.watch<Balancer, "key" | "address" | "lease" | "unassigned">({
      ...{ kind: kinds.service, withManagedFields: true },
      project: (object) => readBalancer(object, provider, fieldManager),
      indexes: {
        key: ({ ours }: Balancer) => ours?.key,
        address: ({ addresses: [first] }: Balancer) => first,
        lease: ({ ours, namespace }: Balancer) => ours && namespace,
        unassigned: ({ ours, deleting, addresses }: Balancer) =>
          ours && !deleting && addresses.length === 0 ? "" : undefined,
      },
      handle: wakeBoth(({ ours }) => ours?.key, onAddresses),
    });
    this.pools = kube.watch<WatchedPool, "key">({
      ...{ ...inMetalLb, kind: kinds.ipAddressPool },
      project: (object) => readWatchedPool(object, provider, fieldManager),
      indexes: { key: ({ own }: WatchedPool) => own?.key },
      handle: wakeBoth(({ own }) => own?.key, onAddresses),
    });
    this.advertisements = kube.watch<WatchedAdvertisement, "key">({
      ...{ ...inMetalLb, kind: kinds.l2Advertisement },
      project: (object) => readWatchedAdvertisement(object, provider, fieldManager),
      indexes: { key: ({ key }: WatchedAdvertisement) => key },
      handle: wakeBoth(({ key }) => key),
    });
    this.#pods = kube.watch<boolean>({
      ...{ kind: kinds.pod, namespace: metalLbNamespace },
      project: isReadyController,
      handle: onAddresses,
    });
    const all = [this.declared, this.balancers, this.pools, this.advertisements, this.#pods];
    scope.onStop(async () => void (await Promise.all(all.map((cache) => cache.close()))));
  }

  /** Each port of a protocol once: of two resources that request one, the one that is named after it. */
  portsOf(key: string): { readonly ports: AddressPort[]; readonly double: AddressPort[] } {
    const found = [...this.declared.by("key", key)]
      .flatMap(({ port }) => port ?? [])
      .sort((a, b) => (a.resource < b.resource ? -1 : 1));
    const byPort = Map.groupBy(found, ({ protocol, externalPort }) => `${protocol}/${externalPort}`);
    const isNamedAfterIt = (port: AddressPort) => leasedIpName(port) === port.resource;
    const chosen = new Set(Array.from(byPort.values(), (same) => same.find(isNamedAfterIt) ?? same[0]));
    return { ports: found.filter((port) => chosen.has(port)), double: found.filter((port) => !chosen.has(port)) };
  }

  addressOf(port: AddressPort): string | undefined {
    const same = [...this.balancers.by("key", port.sharingKey)].find((each) => !each.deleting && isForPort(each, port));
    return same?.addresses[0];
  }

  ownPoolOf(key: string): WatchedPool | undefined {
    return [...this.pools.by("key", key)].sort((a, b) => (a.name < b.name ? -1 : 1))[0];
  }

  observe(key: string): ObservedAddress {
    const pool = this.ownPoolOf(key);
    return {
      ports: this.portsOf(key).ports,
      balancers: [...this.balancers.by("key", key)].filter(isOwn).sort(byAge),
      poolAddress: pool?.deleting ? undefined : pool?.own?.address,
      isTaken: (at) => this.#isTaken(key, at),
      canHave: (address) => this.#canHave(key, address),
    };
  }

  #isTaken(key: string, at: ObjectAt): boolean {
    const live = this.balancers.get(at);
    // Else its provider and we would write over each other without end.
    if (live?.isTenants) return true;
    if (live?.ours) return live.ours.key !== key;
    // One of ours that was changed by hand is put right: a second one would be at another address.
    if (live && !live.isMade) return true;
    const [first = key] = [...this.declared.by("place", pathOf(at))].flatMap((each) => each.key ?? []).sort();
    return first !== key;
  }

  #canHave(key: string, text: string): boolean {
    const address = readIpAddress(text);
    if (!address || ![...this.pools.list()].some((pool) => poolHas(pool, address))) return false;
    return [...this.balancers.by("address", text)].every(({ ours }) => ours?.key === key);
  }

  /** Of Services that name none: the API server's own Service has the first family of the cluster. */
  get family(): 4 | 6 {
    return this.balancers.get({ namespace: "default", name: "kubernetes" })?.family ?? 4;
  }

  /** Services of ours to which MetalLB has not given an address. */
  unassigned(): OwnBalancer[] {
    return [...this.balancers.by("unassigned", "")].filter(isOwn);
  }

  /** The addresses that any Service has, and those that ours request: MetalLB is about to give them. */
  given(): ReadonlySet<string> {
    const services = [...this.balancers.list()];
    return new Set(services.flatMap(({ addresses, ours }) => [...addresses, ...(ours?.pin ? [ours.pin] : [])]));
  }

  keys(): ReadonlySet<string> {
    const keys = [
      ...[...this.declared.list(), ...this.advertisements.list()].map(({ key }) => key),
      ...Array.from(this.balancers.list(), ({ ours }) => ours?.key),
      ...Array.from(this.pools.list(), ({ own }) => own?.key),
    ];
    return new Set(keys.flatMap((key) => key ?? []));
  }

  /** Why nothing may be decided by this view. A missing MetalLB has no pools to wait for. */
  get unavailableReason(): string | undefined {
    const ofMetalLb = this.metalLbMissing === undefined ? [this.pools, this.advertisements] : [];
    return firstCacheProblem([this.declared, this.balancers, ...ofMetalLb]);
  }

  /** Why the addresses of leases are not known yet. */
  get waitingFor(): string | undefined {
    const needed = [this.declared, this.balancers];
    return needed.every(({ ready }) => ready) ? undefined : firstCacheProblem(needed);
  }

  get metalLbMissing(): string | undefined {
    const missing = [this.pools, this.advertisements].find(({ error }) =>
      ProviderError.is(error, "AKP_KUBE_KIND_MISSING"),
    );
    return missing && `the cluster does not know ${missing.resource}`;
  }

  get controllerMissing(): string | undefined {
    const isMissing = this.#pods.ready && !this.#isForbidden && ![...this.#pods.list()].includes(true);
    return isMissing ? `no controller pod in ${metalLbNamespace} is ready` : undefined;
  }

  /** Why the controller is assumed to be ready: an older Role does not allow to read its pods. */
  get controllerUnknown(): string | undefined {
    return this.#isForbidden ? cacheProblem(this.#pods) : undefined;
  }

  get #isForbidden(): boolean {
    return ProviderError.is(this.#pods.error, "AKP_KUBE_FORBIDDEN");
  }
}

function plainPlace(port: AddressPort): string {
  return pathOf({ namespace: port.namespace, name: networkName(port) });
}

function isOwn(balancer: Balancer): balancer is OwnBalancer {
  return balancer.ours !== undefined;
}

function byAge(a: Balancer, b: Balancer): number {
  return (a.createdAt === b.createdAt ? pathOf(a) < pathOf(b) : a.createdAt < b.createdAt) ? -1 : 1;
}
