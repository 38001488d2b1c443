/** The addresses that can be assigned: how many, of which pool, and why there are none. */
import { apiVersionOf, kinds } from "../../kube/kinds.ts";
import { type MetalLbPool, poolHas, poolSize } from "../../kube/objects/metallb.ts";
import { readIpAddress } from "../../market/ip-range.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import type { OwnBalancer, WatchedPool } from "./objects.ts";
import type { OwnRange } from "./own-range.ts";
import type { IpDeps } from "./view.ts";

interface SupplyDeps extends IpDeps {
  readonly range: OwnRange;
}

export interface AddressShortage {
  readonly type: string;
  readonly error: ProviderError;
}

/** With this name Services name no pool, as with the Go provider: MetalLB takes any pool that assigns by itself. */
const anyPool = "default";

/** MetalLB assigns within a second or two; while its controller is replaced, within a few more. */
export const controllerSilentMs = 30_000;

/** Nothing is sold for this long after a lease without an address has ended; then the next one tries MetalLB again. */
export const silenceKeptMs = 600_000;

/** Of MetalLB's pools, or of the range where there is one. */
export class Supply {
  readonly #pool: string;
  readonly #deps: SupplyDeps;
  #otherVersion: string | undefined;
  #usage: AddressCounts | undefined;
  /** Services of ours that had no address at the last check. */
  #waiting: readonly OwnBalancer[] = [];
  #silentUntilMs = 0;

  constructor(pool: string, deps: SupplyDeps) {
    this.#pool = pool;
    this.#deps = deps;
  }

  /** Addresses that cannot be assigned are no capacity. */
  get usage(): AddressCounts {
    const isUsable = this.#missing() === undefined && this.#deps.range.overlap() === undefined && !this.#isSilent();
    return isUsable ? this.#counted() : { total: 0n, inUse: 0n, free: 0n, pools: [] };
  }

  /** The pools that leases get addresses from. */
  get poolNames(): readonly string[] {
    return this.#leasedPools().pools.map(({ name }) => name);
  }

  /** Of both families, as MetalLB itself counts. */
  get totals(): PoolCounts {
    const given = this.#deps.view.given();
    const { pools } = this.#leasedPools();
    return sumOf(pools.flatMap((pool) => [familyUsage(pool, 4, given), familyUsage(pool, 6, given)]));
  }

  changed(): void {
    this.#usage = undefined;
    this.#checkSilence();
  }

  /** The pool that a Service must name; undefined where MetalLB takes the right one, or the pin is of another pool. */
  readonly poolFor = (pin: string | undefined): string | undefined => {
    const { isAny, pools } = this.#leasedPools();
    const address = pin === undefined ? undefined : readIpAddress(pin);
    if (isAny || (address && !pools.some((pool) => poolHas(pool, address)))) return undefined;
    return this.#pool;
  };

  /** Why no new address can be had. */
  shortage(): AddressShortage | undefined {
    const { view, range } = this.#deps;
    const reason = this.#missing();
    if (reason !== undefined) return shortageOf("MetalLbMissing", `MetalLB assigns no addresses: ${reason}`);
    // Then the error is reported elsewhere.
    if (view.unavailableReason !== undefined) return undefined;
    const overlap = range.overlap();
    if (overlap !== undefined) return shortageOf("RangeOverlap", overlap);
    const noPool = this.#poolMissing();
    if (noPool !== undefined) return shortageOf("PoolMissing", noPool);
    if (this.#counted().free <= 0n) return exhausted();
    if (!this.#isSilent()) return undefined;
    const seconds = controllerSilentMs / 1_000;
    return shortageOf("MetalLbSilent", `MetalLB has not assigned a free address for more than ${seconds} s`);
  }

  async checkOtherVersions(signal: AbortSignal): Promise<void> {
    const { view, kube } = this.#deps;
    this.#otherVersion = view.metalLbMissing === undefined ? undefined : await findOtherVersion(kube, signal);
  }

  #foreignPools(): WatchedPool[] {
    return [...this.#deps.view.pools.list()].filter(({ own }) => !own);
  }

  #leasedPools(): { readonly isAny: boolean; readonly pools: readonly WatchedPool[] } {
    const all = this.#foreignPools();
    const named = all.filter(({ name }) => name === this.#pool);
    // A pool `default` that assigns nothing by itself can only be there to be named.
    const isAny = this.#pool === anyPool && named.every(assignsByItself);
    return { isAny, pools: isAny ? all.filter(assignsByItself) : named.filter(({ isForNamed }) => !isForNamed) };
  }

  #counted(): AddressCounts {
    this.#usage ??= this.#count();
    return this.#usage;
  }

  #count(): AddressCounts {
    const { view, range } = this.#deps;
    const own = [...view.pools.list()].flatMap((pool) => pool.own?.address ?? []);
    const given = new Set([...view.given(), ...own]);
    const ranges: Countable[] = range.ranges.length === 0 ? [] : [range.asPool];
    const leased = ranges.length === 0 ? this.#leasedPools().pools : ranges;
    const { total, inUse } = sumOf(leased.map((pool) => familyUsage(pool, view.family, given)));
    const pools = [...ranges, ...this.#foreignPools()].map((pool) => {
      return { name: pool.name, ...familyUsage(pool, view.family, given) };
    });
    return { total, inUse, free: total - inUse, pools };
  }

  #missing(): string | undefined {
    const { metalLbMissing, controllerMissing } = this.#deps.view;
    return metalLbMissing === undefined ? controllerMissing : (this.#otherVersion ?? metalLbMissing);
  }

  #isSilent(): boolean {
    this.#checkSilence();
    return this.#deps.clock.monotonicMs() < this.#silentUntilMs;
  }

  /** By the Services alone, so that every copy reports the same, also one that just started. */
  #checkSilence(): void {
    const { view, clock } = this.#deps;
    const now = (each: OwnBalancer) => view.balancers.get(each);
    const ended = this.#waiting.filter((each) => now(each)?.deleting ?? true);
    if (this.#waiting.some((each) => now(each)?.addresses.length)) this.#silentUntilMs = 0;
    this.#waiting = view.unassigned();
    const isLate = [...this.#waiting, ...ended].some((each) => this.#isLate(each));
    if (isLate && this.#missing() === undefined && view.unavailableReason === undefined && this.#counted().free > 0n)
      this.#silentUntilMs = clock.monotonicMs() + silenceKeptMs;
  }

  /** MetalLB could assign it any free address, or the one of its pool. */
  #isLate({ ours: { key, pin, changedAtMs } }: OwnBalancer): boolean {
    const { view, clock } = this.#deps;
    const isAssignable = pin === "" || pin === view.ownPoolOf(key)?.own?.address;
    return isAssignable && clock.now() - changedAtMs > controllerSilentMs;
  }

  #poolMissing(): string | undefined {
    const { view, range } = this.#deps;
    const { ranges } = range;
    const { isAny, pools } = this.#leasedPools();
    if (ranges.length === 0 && pools.length === 0) {
      if (this.#foreignPools().some(({ name }) => name === this.#pool))
        return `the serviceAllocation of IPAddressPool ${this.#pool} names namespaces, which leave out those of leases`;
      const names = Array.from(view.pools.list(), ({ name }) => name).join(", ") || "none";
      return `MetalLB has no IPAddressPool ${this.#pool}${isAny ? ", and none that assigns by itself" : ""}: there are ${names}`;
    }
    const sources = ranges.length === 0 ? pools : [range.asPool];
    if (sources.some((source) => poolSize(source, view.family) > 0n)) return undefined;
    const names = sources.map(({ name }) => name).join(", ");
    return `${names} has no IPv${view.family} addresses, the family of this cluster's Services`;
  }
}

function assignsByItself({ autoAssign, isRestricted }: WatchedPool): boolean {
  return autoAssign && !isRestricted;
}

const hints = {
  MetalLbMissing: "Install MetalLB 0.13 or later, which serves metallb.io/v1beta1.",
  RangeOverlap:
    "Take the addresses of --ip-range out of that pool, or out of the range: nothing new is assigned until then.",
  PoolMissing: "Create the pool, or name the right one with --metal-lb-pool.",
  MetalLbSilent:
    "Look at the log of MetalLB's controller and at the Events of the Services that wait. No bid needs an address until then.",
} as const;

function shortageOf(type: keyof typeof hints, reason: string): AddressShortage {
  return { type, error: new ProviderError("AKP_ADDRESSES_UNAVAILABLE", { reason, hint: hints[type] }) };
}

export function exhausted(): AddressShortage {
  return { type: "PoolExhausted", error: new ProviderError("AKP_ADDRESS_POOL_EXHAUSTED", {}) };
}

/** A MetalLB of another version is there and cannot be used. */
async function findOtherVersion(kube: SupplyDeps["kube"], signal: AbortSignal): Promise<string | undefined> {
  for (const version of ["v1beta2", "v1"]) {
    const kind = { ...kinds.ipAddressPool, version };
    const isServed = await kube.serves(kind, signal).catch(() => false);
    if (isServed) return `the cluster serves ipaddresspools of ${apiVersionOf(kind)}, and not of v1beta1`;
  }
  return undefined;
}

export interface PoolCounts {
  readonly total: bigint;
  readonly inUse: bigint;
}

interface AddressCounts extends PoolCounts {
  readonly free: bigint;
  /** Of each pool, including the leased one. */
  readonly pools: readonly (PoolCounts & { readonly name: string })[];
}

type Countable = Pick<MetalLbPool, "name" | "ranges" | "avoidsBuggy">;

/** Each address that is given counts once. */
function familyUsage(pool: Countable, family: 4 | 6, given: ReadonlySet<string>): PoolCounts {
  const total = poolSize(pool, family);
  // By value: a person pins "2001:DB8::0:1", and MetalLB gives "2001:db8::1".
  const values = new Set<bigint>();
  for (const text of given) {
    const address = readIpAddress(text);
    if (address?.family === family && poolHas(pool, address)) values.add(address.value);
  }
  const inUse = BigInt(values.size);
  invariant(inUse <= total, "more addresses in use than there are", { pool: pool.name, inUse, total });
  return { total, inUse };
}

function sumOf(counts: readonly PoolCounts[]): PoolCounts {
  const sum = (field: keyof PoolCounts) => counts.reduce((total, each) => total + each[field], 0n);
  return { total: sum("total"), inUse: sum("inUse") };
}
