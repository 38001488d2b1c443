/** What addresses there are to give: how many, of which pool, and why none can be had. */
import { apiVersionOf, kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { poolHas, poolSize } from "../../kube/objects/metallb.ts";
import { readIpAddress } from "../../market/address-range.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { OwnBalancer } from "./balancer.ts";
import type { SeenPool } from "./own-pool.ts";
import type { OwnRange } from "./own-range.ts";
import { type AddressUsage, addressUsage, type PoolCounts, wholeUsage } from "./usage.ts";
import type { IpView } from "./view.ts";

interface SupplyDeps {
  readonly view: IpView;
  readonly range: OwnRange;
  readonly kube: Pick<Kube, "serves">;
  readonly clock: Clock;
}

/** Why no new address can be had. */
export interface Shortage {
  readonly type: string;
  readonly error: ProviderError;
}

/** With this name Services name no pool, as with the Go provider: MetalLB takes any pool that assigns by itself. */
const anyPool = "default";

/** MetalLB assigns within a second or two; while its controller is replaced, within a few more. */
export const controllerSilentMs = 30_000;

/** So long nothing is sold after a lease that waited in vain has ended; then the next one tries MetalLB again. */
export const silenceKeptMs = 600_000;

export type Supply = ReturnType<typeof createSupply>;

/** Of MetalLB's pools, or of the range where there is one. */
export function createSupply(poolName: string, { view, range, kube, clock }: SupplyDeps) {
  const { ranges } = range;
  let otherVersion: string | undefined;
  let usage: AddressUsage | undefined;
  /** Services of ours that had no address at the last look. */
  let waiting: readonly OwnBalancer[] = [];
  let silentUntilMs = 0;

  function foreignPools(): SeenPool[] {
    return [...view.pools.list()].filter(({ own }) => !own);
  }

  function leasedPools(): { readonly isAny: boolean; readonly pools: readonly SeenPool[] } {
    const all = foreignPools();
    const named = all.filter(({ name }) => name === poolName);
    // A pool `default` that assigns nothing by itself can only be there to be named.
    const isAny = poolName === anyPool && named.every(assignsByItself);
    return { isAny, pools: isAny ? all.filter(assignsByItself) : named.filter(({ isForNamed }) => !isForNamed) };
  }

  function currentUsage(): AddressUsage {
    // What cannot be assigned is no capacity.
    if (missing() !== undefined || range.overlap() !== undefined || isSilent()) return noUsage;
    return countedUsage();
  }

  function countedUsage(): AddressUsage {
    usage ??= countUsage();
    return usage;
  }

  function countUsage(): AddressUsage {
    const given = view.given();
    const { family } = view;
    const pools = foreignPools();
    if (ranges.length === 0) return addressUsage(leasedPools().pools, pools, { given, family });
    const held = [...view.pools.list()].flatMap(({ own }) => own?.address ?? []);
    const whole = { name: range.text, ranges, avoidsBuggy: false };
    return addressUsage([whole], [whole, ...pools], { given: new Set([...given, ...held]), family });
  }

  function missing(): string | undefined {
    const kindMissing = view.metalLbMissing;
    return kindMissing === undefined ? view.controllerMissing : (otherVersion ?? kindMissing);
  }

  function isSilent(): boolean {
    lookForSilence();
    return clock.monotonicMs() < silentUntilMs;
  }

  /** By the Services alone, so that every copy says the same, also one that just started. */
  function lookForSilence(): void {
    const now = (each: OwnBalancer) => view.balancers.get(each);
    const ended = waiting.filter((each) => now(each)?.deleting ?? true);
    if (waiting.some((each) => now(each)?.addresses.length)) silentUntilMs = 0;
    waiting = view.without();
    const isUsable = () => missing() === undefined && view.trouble === undefined && countedUsage().free > 0n;
    if ([...waiting, ...ended].some(isLate) && isUsable()) silentUntilMs = clock.monotonicMs() + silenceKeptMs;
  }

  /** MetalLB could assign it any free address, or the one of its pool. */
  function isLate({ ours: { key, pin, changedAtMs } }: OwnBalancer): boolean {
    const isAssignable = pin === "" || pin === view.ownPoolOf(key)?.own?.address;
    return isAssignable && clock.now() - changedAtMs > controllerSilentMs;
  }

  function poolMissing(): string | undefined {
    const { isAny, pools } = leasedPools();
    if (ranges.length === 0 && pools.length === 0) {
      if (foreignPools().some(({ name }) => name === poolName))
        return `the serviceAllocation of IPAddressPool ${poolName} names namespaces, which leave out those of leases`;
      const names = Array.from(view.pools.list(), ({ name }) => name).join(", ") || "none";
      return `MetalLB has no IPAddressPool ${poolName}${isAny ? ", and none that assigns by itself" : ""}: there are ${names}`;
    }
    const sources = ranges.length === 0 ? pools : [{ name: range.text, ranges, avoidsBuggy: false }];
    if (sources.some((source) => poolSize(source, view.family) > 0n)) return undefined;
    const names = sources.map(({ name }) => name).join(", ");
    return `${names} has no IPv${view.family} addresses, the family of this cluster's Services`;
  }

  return {
    get usage(): AddressUsage {
      return currentUsage();
    },
    /** The pools that leases get addresses from. */
    get poolNames(): readonly string[] {
      return leasedPools().pools.map(({ name }) => name);
    },
    /** All of these, of either family. */
    get whole(): PoolCounts {
      return wholeUsage(leasedPools().pools, view.given());
    },
    /** Counted anew when somebody next wants to know. */
    changed(): void {
      usage = undefined;
      lookForSilence();
    },
    /**
     * The pool that a Service must name, which asks for an address or for any; undefined where MetalLB takes the right one. One
     * that is asked for may be of another pool, from before; then that one is not to be contradicted.
     */
    poolFor(pin: string | undefined): string | undefined {
      const { isAny, pools } = leasedPools();
      const address = pin === undefined ? undefined : readIpAddress(pin);
      if (isAny || (address && !pools.some((pool) => poolHas(pool, address)))) return undefined;
      return poolName;
    },
    shortage(): Shortage | undefined {
      const reason = missing();
      if (reason !== undefined)
        return { type: "MetalLbMissing", error: new ProviderError("AKP_METALLB_MISSING", { reason }) };
      // Then what is wrong is told elsewhere.
      if (view.trouble !== undefined) return undefined;
      const overlap = range.overlap();
      if (overlap !== undefined)
        return { type: "RangeOverlap", error: new ProviderError("AKP_ADDRESS_RANGE_OVERLAP", { reason: overlap }) };
      const noPool = poolMissing();
      if (noPool !== undefined)
        return { type: "PoolMissing", error: new ProviderError("AKP_ADDRESS_POOL_MISSING", { reason: noPool }) };
      if (countedUsage().free <= 0n) return exhausted();
      if (!isSilent()) return undefined;
      const seconds = controllerSilentMs / 1_000;
      return { type: "MetalLbSilent", error: new ProviderError("AKP_METALLB_SILENT", { seconds }) };
    },
    async lookForOtherVersions(signal: AbortSignal): Promise<void> {
      otherVersion = view.metalLbMissing === undefined ? undefined : await findOtherVersion(kube, signal);
    },
  };
}

const noUsage = addressUsage([], [], { given: new Set(), family: 4 });

function assignsByItself({ autoAssign, isRestricted }: SeenPool): boolean {
  return autoAssign && !isRestricted;
}

export function exhausted(): Shortage {
  return { type: "PoolExhausted", error: new ProviderError("AKP_ADDRESS_POOL_EXHAUSTED", {}) };
}

/** A MetalLB of another version is there, and yet cannot be used: that is worth more words. */
async function findOtherVersion(kube: SupplyDeps["kube"], signal: AbortSignal): Promise<string | undefined> {
  for (const version of ["v1beta2", "v1"]) {
    const kind = { ...kinds.ipAddressPool, version };
    const isServed = await kube.serves(kind, signal).catch(() => false);
    if (isServed) return `the cluster serves ipaddresspools of ${apiVersionOf(kind)}, and not of v1beta1`;
  }
  return undefined;
}
