/** What a tenant requests on chain: one group of a deployment, which becomes an order. Amounts are exact. */
import type { DecCoin } from "./coin.ts";
import { formatBytes, formatCpuMilli } from "./quantity.ts";

export interface GroupSpec {
  readonly name: string;
  readonly requirements: Requirements;
  readonly units: readonly ResourceUnit[];
}

export interface Requirements {
  /** What the provider must publish of itself, sorted by key. */
  readonly attributes: readonly Attribute[];
  /** Auditors: each of these, and one of those where any are named, must have signed it. */
  readonly allOf: readonly string[];
  readonly anyOf: readonly string[];
}

export interface Attribute {
  readonly key: string;
  readonly value: string;
}

/** Replicas of one size and price. */
export interface ResourceUnit extends UnitResources {
  readonly count: number;
  /** The most that is paid for one of them per block. */
  readonly price: DecCoin;
}

export interface UnitResources {
  /** Counts from 1 within the group; services name it. */
  readonly id: number;
  readonly cpu: { readonly milli: bigint; readonly attributes: readonly Attribute[] };
  readonly memory: { readonly bytes: bigint; readonly attributes: readonly Attribute[] };
  readonly gpu: { readonly count: bigint; readonly attributes: readonly Attribute[] };
  readonly storage: readonly Volume[];
  readonly endpoints: readonly Endpoint[];
}

export interface Volume {
  readonly name: string;
  readonly bytes: bigint;
  readonly attributes: readonly Attribute[];
}

export interface Endpoint {
  readonly kind: EndpointKind;
  /** Says which of the deployment's addresses is meant; 0 where none is leased. */
  readonly sequenceNumber: number;
}

/** The chain accepts any number; one without a meaning is unknown and cannot be offered. */
export type EndpointKind = "shared-http" | "random-port" | "leased-ip" | "unknown";

/** In the order of the chain's numbers for them. */
export const endpointKinds: readonly EndpointKind[] = ["shared-http", "random-port", "leased-ip"];

/** What an order requests, on one line: "2 × 0.5 cpu 512Mi". */
export function groupSummary({ units }: GroupSpec): string {
  return units.map(unitText).join(" + ");
}

/** Rare resources come first: the end of a line is cut off. */
function unitText({ count, cpu, memory, gpu, storage, endpoints }: ResourceUnit): string {
  const parts = [
    ...(gpu.count > 0n ? [`${gpu.count} ${gpuNames(gpu.attributes.map(({ key }) => key))}`] : []),
    ...(endpoints.some(({ kind }) => kind === "leased-ip") ? ["ip"] : []),
    ...storage.flatMap((volume) => {
      const { persistent, storageClass = "default" } = volumeKind(volume);
      return persistent ? `${formatBytes(volume.bytes)} ${storageClass}` : [];
    }),
    `${formatCpuMilli(cpu.milli)} cpu`,
    formatBytes(memory.bytes),
  ];
  return `${count > 1 ? `${count} × ` : ""}${parts.join(" ")}`;
}

/** "vendor/nvidia/model/h100/ram/80Gi": "h100". */
function gpuNames(keys: readonly string[]): string {
  return keys.map((key) => /model\/([^/]+)/.exec(key)?.[1]?.replace("*", "gpu") ?? "gpu").join("|");
}

/** What is neither persistent nor of the class "ram" is on the node's own disk. */
export function volumeKind({ attributes = [] }: { readonly attributes?: readonly Attribute[] }) {
  const value = (name: string) => attributes.find(({ key }) => key === name)?.value;
  return { persistent: value("persistent") === "true", storageClass: value("class") || undefined };
}
