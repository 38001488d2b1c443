/** What an order asks for, in as few words as a line has room for: "2 × 0.5 cpu 512Mi". */
import type { GroupSpec, ResourceUnit, Volume } from "./group-spec.ts";
import { formatBytes, formatCpuMilli } from "./quantity.ts";

export function askedFor({ units }: GroupSpec): string {
  return units.map(unitText).join(" + ");
}

/** What is rare comes first: the end of a line is cut off. */
function unitText({ count, cpu, memory, gpu, storage, endpoints }: ResourceUnit): string {
  const parts = [
    ...(gpu.count > 0n ? [`${gpu.count} ${cardNames(gpu.attributes.map(({ key }) => key))}`] : []),
    ...(endpoints.some(({ kind }) => kind === "leased-ip") ? ["ip"] : []),
    ...storage.filter(isPersistent).map((volume) => `${formatBytes(volume.bytes)} ${classOf(volume)}`),
    `${formatCpuMilli(cpu.milli)} cpu`,
    formatBytes(memory.bytes),
  ];
  return `${count > 1 ? `${count} × ` : ""}${parts.join(" ")}`;
}

/** "vendor/nvidia/model/h100/ram/80Gi": "h100". */
function cardNames(keys: readonly string[]): string {
  return keys.map((key) => /model\/([^/]+)/.exec(key)?.[1]?.replace("*", "gpu") ?? "gpu").join("|");
}

function isPersistent({ attributes }: Volume): boolean {
  return attributes.some(({ key, value }) => key === "persistent" && value === "true");
}

function classOf({ attributes }: Volume): string {
  return attributes.find(({ key }) => key === "class")?.value ?? "default";
}
