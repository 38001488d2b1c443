/** The resources that are sold: read from Kubernetes' lists of quantities, and rounded as it does. */

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

/** How many pods a node takes is not sold, but without room for one more nothing of it can be. */
const names = ["cpu", "memory", "ephemeral-storage", "pods", ...Object.values(pluginResources)] as const;

const noAmounts: ExactAmounts = new Map();

/** Hears of a quantity that cannot be read. It counts as nothing, and whoever is told makes that visible. */
type OnProblem = (problem: string) => void;

export function readAmounts(list: unknown, what: string, onProblem: OnProblem): ExactAmounts {
  if (list === undefined) return noAmounts;
  const fields = fieldsOf(list);
  const amounts = new Map<string, bigint>();
  for (const name of names) {
    const value = fields[name];
    if (value !== undefined) amounts.set(name, readAmount(value, what, name, onProblem));
  }
  return amounts;
}

function readAmount(value: unknown, what: string, name: string, onProblem: OnProblem): bigint {
  if (value === null) return 0n;
  try {
    const { nano } = parseQuantity(String(value));
    if (nano >= 0n) return nano;
    onProblem(`${what}.${name} is negative: ${value}`);
  } catch (thrown) {
    if (!(thrown instanceof ProviderError)) throw thrown;
    onProblem(`${what}.${name}: ${thrown.message}`);
  }
  return 0n;
}

/** A part of a unit counts as a whole one, as for the scheduler. */
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

/** What the plugins call devices that are less than a GPU: MIG instances, slices of time, AMD's partitions. */
const partResources: Readonly<Record<GpuVendor, RegExp>> = {
  nvidia: /^nvidia\.com\/(mig-.+|gpu\.shared)$/,
  amd: /^amd\.com\/(dpx|tpx|qpx|cpx)_/,
};

/** Names that a plugin's configuration gave whole GPUs: "nvidia.com/tesla-t4" of GPUs that it does not offer as "nvidia.com/gpu". */
export function renamedIn(list: unknown): Readonly<Record<GpuVendor, readonly string[]>> {
  const names = Object.entries(fieldsOf(list)).flatMap(([name, amount]) => (amount === "0" ? [] : name));
  const renamed = (vendor: GpuVendor) =>
    names.filter(
      (name) =>
        name.startsWith(`${vendor}.com/`) && name !== pluginResources[vendor] && !partResources[vendor].test(name),
    );
  return { nvidia: renamed("nvidia"), amd: renamed("amd") };
}

/** By vendor, what it offers of these: "nvidia.com/mig-1g.10gb: 7". */
export function partsIn(list: unknown): Readonly<Record<GpuVendor, readonly string[]>> {
  const offered = Object.entries(fieldsOf(list)).filter(([, amount]) => amount !== "0");
  const parts = (vendor: GpuVendor) =>
    offered.filter(([name]) => partResources[vendor].test(name)).map(([name, amount]) => `${name}: ${amount}`);
  return { nvidia: parts("nvidia"), amd: parts("amd") };
}
