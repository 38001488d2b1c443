/** The resources that are sold, from Kubernetes' resource lists, rounded as the scheduler does. */
import { fieldsOf } from "../../../kube/json-fields.ts";
import { type ExactAmounts, wholeAmount } from "../../../kube/pod-requests.ts";
import { parseQuantity } from "../../../market/quantity.ts";
import { ProviderError } from "../../../runtime/errors.ts";

/** Whole units; never negative. */
export interface SoldResources {
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
  readonly gpus: bigint;
}

export const nothing: SoldResources = { cpuMilli: 0n, memoryBytes: 0n, ephemeralBytes: 0n, gpus: 0n };

export const pluginResources = { nvidia: "nvidia.com/gpu", amd: "amd.com/gpu" } as const;

export type GpuVendor = keyof typeof pluginResources;

export const gpuVendors = Object.keys(pluginResources) as readonly GpuVendor[];

/** Pods are not sold, but limit what a node takes. */
const names = ["cpu", "memory", "ephemeral-storage", "pods", ...Object.values(pluginResources)] as const;

const noAmounts: ExactAmounts = new Map();

/** An invalid quantity counts as nothing, and is reported. */
export function readAmounts(list: unknown, what: string, onProblem: (problem: string) => void): ExactAmounts {
  if (list === undefined) return noAmounts;
  const fields = fieldsOf(list);
  const read = (name: string): bigint => {
    if (fields[name] === null) return 0n;
    try {
      const { nano } = parseQuantity(String(fields[name]));
      if (nano >= 0n) return nano;
      onProblem(`${what}.${name} is negative: ${fields[name]}`);
    } catch (thrown) {
      if (!(thrown instanceof ProviderError)) throw thrown;
      onProblem(`${what}.${name}: ${thrown.message}`);
    }
    return 0n;
  };
  return new Map(names.filter((name) => fields[name] !== undefined).map((name) => [name, read(name)]));
}

function whole(amounts: ExactAmounts, name: (typeof names)[number]): bigint {
  return wholeAmount(name, amounts.get(name) ?? 0n);
}

export function wholeResources(amounts: ExactAmounts): SoldResources {
  const { nvidia, amd } = devicesIn(amounts);
  return {
    cpuMilli: whole(amounts, "cpu"),
    memoryBytes: whole(amounts, "memory"),
    ephemeralBytes: whole(amounts, "ephemeral-storage"),
    gpus: nvidia + amd,
  };
}

export function podLimitIn(amounts: ExactAmounts): number | undefined {
  return amounts.has("pods") ? Number(whole(amounts, "pods")) : undefined;
}

export function devicesIn(amounts: ExactAmounts): Readonly<Record<GpuVendor, bigint>> {
  return { nvidia: whole(amounts, pluginResources.nvidia), amd: whole(amounts, pluginResources.amd) };
}

/** Resources of less than a GPU: MIG instances, time slices, AMD's partitions. */
const partResources: Readonly<Record<GpuVendor, RegExp>> = {
  nvidia: /^nvidia\.com\/(mig-.+|gpu\.shared)$/,
  amd: /^amd\.com\/(dpx|tpx|qpx|cpx)_/,
};

type ByVendor = Readonly<Record<GpuVendor, readonly string[]>>;

function offeredIn(list: unknown): [name: string, amount: unknown][] {
  return Object.entries(fieldsOf(list)).filter(([, amount]) => amount !== "0");
}

/** Whole GPUs that a plugin's configuration renamed: "nvidia.com/tesla-t4". */
export function renamedIn(list: unknown): ByVendor {
  const names = offeredIn(list).map(([name]) => name);
  const isRenamed = (name: string, vendor: GpuVendor) =>
    name.startsWith(`${vendor}.com/`) && name !== pluginResources[vendor] && !partResources[vendor].test(name);
  const renamed = (vendor: GpuVendor) => names.filter((name) => isRenamed(name, vendor));
  return { nvidia: renamed("nvidia"), amd: renamed("amd") };
}

/** "nvidia.com/mig-1g.10gb: 7" */
export function partsIn(list: unknown): ByVendor {
  const offered = offeredIn(list);
  const parts = (vendor: GpuVendor) =>
    offered.filter(([name]) => partResources[vendor].test(name)).map(([name, amount]) => `${name}: ${amount}`);
  return { nvidia: parts("nvidia"), amd: parts("amd") };
}
