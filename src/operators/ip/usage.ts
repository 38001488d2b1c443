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
function poolUsage(pool: Countable, given: ReadonlySet<string>): PoolUsage {
  // Services are of IPv4 where a cluster has both; of a pool without, they are of IPv6.
  return { name: pool.name, ...familyUsage(pool, poolSize(pool, 4) > 0n ? 4 : 6, given) };
}

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

/** Of both families, as MetalLB itself counts. */
export function wholeUsage(pool: Countable, given: ReadonlySet<string>): PoolCounts {
  const [four, six] = [familyUsage(pool, 4, given), familyUsage(pool, 6, given)];
  return { total: four.total + six.total, inUse: four.inUse + six.inUse };
}

export function addressUsage(leased: Countable | undefined, pools: readonly Countable[], given: ReadonlySet<string>) {
  const all = pools.map((pool) => poolUsage(pool, given));
  if (!leased) return { total: 0n, inUse: 0n, free: 0n, pools: all };
  const { total, inUse } = poolUsage(leased, given);
  return { total, inUse, free: total - inUse, pools: all };
}
