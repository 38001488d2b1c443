/** A group as plain JSON, to be kept or sent within our own programs: amounts as the digits of a text. */

import { ProviderError } from "../runtime/errors.ts";
import { parseDecimal, showDecimal, zero } from "./decimal.ts";
import { type GoJson, goQuote } from "./go-json.ts";
import {
  attributeList,
  decodeRecords,
  goText,
  goUint32,
  list,
  record,
  resourcesShape,
  type Shape,
  texts,
  writeRecords,
} from "./go-shape.ts";
import {
  type Attribute,
  type Endpoint,
  endpointKinds,
  type GroupSpec,
  type Requirements,
  type ResourceUnit,
  type UnitResources,
  type Volume,
} from "./group-spec.ts";

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

/** A group as the network's clients write it in JSON: read as Go reads it, and written as Go writes it. */
const decimal: Shape = { kind: "text", go: "math.LegacyDec" };
const signedBy = record("v1.SignedBy", { all_of: texts, any_of: texts });
const unit = record("v1beta4.ResourceUnit", {
  resource: resourcesShape,
  count: goUint32,
  price: record("types.DecCoin", { denom: goText, amount: decimal }),
});

const groupSpecShape = record("v1beta4.GroupSpec", {
  name: goText,
  requirements: record("v1.PlacementRequirements", { signed_by: signedBy, attributes: attributeList }),
  resources: list(unit, "v1beta4.ResourceUnits"),
});

/** Throws a SyntaxError in Go's words. What is missing is zero or empty: the rules say what is wrong with that. */
export function readGroupJson(json: GoJson): { readonly group: GroupSpec; readonly text: string } {
  const decoded = decodeRecords(groupSpecShape, json) as DecodedGroup;
  const group = groupOf(decoded);
  return { group, text: JSON.stringify(writeRecords(groupSpecShape, decoded)) };
}

/** What is offered for a unit. */
export function writeUnit({ id, cpu, memory, gpu, storage, endpoints }: UnitResources): unknown {
  const size = (bytes: bigint) => ({ val: `${bytes}` });
  const decoded = {
    id,
    cpu: { units: size(cpu.milli), attributes: cpu.attributes },
    memory: { size: size(memory.bytes), attributes: memory.attributes },
    storage: storage.map(({ name, bytes, attributes }) => ({ name, size: size(bytes), attributes })),
    gpu: { units: size(gpu.count), attributes: gpu.attributes },
    endpoints: endpoints.map(({ kind, sequenceNumber }) => ({
      kind: endpointKinds.indexOf(kind),
      sequence_number: sequenceNumber,
    })),
  };
  return writeRecords(resourcesShape, decoded);
}

interface DecodedGroup {
  readonly name: string;
  readonly requirements: {
    readonly signed_by: { readonly all_of: readonly string[] | null; readonly any_of: readonly string[] | null };
    readonly attributes: readonly Attribute[] | null;
  };
  readonly resources: readonly DecodedUnit[] | null;
}

interface DecodedUnit {
  readonly resource: {
    readonly id: number;
    readonly cpu: { readonly units: Value; readonly attributes: readonly Attribute[] | null } | null;
    readonly memory: Sized | null;
    readonly storage: readonly (Sized & { readonly name: string })[] | null;
    readonly gpu: { readonly units: Value; readonly attributes: readonly Attribute[] | null } | null;
    readonly endpoints: readonly { readonly kind: number; readonly sequence_number: number }[] | null;
  };
  readonly count: number;
  readonly price: { readonly denom: string; readonly amount: string };
}

interface Sized {
  readonly size: Value;
  readonly attributes: readonly Attribute[] | null;
}

interface Value {
  readonly val: string;
}

function groupOf({ name, requirements, resources }: DecodedGroup): GroupSpec {
  const { signed_by, attributes } = requirements;
  const { all_of: allOf, any_of: anyOf } = signed_by;
  return {
    name,
    requirements: { attributes: attributes ?? [], allOf: allOf ?? [], anyOf: anyOf ?? [] },
    units: (resources ?? []).map(unitOf),
  };
}

function unitOf({ resource, count, price }: DecodedUnit): ResourceUnit {
  const { id, cpu, memory, storage, gpu, endpoints } = resource;
  return {
    id,
    cpu: { milli: BigInt(cpu?.units.val ?? 0), attributes: cpu?.attributes ?? [] },
    memory: { bytes: BigInt(memory?.size.val ?? 0), attributes: memory?.attributes ?? [] },
    gpu: { count: BigInt(gpu?.units.val ?? 0), attributes: gpu?.attributes ?? [] },
    storage: (storage ?? []).map((volume) => ({
      name: volume.name,
      bytes: BigInt(volume.size.val),
      attributes: volume.attributes ?? [],
    })),
    endpoints: (endpoints ?? []).map((endpoint) => ({
      kind: endpointKinds[endpoint.kind] ?? "unknown",
      sequenceNumber: endpoint.sequence_number,
    })),
    count,
    price: { denom: price.denom, amount: amountOf(price.amount) },
  };
}

function amountOf(digits: string) {
  try {
    return digits === "" ? zero : parseDecimal(digits);
  } catch (thrown) {
    const { message } = ProviderError.from(thrown);
    throw new SyntaxError(`failed to set decimal string with ${goQuote(digits.slice(0, 80))}: ${message}`);
  }
}
