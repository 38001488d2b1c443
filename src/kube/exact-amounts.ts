/** Amounts of resources in 10⁻⁹ths. Kubernetes sums exactly and rounds up once; rounding each part would count too much. */
import { parseQuantity } from "../market/quantity.ts";
import { invariant } from "../runtime/invariant.ts";
import { fieldsOf } from "./json-fields.ts";

export type ExactAmounts = ReadonlyMap<string, bigint>;

/** Reads a list of quantities; `what` says which one it is. */
export type ReadAmounts = (list: unknown, what: string) => ExactAmounts;

/** Every resource, of an object that the API server has let in: throws where a quantity makes no sense. */
export const readAllAmounts: ReadAmounts = (list, what) => {
  const amounts = new Map<string, bigint>();
  for (const [name, value] of Object.entries(fieldsOf(list))) {
    const { nano } = parseQuantity(String(value));
    invariant(nano >= 0n, "a quantity is negative", { what, resource: name, value: String(value) });
    amounts.set(name, nano);
  }
  return amounts;
};

export function add(total: Map<string, bigint>, amounts: ExactAmounts): void {
  for (const [name, amount] of amounts) total.set(name, (total.get(name) ?? 0n) + amount);
}

/** To the greater of both, resource by resource. */
export function raise(total: Map<string, bigint>, least: ExactAmounts): void {
  for (const [name, amount] of least) if (amount > (total.get(name) ?? 0n)) total.set(name, amount);
}

const nanoPerMilli = 10n ** 6n;
const nanoPerOne = 10n ** 9n;

/** In thousandths of cpu, and in bytes or pieces of all else. A part of a unit counts as a whole one. */
export function wholeAmount(name: string, nano: bigint): bigint {
  const nanoPerUnit = name === "cpu" ? nanoPerMilli : nanoPerOne;
  return (nano + nanoPerUnit - 1n) / nanoPerUnit;
}
