/** Amounts as Kubernetes writes them, in the families in which the network's own operator does. */
import { formatBytes, formatCount, formatCpuMilli } from "../../../market/quantity.ts";
import type { Amounts } from "../inventory.ts";

/** The three texts of a resource. */
export interface Quantities {
  readonly allocatable: string;
  readonly allocated: string;
  readonly capacity: string;
}

export function cpuQuantities(milli: Amounts): Quantities {
  return quantities(milli, formatCpuMilli);
}

export function countQuantities(count: Amounts): Quantities {
  return quantities(count, formatCount);
}

/** What there is comes from the kubelet, which counts in powers of ten; what is taken from requests, written as Mi and Gi. */
export function byteQuantities(bytes: Amounts): Quantities {
  return quantities(bytes, (amount) => formatBytes(amount, "DecimalSI"), formatBytes);
}

function quantities(
  { allocatable, allocated, capacity }: Amounts,
  there: (amount: bigint) => string,
  taken: (amount: bigint) => string = there,
): Quantities {
  return { allocatable: there(allocatable), allocated: taken(allocated), capacity: there(capacity) };
}
