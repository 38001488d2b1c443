/** Groups as JSON: our own, with amounts as strings of digits, and that of the network's clients. */

import { ProviderError } from "../runtime/errors.ts";
import { parseDecimal, showDecimal, zero } from "./decimal.ts";
import { type GoJson, goQuote } from "./go-json.ts";
import {
  attributeList,
  decodeRecords,
  goString,
  goStrings,
  goUint32,
  list,
  record,
  resourcesShape,
  type Shape,
  writeRecords,
} from "./go-shape.ts";
import { type Attribute, endpointKinds, type GroupSpec, type ResourceUnit, type UnitResources } from "./group-spec.ts";
import { type ManifestResources, manifestResources } from "./manifest.ts";

export type GroupJson = ReturnType<typeof groupToJson>;

export function groupToJson({ units, ...group }: GroupSpec) {
  return {
    ...group,
    units: units.map(({ price, cpu, memory, gpu, storage, ...unit }) => ({
      ...unit,
      price: { denom: price.denom, amount: showDecimal(price.amount) },
      cpu: { ...cpu, milli: `${cpu.milli}` },
      memory: { ...memory, bytes: `${memory.bytes}` },
      gpu: { ...gpu, count: `${gpu.count}` },
      storage: storage.map((volume) => ({ ...volume, bytes: `${volume.bytes}` })),
    })),
  };
}

export function groupFromJson({ units, ...group }: GroupJson): GroupSpec {
  return {
    ...group,
    units: units.map(({ price, cpu, memory, gpu, storage, ...unit }) => ({
      ...unit,
      price: { denom: price.denom, amount: parseDecimal(price.amount) },
      cpu: { ...cpu, milli: BigInt(cpu.milli) },
      memory: { ...memory, bytes: BigInt(memory.bytes) },
      gpu: { ...gpu, count: BigInt(gpu.count) },
      storage: storage.map((volume) => ({ ...volume, bytes: BigInt(volume.bytes) })),
    })),
  };
}

/** A group as the network's clients write it in JSON: read as Go reads it, and written as Go writes it. */
const decimal: Shape = { kind: "string", go: "math.LegacyDec" };
const signedBy = record("v1.SignedBy", { all_of: goStrings, any_of: goStrings });
const unit = record("v1beta4.ResourceUnit", {
  resource: resourcesShape,
  count: goUint32,
  price: record("types.DecCoin", { denom: goString, amount: decimal }),
});

const groupSpecShape = record("v1beta4.GroupSpec", {
  name: goString,
  requirements: record("v1.PlacementRequirements", { signed_by: signedBy, attributes: attributeList }),
  resources: list(unit, "v1beta4.ResourceUnits"),
});

/** Throws a SyntaxError in Go's words. Missing values are zero or empty, which the rules reject. */
export function readGroupJson(json: GoJson): { readonly group: GroupSpec; readonly text: string } {
  const decoded = decodeRecords(groupSpecShape, json) as DecodedGroup;
  const group = groupOf(decoded);
  return { group, text: JSON.stringify(writeRecords(groupSpecShape, decoded)) };
}

/** What is offered for a unit. */
export function writeUnit(resources: UnitResources): unknown {
  return writeRecords(resourcesShape, manifestResources(resources));
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
  /** Null where a part was not given. */
  readonly resource: Partial<ManifestResources> & Pick<ManifestResources, "id">;
  readonly count: number;
  readonly price: { readonly denom: string; readonly amount: string };
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
      kind: endpointKinds[endpoint.kind ?? 0] ?? "unknown",
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
