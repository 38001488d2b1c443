/** What a pod asks of a node, counted as the real scheduler does. */

import { parseCount, parseCpuMilli } from "../../../../market/quantity.ts";
import { invariant } from "../../../../runtime/invariant.ts";
import type { Container, Pod, ResourceList } from "../shapes/pod.ts";

/** Amounts by resource: thousandths for cpu, bytes or pieces for all else. */
export type Amounts = ReadonlyMap<string, bigint>;

export function amountsOf(list: ResourceList | undefined): Map<string, bigint> {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, amountOf(name, String(text))]));
}

const read = new Map<string, bigint>();
/** Pods come in their thousands with the same few sizes. */
const mostRead = 10_000;

function amountOf(name: string, text: string): bigint {
  const key = name === "cpu" ? `cpu ${text}` : text;
  const known = read.get(key);
  if (known !== undefined) return known;
  const amount = name === "cpu" ? parseCpuMilli(text) : parseCount(text);
  if (read.size >= mostRead) read.clear();
  read.set(key, amount);
  return amount;
}

/**
 * The containers together, or the most that starting needs, whichever is more; and the overhead. A sidecar runs beside
 * all that come after it, so it counts with the containers and with every later init container.
 */
export function podRequests({ spec }: Pod): Amounts {
  const requests = sum(spec.containers.map(requestsOf));
  const sidecars = new Map<string, bigint>();
  const starting = new Map<string, bigint>();
  for (const container of spec.initContainers ?? []) {
    const own = requestsOf(container);
    if (isSidecar(container)) {
      add(requests, own);
      add(sidecars, own);
      raise(starting, sidecars);
    } else raise(starting, sum([own, sidecars]));
  }
  raise(requests, starting);
  add(requests, amountsOf(spec.overhead));
  return requests;
}

export function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === "Always";
}

/** A limit without a request is a request: the API server would have said so. */
function requestsOf({ resources }: Container): Amounts {
  return amountsOf({ ...resources?.limits, ...resources?.requests });
}

function sum(all: readonly Amounts[]): Map<string, bigint> {
  const total = new Map<string, bigint>();
  for (const amounts of all) add(total, amounts);
  return total;
}

export function add(total: Map<string, bigint>, amounts: Amounts): void {
  for (const [name, amount] of amounts) total.set(name, (total.get(name) ?? 0n) + amount);
}

export function subtract(total: Map<string, bigint>, amounts: Amounts): void {
  for (const [name, amount] of amounts) {
    const left = (total.get(name) ?? 0n) - amount;
    invariant(left >= 0n, "more was given back than was taken", { resource: name, left });
    total.set(name, left);
  }
}

function raise(total: Map<string, bigint>, least: Amounts): void {
  for (const [name, amount] of least) if (amount > (total.get(name) ?? 0n)) total.set(name, amount);
}
