/** The groups of a deployment as the chain's REST answered them. */

import { parseDecimal } from "../../../src/market/decimal.ts";
import type { Attribute, EndpointKind, GroupSpec } from "../../../src/market/group-spec.ts";
import { readJsonRecording } from "../recordings.ts";

interface RecordedGroups {
  readonly groups: readonly {
    readonly group_spec: {
      readonly name: string;
      readonly requirements: {
        readonly signed_by: { readonly all_of: readonly string[]; readonly any_of: readonly string[] };
        readonly attributes: readonly Attribute[];
      };
      readonly resources: readonly {
        readonly resource: RecordedUnit;
        readonly count: number;
        readonly price: { readonly denom: string; readonly amount: string };
      }[];
    };
  }[];
}

type Value = { readonly val: string };
type Attributes = readonly Attribute[];

interface RecordedUnit {
  readonly id: number;
  readonly cpu: { readonly units: Value; readonly attributes: Attributes };
  readonly gpu: { readonly units: Value; readonly attributes: Attributes };
  readonly memory: { readonly quantity: Value; readonly attributes: Attributes };
  readonly storage: readonly { readonly name: string; readonly quantity: Value; readonly attributes: Attributes }[];
  readonly endpoints: readonly { readonly kind: string; readonly sequence_number: number }[];
}

export function recordedGroups(path: string): GroupSpec[] {
  return readJsonRecording<RecordedGroups>(path).groups.map(({ group_spec: { name, requirements, resources } }) => ({
    name,
    requirements: {
      attributes: requirements.attributes,
      allOf: requirements.signed_by.all_of,
      anyOf: requirements.signed_by.any_of,
    },
    units: resources.map(({ resource: { id, cpu, gpu, memory, storage, endpoints }, count, price }) => ({
      ...{ id, count, price: { denom: price.denom, amount: parseDecimal(price.amount) } },
      cpu: { milli: BigInt(cpu.units.val), attributes: cpu.attributes },
      gpu: { count: BigInt(gpu.units.val), attributes: gpu.attributes },
      memory: { bytes: BigInt(memory.quantity.val), attributes: memory.attributes },
      storage: storage.map(({ name, quantity, attributes }) => ({ name, bytes: BigInt(quantity.val), attributes })),
      endpoints: endpoints.map(({ kind, sequence_number: sequenceNumber }) => ({
        kind: kind.toLowerCase().replace("_", "-") as EndpointKind,
        sequenceNumber,
      })),
    })),
  }));
}
