/** The resources that are sold: read from Kubernetes' lists of quantities, added, compared and rounded as it does. */
import { parseQuantity } from "../../../market/quantity.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { fieldsOf } from "../json-fields.ts";

/** Whole units; never negative. */
export interface Resources {
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
  /** Of all vendors together. */
  readonly gpus: bigint;
}

export const nothing: Resources = { cpuMilli: 0n, memoryBytes: 0n, ephemeralBytes: 0n, gpus: 0n };

/**
 * The exact amounts, in 10⁻⁹ths, in the order of `names`. Kubernetes sums up the parts of a pod exactly and rounds up
 * once; rounding every part would count a pod of many containers too high.
 */
export type ExactAmounts = readonly bigint[];

const names = ["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "amd.com/gpu"] as const;

export const noAmounts: ExactAmounts = names.map(() => 0n);

/** Hears of a quantity that cannot be read. It counts as nothing, and whoever is told makes that visible. */
export type OnProblem = (problem: string) => void;

export function readAmounts(list: unknown, what: string, onProblem: OnProblem): ExactAmounts {
  if (list === undefined) return noAmounts;
  const fields = fieldsOf(list);
  return names.map((name) => readAmount(fields[name], what, name, onProblem));
}

function readAmount(value: unknown, what: string, name: string, onProblem: OnProblem): bigint {
  if (value === undefined || value === null) return 0n;
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

export function plus(a: ExactAmounts, b: ExactAmounts): ExactAmounts {
  if (a === noAmounts) return b;
  if (b === noAmounts) return a;
  return a.map((amount, index) => amount + (b[index] ?? 0n));
}

/** The greater of both, resource by resource. */
export function greater(a: ExactAmounts, b: ExactAmounts): ExactAmounts {
  if (a === noAmounts) return b;
  if (b === noAmounts) return a;
  return a.map((amount, index) => {
    const other = b[index] ?? 0n;
    return amount > other ? amount : other;
  });
}

/** Pod-level requests say nothing about disk or gpus; those stay the sum of the containers. */
const podLevel: ReadonlySet<string> = new Set(["cpu", "memory"]);

/** The amounts, but cpu and memory as this list has them, where it has them. */
export function overriddenBy(amounts: ExactAmounts, list: unknown, what: string, onProblem: OnProblem): ExactAmounts {
  if (list === undefined) return amounts;
  const fields = fieldsOf(list);
  return amounts.map((amount, index) => {
    const name = names[index] ?? "";
    const value = podLevel.has(name) ? fields[name] : undefined;
    return value === undefined ? amount : readAmount(value, what, name, onProblem);
  });
}

const nanoPerMilli = 10n ** 6n;
const nanoPerOne = 10n ** 9n;

/** A part of a unit counts as a whole one, as for the scheduler. */
export function wholeResources(amounts: ExactAmounts): Resources {
  const [cpu = 0n, memory = 0n, ephemeral = 0n, nvidia = 0n, amd = 0n] = amounts;
  return {
    cpuMilli: roundUp(cpu, nanoPerMilli),
    memoryBytes: roundUp(memory, nanoPerOne),
    ephemeralBytes: roundUp(ephemeral, nanoPerOne),
    gpus: roundUp(nvidia, nanoPerOne) + roundUp(amd, nanoPerOne),
  };
}

function roundUp(nano: bigint, nanoPerUnit: bigint): bigint {
  return (nano + nanoPerUnit - 1n) / nanoPerUnit;
}
