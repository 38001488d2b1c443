/** MetalLB's address allocator (rules.ts), without the cluster. */

import { isBuggy, type MetalLbPool, poolHas, poolSize } from "../../kube/objects/metallb.ts";
import { doOverlap, ipAddressText, readIpAddress } from "../../market/ip-range.ts";

/** What a Service wants, as far as it decides on addresses. */
export interface AddressClaim {
  /** "namespace/name" */
  readonly service: string;
  readonly family: 4 | 6;
  /** "TCP/80" */
  readonly ports: readonly string[];
  readonly sharingKey: string;
  /** Empty where any may be its neighbour; else the pods that it leads to. */
  readonly backendKey: string;
}

interface Allocation extends AddressClaim {
  readonly pool: string;
  readonly address: string;
}

interface PoolCounters {
  readonly assignedIPv4: number;
  readonly assignedIPv6: number;
  readonly availableIPv4: number;
  readonly availableIPv6: number;
}

export function createAllocator() {
  const allocated = new Map<string, Allocation>();
  let pools: ReadonlyMap<string, MetalLbPool> = new Map();

  function poolOf(address: string): MetalLbPool | undefined {
    const read = readIpAddress(address);
    return read && [...pools.values()].find((pool) => poolHas(pool, read));
  }

  /** Why a Service may not have an address; undefined where it may. */
  function objection(claim: AddressClaim, address: string): string | undefined {
    const others = [...allocated.values()].filter((each) => each.address === address && each.service !== claim.service);
    for (const other of others) {
      const isShared = claim.sharingKey !== "" && claim.sharingKey === other.sharingKey;
      if (!isShared || claim.backendKey !== other.backendKey) {
        const names = others.map(({ service }) => service).join(",");
        return `can't change sharing key for "${claim.service}", address also in use by ${names}`;
      }
      const taken = claim.ports.find((port) => other.ports.includes(port));
      if (taken !== undefined) return `port ${taken} is already in use on "${address}"`;
    }
    return undefined;
  }

  /** Returns the reason if the address cannot be assigned. */
  function assign(claim: AddressClaim, address: string): string | undefined {
    const pool = poolOf(address);
    const why = pool ? objection(claim, address) : `["${address}"] is not allowed in config`;
    if (pool && why === undefined) allocated.set(claim.service, { ...claim, pool: pool.name, address });
    return why;
  }

  function firstIn(pool: MetalLbPool, claim: AddressClaim): string | undefined {
    for (const { family, first, last } of pool.ranges) {
      if (family !== claim.family) continue;
      for (let value = first; value <= last; value += 1n) {
        const address = { family, value };
        if (pool.avoidsBuggy && isBuggy(address)) continue;
        const text = ipAddressText(address);
        if (objection(claim, text) === undefined) return text;
      }
    }
    return undefined;
  }

  return {
    setPools(next: ReadonlyMap<string, MetalLbPool>): void {
      pools = next;
      for (const [service, allocation] of allocated) {
        const pool = poolOf(allocation.address);
        if (!pool) allocated.delete(service);
        else if (pool.name !== allocation.pool) allocated.set(service, { ...allocation, pool: pool.name });
      }
    },
    get hasPools(): boolean {
      return pools.size > 0;
    },
    assign,
    /** An address of the pool that is named, or of any that gives by itself. */
    allocate(claim: AddressClaim, poolName: string): { readonly address: string } | { readonly why: string } {
      const named = pools.get(poolName);
      if (poolName !== "" && !named) return { why: `unknown pool "${poolName}"` };
      const candidates = named
        ? [named]
        : [...pools.values()].filter(({ autoAssign, isRestricted }) => autoAssign && !isRestricted);
      for (const pool of candidates) {
        const address = firstIn(pool, claim);
        if (address === undefined) continue;
        allocated.set(claim.service, { ...claim, pool: pool.name, address });
        return { address };
      }
      return { why: named ? `no available IPs in pool ${poolName}` : "no available IPs" };
    },
    unassign: (service: string): boolean => allocated.delete(service),
    /** Of a Service that has an address. */
    poolNameOf: (service: string): string | undefined => allocated.get(service)?.pool,
    /** Changes when others may now be its neighbours, or may not any more. */
    sharingOf(service: string): string {
      const found = allocated.get(service);
      return found ? `${found.backendKey} ${found.sharingKey}` : "";
    },
    countersOf(name: string): PoolCounters | undefined {
      const pool = pools.get(name);
      if (!pool) return undefined;
      const inUse = (family: 4 | 6) => {
        const own = [...allocated.values()].filter((each) => each.pool === name && each.family === family);
        return new Set(own.map(({ address }) => address)).size;
      };
      const free = (family: 4 | 6) => Number(poolSize(pool, family)) - inUse(family);
      return { assignedIPv4: inUse(4), assignedIPv6: inUse(6), availableIPv4: free(4), availableIPv6: free(6) };
    },
  };
}

/** Whether ranges of two of them share an address; then MetalLB takes none of the configuration. */
export function overlapOf(pools: readonly MetalLbPool[]): string | undefined {
  const all = pools.flatMap(({ name, ranges }) => ranges.map((range) => ({ name, range })));
  for (const [at, { name, range }] of all.entries()) {
    const other = all.slice(at + 1).find((each) => doOverlap(range, each.range));
    if (other) return `a range of pool "${other.name}" overlaps with one of pool "${name}"`;
  }
  return undefined;
}
