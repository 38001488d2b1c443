/** A group as plain JSON, to be kept or sent within our own programs: amounts as the digits of a text. */
import { parseDecimal, showDecimal } from "./decimal.ts";
import type { Attribute, Endpoint, GroupSpec, Requirements, ResourceUnit, Volume } from "./group-spec.ts";

export interface GroupJson {
  readonly name: string;
  readonly requirements: Requirements;
  readonly units: readonly UnitJson[];
}

interface UnitJson {
  readonly id: number;
  readonly count: number;
  readonly price: { readonly denom: string; readonly amount: string };
  readonly cpu: { readonly milli: string; readonly attributes: readonly Attribute[] };
  readonly memory: { readonly bytes: string; readonly attributes: readonly Attribute[] };
  readonly gpu: { readonly count: string; readonly attributes: readonly Attribute[] };
  readonly storage: readonly (Omit<Volume, "bytes"> & { readonly bytes: string })[];
  readonly endpoints: readonly Endpoint[];
}

export function groupToJson({ name, requirements, units }: GroupSpec): GroupJson {
  return { name, requirements, units: units.map(unitToJson) };
}

/** Of what `groupToJson` gave. */
export function groupFromJson({ name, requirements, units }: GroupJson): GroupSpec {
  return { name, requirements, units: units.map(unitFromJson) };
}

function unitToJson({ id, count, price, cpu, memory, gpu, storage, endpoints }: ResourceUnit): UnitJson {
  return {
    id,
    count,
    price: { denom: price.denom, amount: showDecimal(price.amount) },
    cpu: { ...cpu, milli: `${cpu.milli}` },
    memory: { ...memory, bytes: `${memory.bytes}` },
    gpu: { ...gpu, count: `${gpu.count}` },
    storage: storage.map((volume) => ({ ...volume, bytes: `${volume.bytes}` })),
    endpoints,
  };
}

function unitFromJson({ id, count, price, cpu, memory, gpu, storage, endpoints }: UnitJson): ResourceUnit {
  return {
    id,
    count,
    price: { denom: price.denom, amount: parseDecimal(price.amount) },
    cpu: { ...cpu, milli: BigInt(cpu.milli) },
    memory: { ...memory, bytes: BigInt(memory.bytes) },
    gpu: { ...gpu, count: BigInt(gpu.count) },
    storage: storage.map((volume) => ({ ...volume, bytes: BigInt(volume.bytes) })),
    endpoints,
  };
}
