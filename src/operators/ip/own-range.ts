/** A range that is ours alone: an address and a pool per sharing key. Pools and pending writes hold the addresses in use. */
import { kinds } from "../../kube/kinds.ts";
import type { KubeObject, WatchCache } from "../../kube/kube.ts";
import { type MetalLbPool, metalLbNamespace } from "../../kube/objects/metallb.ts";
import {
  type AddressRange,
  addressRangeText,
  doOverlap,
  ipAddressText,
  isWithin,
  readIpAddress,
} from "../../market/ip-range.ts";
import type { WriteTurn } from "../write-pace.ts";
import { desiredAdvertisement, desiredPool, type OwnBalancer, poolName, type WatchedPool } from "./objects.ts";
import type { ObservedAddress } from "./plan.ts";
import type { IpDeps } from "./view.ts";

export class OwnRange {
  readonly ranges: readonly AddressRange[];
  readonly text: string;
  readonly asPool: Pick<MetalLbPool, "name" | "ranges" | "avoidsBuggy">;
  readonly #deps: IpDeps;
  /** Addresses that are being written into a pool: taken until the cache shows it. */
  readonly #claims = new Map<string, string>();

  constructor(ranges: readonly AddressRange[], deps: IpDeps) {
    this.ranges = ranges;
    this.text = ranges.map(addressRangeText).join(",");
    this.asPool = { name: this.text, ranges, avoidsBuggy: false };
    this.#deps = deps;
  }

  isInRange(address: string): boolean {
    const read = readIpAddress(address);
    return read !== undefined && this.ranges.some((range) => isWithin(read, range));
  }

  canHave(key: string, address: string): boolean {
    return this.isInRange(address) && !this.#taken(key).has(address);
  }

  /** A foreign pool with addresses of the range: MetalLB takes no pools that overlap. */
  overlap(): string | undefined {
    const foreign = [...this.#deps.view.pools.list()].filter(({ own }) => !own);
    const other = foreign.find((pool) =>
      pool.ranges.some((each) => this.ranges.some((range) => doOverlap(each, range))),
    );
    return other && `the range ${this.text} overlaps with the IPAddressPool ${other.name}`;
  }

  /** The pool of the key is there and announced. Undefined where no address is left. */
  async ensure(
    key: string,
    { ports, balancers }: Pick<ObservedAddress, "ports" | "balancers">,
    turn: WriteTurn,
  ): Promise<string | undefined> {
    const { view, apply, provider } = this.#deps;
    const marked = view.ownPoolOf(key);
    const address = this.#keptAddress(key, marked, balancers) ?? this.#claim(key, balancers);
    const [first] = ports;
    if (address === undefined || !first) return undefined;
    // MetalLB takes no second pool of the same address.
    const pool = marked ?? this.#unmarked(address);
    const name = pool?.name ?? poolName(first.resource);
    const desired = desiredPool(name, key, address, provider);
    const done = await apply(kinds.ipAddressPool, desired, pool?.own?.fields ?? null, turn);
    await untilShown(view.pools, done?.object, turn.signal);
    this.#claims.delete(key);
    await this.#announce(key, name, turn);
    return address;
  }

  /** Once nothing has the address any more. */
  async release(key: string, signal: AbortSignal): Promise<void> {
    const { view, kube } = this.#deps;
    this.#claims.delete(key);
    const going = [
      ...[...view.advertisements.by("key", key)].map((each) => ({ kind: kinds.l2Advertisement, ...each })),
      ...[...view.pools.by("key", key)].map((each) => ({ kind: kinds.ipAddressPool, ...each, uid: each.own?.uid })),
    ];
    for (const { kind, name, uid, deleting } of going) {
      const at = { namespace: metalLbNamespace, name };
      if (!deleting) await kube.delete(kind, at, { ...(uid !== undefined && { uid }), signal });
    }
  }

  #isOfFamily(address: string): boolean {
    return readIpAddress(address)?.family === this.#deps.view.family;
  }

  /** Addresses of pools, Services and pending writes. A Service keeps what it requests while its pool is lost. */
  #taken(key: string): ReadonlySet<string> {
    const { view } = this.#deps;
    const held = new Set(
      [...view.balancers.by("key", key)].flatMap(({ addresses, ours }) => [...addresses, ours?.pin]),
    );
    // A pool that lost its key is that of the Services which have its address.
    const isOthers = (own: NonNullable<WatchedPool["own"]>) =>
      own.key === undefined ? !held.has(own.address) : own.key !== key;
    const pools = [...view.pools.list()].flatMap(({ own }) => (own && isOthers(own) ? own.address : []));
    const services = [...view.balancers.list()].flatMap(({ addresses, ours }) =>
      ours?.key === key ? [] : [...addresses, ...(ours?.pin ? [ours.pin] : [])],
    );
    const claimed = [...this.#claims].flatMap(([other, address]) => (other === key ? [] : address));
    return new Set([...pools, ...services, ...claimed]);
  }

  /** Not one in use by another key: the pool was edited, and MetalLB takes no pools that overlap. */
  #keptAddress(key: string, pool: WatchedPool | undefined, balancers: readonly OwnBalancer[]): string | undefined {
    const address = pool?.own?.address;
    if (address === undefined || balancers.some(({ addresses }) => addresses.includes(address))) return address;
    return this.#taken(key).has(address) || !this.#isOfFamily(address) ? undefined : address;
  }

  /** Chosen and claimed in one step: the address that its Services had or request, before any other. */
  #claim(key: string, balancers: readonly OwnBalancer[]): string | undefined {
    const used = this.#taken(key);
    const isFree = (each: string) => this.isInRange(each) && this.#isOfFamily(each) && !used.has(each);
    const before = balancers.flatMap(({ addresses, ours }) => [...addresses, ours.pin]);
    const address = [this.#claims.get(key) ?? "", ...before].find(isFree) ?? this.#free(used);
    if (address !== undefined) this.#claims.set(key, address);
    return address;
  }

  #free(used: ReadonlySet<string>): string | undefined {
    for (const { family, first, last } of this.ranges) {
      if (family !== this.#deps.view.family) continue;
      for (let value = first; value <= last; value += 1n) {
        const address = ipAddressText({ family, value });
        if (!used.has(address)) return address;
      }
    }
    return undefined;
  }

  #unmarked(address: string): WatchedPool | undefined {
    return [...this.#deps.view.pools.list()].find(({ own }) => own && own.key === undefined && own.address === address);
  }

  async #announce(key: string, name: string, turn: WriteTurn): Promise<void> {
    const { view, apply, provider } = this.#deps;
    const live = view.advertisements.get({ namespace: metalLbNamespace, name })?.fields ?? null;
    const done = await apply(kinds.l2Advertisement, desiredAdvertisement(name, key, provider), live, turn);
    await untilShown(view.advertisements, done?.object, turn.signal);
  }
}

/** The next decision sees what was written. */
export async function untilShown(
  cache: Pick<WatchCache<unknown>, "seen">,
  object: KubeObject | undefined,
  signal: AbortSignal,
): Promise<void> {
  const version = object?.metadata.resourceVersion;
  if (version !== undefined) await cache.seen(version, signal);
}
