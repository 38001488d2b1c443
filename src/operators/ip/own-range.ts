/**
 * Addresses of a range that is ours alone: one for each sharing key, with a pool of its own. Which are taken, the pools
 * themselves say, and beside them what this process is about to write; so no crash loses one.
 */
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../../kube/kube.ts";
import { metalLbNamespace } from "../../kube/objects/metallb.ts";
import type { Address } from "../../market/address.ts";
import {
  type AddressRange,
  addressRangeText,
  doOverlap,
  type IpAddress,
  ipAddressText,
  isWithin,
  readIpAddress,
} from "../../market/address-range.ts";
import type { OwnBalancer } from "./balancer.ts";
import type { LeasedPort } from "./leased-port.ts";
import { desiredAdvertisement, desiredPool, poolName, type SeenPool } from "./own-pool.ts";
import type { PacedApply, Turn } from "./paced-apply.ts";
import type { IpView } from "./view.ts";

interface OwnRangeDeps {
  readonly view: IpView;
  readonly kube: Pick<Kube, "delete">;
  readonly apply: PacedApply;
  readonly provider: Address;
}

export type OwnRange = ReturnType<typeof createOwnRange>;

export function createOwnRange(ranges: readonly AddressRange[], { view, kube, apply, provider }: OwnRangeDeps) {
  /** Addresses on their way into a pool: taken from before that is written until the cache shows it. */
  const claims = new Map<string, string>();
  const text = ranges.map(addressRangeText).join(",");

  function isInRange(address: string): boolean {
    const read = readIpAddress(address);
    return read !== undefined && ranges.some((range) => isWithin(read, range));
  }

  function isOfFamily(address: string): boolean {
    return readIpAddress(address)?.family === view.family;
  }

  /**
   * All that is somebody's: of pools, Services and those that we are about to give. What a Service asks for is its own also
   * while its pool is lost, as all are when MetalLB is installed anew.
   */
  function taken(key: string): ReadonlySet<string> {
    const held = new Set(
      [...view.balancers.by("key", key)].flatMap(({ addresses, ours }) => [...addresses, ours?.pin]),
    );
    // One that does not say whose it is any more is that of the Services which have its address.
    const isOthers = (own: NonNullable<SeenPool["own"]>) =>
      own.key === undefined ? !held.has(own.address) : own.key !== key;
    const pools = [...view.pools.list()].flatMap(({ own }) => (own && isOthers(own) ? own.address : []));
    const services = [...view.balancers.list()].flatMap(({ addresses, ours }) =>
      ours?.key === key ? [] : [...addresses, ...(ours?.pin ? [ours.pin] : [])],
    );
    const claimed = [...claims].flatMap(([other, address]) => (other === key ? [] : address));
    return new Set([...pools, ...services, ...claimed]);
  }

  /** Not one that is another's: somebody has changed the pool, and MetalLB takes no pools that overlap. */
  function keptAddress(key: string, pool: SeenPool | undefined, balancers: readonly OwnBalancer[]): string | undefined {
    const address = pool?.own?.address;
    if (address === undefined || balancers.some(({ addresses }) => addresses.includes(address))) return address;
    return taken(key).has(address) || !isOfFamily(address) ? undefined : address;
  }

  /** In one step with the claim. The one that its Services had or ask for, before any other. */
  function claim(key: string, balancers: readonly OwnBalancer[]): string | undefined {
    const used = taken(key);
    const isFree = (each: string) => isInRange(each) && isOfFamily(each) && !used.has(each);
    const before = balancers.flatMap(({ addresses, ours }) => [...addresses, ours.pin]);
    const address = [claims.get(key) ?? "", ...before].find(isFree) ?? free(used);
    if (address !== undefined) claims.set(key, address);
    return address;
  }

  function free(used: ReadonlySet<string>): string | undefined {
    for (const { family, first, last } of ranges) {
      if (family !== view.family) continue;
      for (let value = first; value <= last; value += 1n) {
        const address = ipAddressText({ family, value } satisfies IpAddress);
        if (!used.has(address)) return address;
      }
    }
    return undefined;
  }

  function unmarked(address: string): SeenPool | undefined {
    return [...view.pools.list()].find(({ own }) => own && own.key === undefined && own.address === address);
  }

  async function announce(key: string, name: string, turn: Turn): Promise<void> {
    const live = view.advertisements.get({ namespace: metalLbNamespace, name })?.fields ?? null;
    const desired = desiredAdvertisement({ name, key, provider });
    const done = await apply(kinds.l2Advertisement, desired, live, turn);
    await shown(view.advertisements, done?.object, turn.signal);
  }

  return {
    ranges,
    text,
    isInRange,
    /** Whether an address of the range is nobody else's. */
    canHave: (key: string, address: string): boolean => isInRange(address) && !taken(key).has(address),
    /** A pool of MetalLB's that is not ours and has addresses of the range: MetalLB takes none that overlap. */
    overlap(): string | undefined {
      const foreign = [...view.pools.list()].filter(({ own }) => !own);
      const other = foreign.find((pool) => pool.ranges.some((each) => ranges.some((range) => doOverlap(each, range))));
      return other && `the range ${text} overlaps with the IPAddressPool ${other.name}`;
    },
    /** The pool of the key is there and announced. Undefined where no address is left. */
    async ensure(
      key: string,
      { ports, balancers }: { readonly ports: readonly LeasedPort[]; readonly balancers: readonly OwnBalancer[] },
      turn: Turn,
    ): Promise<string | undefined> {
      const marked = view.ownPoolOf(key);
      const address = keptAddress(key, marked, balancers) ?? claim(key, balancers);
      const [first] = ports;
      if (address === undefined || !first) return undefined;
      // MetalLB takes no second one of the same address.
      const pool = marked ?? unmarked(address);
      const name = pool?.name ?? poolName(first.resource);
      const desired = desiredPool({ name, key, address, provider });
      const live = pool?.own?.fields ?? null;
      const done = await apply(kinds.ipAddressPool, desired, live, turn);
      await shown(view.pools, done?.object, turn.signal);
      claims.delete(key);
      await announce(key, name, turn);
      return address;
    },
    /** Once nothing has the address any more. */
    async release(key: string, signal: AbortSignal): Promise<void> {
      claims.delete(key);
      const at = (name: string) => ({ namespace: metalLbNamespace, name });
      for (const { name, uid, deleting } of view.advertisements.by("key", key)) {
        if (!deleting)
          await kube.delete(kinds.l2Advertisement, at(name), { ...(uid !== undefined && { uid }), signal });
      }
      for (const { name, own, deleting } of view.pools.by("key", key) as Iterable<SeenPool>) {
        const uid = own?.uid;
        if (!deleting) await kube.delete(kinds.ipAddressPool, at(name), { ...(uid !== undefined && { uid }), signal });
      }
    },
  };
}

/** Whoever decides next sees what was written. */
export async function shown(
  cache: Pick<WatchCache<unknown>, "seen">,
  object: KubeObject | undefined,
  signal: AbortSignal,
): Promise<void> {
  const version = object?.metadata.resourceVersion;
  if (version !== undefined) await cache.seen(version, signal);
}
