/** Groups to try things with: small, within the network's limits, and changed where a test says so. */
import { parseDecCoin } from "../../src/market/coin.ts";
import type { Attribute, Endpoint, GroupSpec, ResourceUnit, Volume } from "../../src/market/group-spec.ts";

export interface UnitWish {
  readonly count?: number;
  readonly cpuMilli?: bigint;
  readonly memoryBytes?: bigint;
  readonly gpus?: bigint;
  /** "vendor/nvidia/model/a100". */
  readonly gpuKeys?: readonly string[];
  /** Bytes by class. */
  readonly storage?: Readonly<Record<string, bigint>>;
  readonly endpoints?: readonly Endpoint[];
  readonly price?: string;
}

const mebi = 2n ** 20n;

export function groupOf(...wishes: readonly UnitWish[]): GroupSpec {
  const units = (wishes.length > 0 ? wishes : [{}]).map((wish, index) => unitOf(wish, index + 1));
  return { name: "web", requirements: { attributes: [], allOf: [], anyOf: [] }, units };
}

function unitOf(wish: UnitWish, id: number): ResourceUnit {
  const { count = 1, cpuMilli = 100n, memoryBytes = 128n * mebi, gpus = 0n, gpuKeys = [] } = wish;
  const { storage = { ephemeral: 512n * mebi }, endpoints = [], price = "100uakt" } = wish;
  return {
    id,
    cpu: { milli: cpuMilli, attributes: [] },
    memory: { bytes: memoryBytes, attributes: [] },
    gpu: { count: gpus, attributes: gpuKeys.map((key) => ({ key, value: "true" })) },
    storage: Object.entries(storage).map(([name, bytes]) => volumeOf(name, bytes)),
    endpoints,
    count,
    price: parseDecCoin(price),
  };
}

function volumeOf(name: string, bytes: bigint): Volume {
  if (name === "ephemeral") return { name: "default", bytes, attributes: [] };
  const attributes: Attribute[] = [
    { key: "class", value: name },
    { key: "persistent", value: String(name !== "ram") },
  ];
  return { name, bytes, attributes };
}
