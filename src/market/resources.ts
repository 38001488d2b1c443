/** An amount of everything that is sold: what an order asks for, what a node has, what is left of it. Never negative. */
import { ProviderError } from "../runtime/errors.ts";
import { formatBytes, formatCpuMilli } from "./quantity.ts";
import { outOfRange } from "./refusal.ts";

export interface Resources {
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly gpuCount: bigint;
  /** By storage class. A class of zero bytes is left out, so that equal amounts are equal values. */
  readonly storageBytes: ReadonlyMap<string, bigint>;
  readonly endpoints: bigint;
}

/** A resource of which there is too little. */
export interface Shortage {
  /** "cpu", "memory", "gpu", "endpoints", or "storage-" with the class. */
  readonly resource: string;
  readonly wanted: bigint;
  readonly available: bigint;
}

export const noResources: Resources = {
  cpuMilli: 0n,
  memoryBytes: 0n,
  gpuCount: 0n,
  storageBytes: new Map(),
  endpoints: 0n,
};

/** What is not named is zero. */
export function resourcesOf(some: Partial<Resources>): Resources {
  const resources = addResources({ ...noResources, ...some }, noResources);
  for (const [resource, amount] of amountsOf(resources)) {
    if (amount < 0n) throw outOfRange(amount, `an amount of ${resource}`, { least: 0n, most: "infinity" });
  }
  return resources;
}

export function addResources(left: Resources, right: Resources): Resources {
  return combine(left, right, (a, b) => a + b);
}

export function subResources(from: Resources, taken: Resources): Resources {
  const shortage = shortageOf(taken, from);
  if (shortage) {
    const { resource, wanted, available } = shortage;
    throw new ProviderError("AKP_AMOUNT_INSUFFICIENT", {
      what: resource,
      wanted: showAmount(resource, wanted),
      available: showAmount(resource, available),
    });
  }
  return combine(from, taken, (a, b) => a - b);
}

/** As much as `count` replicas need. */
export function mulResources(resources: Resources, count: bigint): Resources {
  if (count < 0n) throw outOfRange(count, "a number of replicas", { least: 0n, most: "infinity" });
  return combine(resources, noResources, (amount) => amount * count);
}

/** The first resource of which `available` has less than is wanted; undefined when it all fits. */
export function shortageOf(wanted: Resources, available: Resources): Shortage | undefined {
  return (
    compare("cpu", wanted.cpuMilli, available.cpuMilli) ??
    compare("memory", wanted.memoryBytes, available.memoryBytes) ??
    compare("gpu", wanted.gpuCount, available.gpuCount) ??
    compareStorage(wanted.storageBytes, available.storageBytes) ??
    compare("endpoints", wanted.endpoints, available.endpoints)
  );
}

/** For people: "cpu 1500m, memory 512Mi, storage-beta3 10Gi". */
export function describeResources(resources: Resources): string {
  const texts = amountsOf(resources)
    .filter(([, amount]) => amount !== 0n)
    .map(([resource, amount]) => `${resource} ${showAmount(resource, amount)}`);
  return texts.length > 0 ? texts.join(", ") : "nothing";
}

function amountsOf({ cpuMilli, memoryBytes, gpuCount, storageBytes, endpoints }: Resources): [string, bigint][] {
  return [
    ["cpu", cpuMilli],
    ["memory", memoryBytes],
    ["gpu", gpuCount],
    ...Array.from(storageBytes, ([name, bytes]): [string, bigint] => [`storage-${name}`, bytes]),
    ["endpoints", endpoints],
  ];
}

function compare(resource: string, wanted: bigint, available: bigint): Shortage | undefined {
  return wanted > available ? { resource, wanted, available } : undefined;
}

function compareStorage(
  wanted: ReadonlyMap<string, bigint>,
  available: ReadonlyMap<string, bigint>,
): Shortage | undefined {
  for (const [storageClass, bytes] of wanted) {
    const shortage = compare(`storage-${storageClass}`, bytes, available.get(storageClass) ?? 0n);
    if (shortage) return shortage;
  }
  return undefined;
}

function combine(left: Resources, right: Resources, operation: (left: bigint, right: bigint) => bigint): Resources {
  const storageBytes = new Map<string, bigint>();
  for (const storageClass of new Set([...left.storageBytes.keys(), ...right.storageBytes.keys()])) {
    const bytes = operation(left.storageBytes.get(storageClass) ?? 0n, right.storageBytes.get(storageClass) ?? 0n);
    if (bytes !== 0n) storageBytes.set(storageClass, bytes);
  }
  return {
    cpuMilli: operation(left.cpuMilli, right.cpuMilli),
    memoryBytes: operation(left.memoryBytes, right.memoryBytes),
    gpuCount: operation(left.gpuCount, right.gpuCount),
    storageBytes,
    endpoints: operation(left.endpoints, right.endpoints),
  };
}

function showAmount(resource: string, amount: bigint): string {
  if (resource === "cpu") return formatCpuMilli(amount);
  return resource === "gpu" || resource === "endpoints" ? String(amount) : formatBytes(amount);
}
