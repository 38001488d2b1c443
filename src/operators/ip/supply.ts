/** What addresses there are to give: how many, of which pool, and why none can be had. */
import { apiVersionOf, kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { metalLbNamespace, poolHas } from "../../kube/objects/metallb.ts";
import { readIpAddress } from "../../market/address-range.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { ConditionType } from "./condition.ts";
import type { OwnRange } from "./own-range.ts";
import { type AddressUsage, addressUsage, type PoolCounts, wholeUsage } from "./usage.ts";
import type { IpView } from "./view.ts";

interface SupplyDeps {
  readonly view: IpView;
  readonly range: OwnRange;
  readonly kube: Pick<Kube, "serves">;
}

/** Why no new address can be had. */
export interface Shortage {
  readonly type: ConditionType;
  readonly error: ProviderError;
}

/** A pool of this name is not named by the network's habit, where MetalLB takes addresses from no other by itself. */
const defaultPool = "default";

export type Supply = ReturnType<typeof createSupply>;

/** Of MetalLB's pool of that name, or of the range where there is one. */
export function createSupply(poolName: string, { view, range, kube }: SupplyDeps) {
  const { ranges } = range;
  let otherVersion: string | undefined;
  let usage: AddressUsage | undefined;

  function currentUsage(): AddressUsage {
    // What nobody could be given is not there.
    if (view.metalLbMissing !== undefined || range.overlap() !== undefined)
      return addressUsage(undefined, [], new Set());
    usage ??= countUsage();
    return usage;
  }

  function countUsage(): AddressUsage {
    const given = view.given();
    const pools = [...view.pools.list()].filter(({ own }) => !own);
    if (ranges.length === 0)
      return addressUsage(
        pools.find(({ name }) => name === poolName),
        pools,
        given,
      );
    const held = [...view.pools.list()].flatMap(({ own }) => own?.address ?? []);
    const whole = { name: range.text, ranges, avoidsBuggy: false };
    return addressUsage(whole, [whole, ...pools], new Set([...given, ...held]));
  }

  return {
    get usage(): AddressUsage {
      return currentUsage();
    },
    /** All of the pool of MetalLB's, of either family. */
    get whole(): PoolCounts {
      const pool = view.pools.get({ namespace: metalLbNamespace, name: poolName });
      return pool ? wholeUsage(pool, view.given()) : { total: 0n, inUse: 0n };
    },
    /** Counted anew when somebody next wants to know. */
    changed(): void {
      usage = undefined;
    },
    /**
     * The pool that a Service must name, which asks for an address or for any; undefined where MetalLB takes the right one. One
     * that is asked for may be of another pool, from before; then that one is not to be contradicted.
     */
    poolFor(pin: string | undefined): string | undefined {
      const address = pin === undefined ? undefined : readIpAddress(pin);
      const pool = view.pools.get({ namespace: metalLbNamespace, name: poolName });
      if (address && !(pool && poolHas(pool, address))) return undefined;
      const giving = [...view.pools.list()].filter(({ autoAssign, isRestricted }) => autoAssign && !isRestricted);
      const isOnlyOne = giving.length === 1 && giving[0]?.name === defaultPool;
      return poolName === defaultPool && isOnlyOne ? undefined : poolName;
    },
    shortage(): Shortage | undefined {
      const missing = view.metalLbMissing;
      if (missing !== undefined) {
        const reason = otherVersion ?? missing;
        return { type: "MetalLbMissing", error: new ProviderError("AKP_METALLB_MISSING", { reason }) };
      }
      // Then what is wrong is told elsewhere.
      if (view.trouble !== undefined) return undefined;
      const overlap = range.overlap();
      if (overlap !== undefined)
        return { type: "RangeOverlap", error: new ProviderError("AKP_ADDRESS_RANGE_OVERLAP", { reason: overlap }) };
      const names = [...view.pools.list()].map(({ name }) => name);
      if (ranges.length === 0 && !names.includes(poolName)) {
        const details = { pool: poolName, pools: names.join(", ") || "none" };
        return { type: "PoolMissing", error: new ProviderError("AKP_ADDRESS_POOL_MISSING", details) };
      }
      return currentUsage().free <= 0n ? exhausted() : undefined;
    },
    async lookForOtherVersions(signal: AbortSignal): Promise<void> {
      otherVersion = view.metalLbMissing === undefined ? undefined : await findOtherVersion(kube, signal);
    },
  };
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
