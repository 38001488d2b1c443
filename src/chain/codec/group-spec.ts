/** A group as it travels. */
import type { Attribute } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type * as beta4 from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { parseDecimal, showDecimal, zero } from "../../market/decimal.ts";
import {
  type EndpointKind,
  endpointKinds,
  type GroupSpec,
  type ResourceUnit,
  type UnitResources,
} from "../../market/group-spec.ts";
import { malformed } from "../../market/value-errors.ts";
import { invariant } from "../../runtime/invariant.ts";

export function writeGroupSpec({ name, requirements, units }: GroupSpec): beta4.GroupSpec {
  const { allOf, anyOf, attributes } = requirements;
  return {
    name,
    requirements: { signedBy: { allOf: [...allOf], anyOf: [...anyOf] }, attributes: copied(attributes) },
    resources: units.map((unit) => ({
      resource: writeUnitResources(unit),
      count: unit.count,
      price: { denom: unit.price.denom, amount: showDecimal(unit.price.amount) },
    })),
  };
}

export function writeUnitResources({ id, cpu, memory, gpu, storage, endpoints }: UnitResources): beta4.Resources {
  return {
    id,
    cpu: { units: digits(cpu.milli), attributes: copied(cpu.attributes) },
    memory: { quantity: digits(memory.bytes), attributes: copied(memory.attributes) },
    gpu: { units: digits(gpu.count), attributes: copied(gpu.attributes) },
    storage: storage.map((volume) => ({
      name: volume.name,
      quantity: digits(volume.bytes),
      attributes: copied(volume.attributes),
    })),
    endpoints: endpoints.map(({ kind, sequenceNumber }) => ({ kind: numberOf(kind), sequenceNumber })),
  };
}

/** What is missing is zero or empty: the rules say what is wrong with that, here it is only read. */
export function decodeGroupSpec(wire: beta4.GroupSpec | undefined): GroupSpec {
  const { allOf = [], anyOf = [] } = wire?.requirements?.signedBy ?? {};
  return {
    name: wire?.name ?? "",
    requirements: { attributes: copied(wire?.requirements?.attributes ?? []), allOf: [...allOf], anyOf: [...anyOf] },
    units: wire?.resources.map(readUnit) ?? [],
  };
}

function readUnit({ resource, count, price }: beta4.ResourceUnit): ResourceUnit {
  return {
    id: resource?.id ?? 0,
    cpu: { milli: amountOf(resource?.cpu?.units), attributes: copied(resource?.cpu?.attributes ?? []) },
    memory: { bytes: amountOf(resource?.memory?.quantity), attributes: copied(resource?.memory?.attributes ?? []) },
    gpu: { count: amountOf(resource?.gpu?.units), attributes: copied(resource?.gpu?.attributes ?? []) },
    storage:
      resource?.storage.map(({ name, quantity, attributes }) => ({
        name,
        bytes: amountOf(quantity),
        attributes: copied(attributes),
      })) ?? [],
    endpoints:
      resource?.endpoints.map(({ kind, sequenceNumber }) => ({
        kind: endpointKinds[kind] ?? "unknown",
        sequenceNumber,
      })) ?? [],
    count,
    price: { denom: price?.denom ?? "", amount: price?.amount ? parseDecimal(price.amount) : zero },
  };
}

function numberOf(kind: EndpointKind): number {
  invariant(kind !== "unknown", "an endpoint of unknown kind is neither requested nor offered");
  return endpointKinds.indexOf(kind);
}

/** Amounts travel as the digits of a text. */
function digits(amount: bigint): { val: Uint8Array } {
  return { val: Buffer.from(`${amount}`) };
}

function copied(attributes: readonly Attribute[]): Attribute[] {
  return [...attributes];
}

/** The chain keeps 256 bits, which are 78 digits; a text of a million would take long to read. */
const amountDigits = /^-?\d{1,78}$/;

function amountOf(wire: { readonly val: Uint8Array } | undefined): bigint {
  const text = Buffer.from(wire?.val ?? []).toString("latin1");
  if (text === "") return 0n;
  if (!amountDigits.test(text)) throw malformed(text, "an amount of resources", "it must be up to 78 digits", "1000");
  return BigInt(text);
}
