/** The allocated resources of a node by `kubectl describe node`. */
import { parseBytes, parseCount, parseCpuMilli } from "../../src/market/quantity.ts";
import type { SoldResources } from "../../src/operators/inventory/accounting/resources.ts";

/** From the table "Allocated resources". A node without GPUs has no row for them. */
export function allocatedIn(description: string): SoldResources {
  const table = description.slice(description.indexOf("Allocated resources"));
  const requested = (name: string) => new RegExp(`^\\s*${name}\\s+(\\S+)`, "m").exec(table)?.[1];
  return {
    cpuMilli: parseCpuMilli(requested("cpu") ?? ""),
    memoryBytes: parseBytes(requested("memory") ?? ""),
    ephemeralBytes: parseBytes(requested("ephemeral-storage") ?? ""),
    gpus: parseCount(requested("nvidia.com/gpu") ?? "0"),
  };
}
