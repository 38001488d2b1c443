/**
 * A manifest that came over gRPC as the JSON that the tenant's tool would have sent, which has the same hash. One thing does not travel:
 * whether a list without items was given empty or not at all. It is taken for what the network's tools make of an SDL that
 * does not name it.
 */
import type {
  manifestV2beta3Group,
  manifestV2beta3Service,
  manifestV2beta3ServiceExpose,
  manifestV2beta3ServiceParams,
  resourcesV1beta4Resources,
  resourcesV1beta4ResourceValue,
} from "../../runtime/grpc/akash-proto.ts";
import type { Decoded } from "../../runtime/protobuf.ts";

export function manifestText(groups: readonly Decoded<typeof manifestV2beta3Group>[]): string {
  return JSON.stringify(groups.map(({ name, services }) => ({ name, services: services.map(serviceJson) })));
}

function serviceJson(service: Decoded<typeof manifestV2beta3Service>) {
  const { command, args, env, resources, expose, params } = service;
  return {
    ...service,
    ...{ command: given(command), args: given(args), env: given(env) },
    resources: resources && resourcesJson(resources),
    expose: expose.map(exposeJson),
    params: params && paramsJson(params),
  };
}

function resourcesJson({ id, cpu, memory, storage, gpu, endpoints }: Decoded<typeof resourcesV1beta4Resources>) {
  return {
    id,
    cpu: cpu && { ...cpu, units: amount(cpu.units) },
    memory: memory && { attributes: memory.attributes, size: amount(memory.quantity) },
    storage: storage.map(({ name, quantity, attributes }) => ({ name, attributes, size: amount(quantity) })),
    gpu: gpu && { ...gpu, units: amount(gpu.units) },
    endpoints: endpoints.map(({ kind, sequenceNumber }) => ({ kind, sequence_number: sequenceNumber })),
  };
}

function exposeJson(expose: Decoded<typeof manifestV2beta3ServiceExpose>) {
  return { ...expose, hosts: given(expose.hosts) };
}

function paramsJson(params: Decoded<typeof manifestV2beta3ServiceParams>) {
  return { ...params, storage: given(params.storage) };
}

/** Amounts travel as the digits of a text. Bytes that are none are refused as such a text is. */
function amount(value: Decoded<typeof resourcesV1beta4ResourceValue> | undefined) {
  return value && { val: Buffer.from(value.val).toString("latin1") || "0" };
}

function given<T>(list: readonly T[]): readonly T[] | null {
  return list.length > 0 ? list : null;
}
