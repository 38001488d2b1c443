/** How many addresses there are, and how many are in use, counted from pools and Services themselves. */
import { type MetalLbPool, poolHas, poolSize } from "../../kube/objects/metallb.ts";
import { readIpAddress } from "../../market/address-range.ts";
import { invariant } from "../../runtime/invariant.ts";

export interface PoolCounts {
  readonly total: bigint;
  readonly inUse: bigint;
}

interface PoolUsage extends PoolCounts {
  readonly name: string;
}

export interface AddressUsage {
  readonly total: bigint;
  readonly inUse: bigint;
  readonly free: bigint;
  /** Of each, the leased one among them. */
  readonly pools: readonly PoolUsage[];
}

type Countable = Pick<MetalLbPool, "name" | "ranges" | "avoidsBuggy">;

/** Of the addresses that somebody has, each is counted once. */
function familyUsage(pool: Countable, family: 4 | 6, given: ReadonlySet<string>): PoolCounts {
  const total = poolSize(pool, family);
  // By what they are, not by how they are written: a person pins "2001:DB8::0:1", and MetalLB gives "2001:db8::1".
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
  return counts.reduce((sum, { total, inUse }) => ({ total: sum.total + total, inUse: sum.inUse + inUse }), {
    total: 0n,
    inUse: 0n,
  });
}

/** Of both families, as MetalLB itself counts. */
export function wholeUsage(pools: readonly Countable[], given: ReadonlySet<string>): PoolCounts {
  return sumOf(pools.flatMap((pool) => [familyUsage(pool, 4, given), familyUsage(pool, 6, given)]));
}

/** Of the family that the cluster's Services have; `leased` are those of the pools that leases get addresses from. */
export function addressUsage(
  leased: readonly Countable[],
  pools: readonly Countable[],
  { given, family }: { readonly given: ReadonlySet<string>; readonly family: 4 | 6 },
): AddressUsage {
  const { total, inUse } = sumOf(leased.map((pool) => familyUsage(pool, family, given)));
  const all = pools.map((pool) => ({ name: pool.name, ...familyUsage(pool, family, given) }));
  return { total, inUse, free: total - inUse, pools: all };
}
