/** A group as it travels. */
import type { Attribute } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { GroupSpec as WireGroupSpec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { showDecimal } from "../../market/decimal.ts";
import { endpointKinds, type GroupSpec } from "../../market/group-spec.ts";

export function writeGroupSpec({ name, requirements, units }: GroupSpec): WireGroupSpec {
  const { allOf, anyOf, attributes } = requirements;
  return {
    name,
    requirements: { signedBy: { allOf: [...allOf], anyOf: [...anyOf] }, attributes: copied(attributes) },
    resources: units.map(({ id, cpu, memory, gpu, storage, endpoints, count, price }) => ({
      resource: {
        id,
        cpu: { units: digits(cpu.milli), attributes: copied(cpu.attributes) },
        memory: { quantity: digits(memory.bytes), attributes: copied(memory.attributes) },
        gpu: { units: digits(gpu.count), attributes: copied(gpu.attributes) },
        storage: storage.map((volume) => ({
          name: volume.name,
          quantity: digits(volume.bytes),
          attributes: copied(volume.attributes),
        })),
        endpoints: endpoints.map(({ kind, sequenceNumber }) => ({ kind: endpointKinds.indexOf(kind), sequenceNumber })),
      },
      count,
      price: { denom: price.denom, amount: showDecimal(price.amount) },
    })),
  };
}

/** Amounts travel as the digits of a text. */
function digits(amount: bigint): { val: Uint8Array } {
  return { val: Buffer.from(`${amount}`) };
}

function copied(attributes: readonly Attribute[]): Attribute[] {
  return [...attributes];
}
