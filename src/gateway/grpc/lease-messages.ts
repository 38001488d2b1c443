/** Manifests as JSON with the same hash: empty lists, which protobuf does not encode, become null as in the network's tools. */

import type { PodLine } from "../../kube/tenant-access.ts";
import {
  type manifestV2beta3Group,
  type manifestV2beta3Service,
  providerLeaseV1ServiceLogsResponse,
  type resourcesV1beta4Resources,
  type resourcesV1beta4ResourceValue,
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
    expose: expose.map((each) => ({ ...each, hosts: given(each.hosts) })),
    params: params && { ...params, storage: given(params.storage) },
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

/** Amounts are encoded as decimal digits; other bytes fail where the JSON is parsed. */
function amount(value: Decoded<typeof resourcesV1beta4ResourceValue> | undefined) {
  return value && { val: Buffer.from(value.val).toString("latin1") || "0" };
}

function given<T>(list: readonly T[]): readonly T[] | null {
  return list.length > 0 ? list : null;
}

// Logs: an entry has the name of a service and lines of one pod; long ones continue in the next message.

interface Entry {
  readonly name: string;
  readonly logs: Uint8Array;
}

/** Encoding overhead of an entry: it dominates when short lines of two pods alternate. */
const entryBytes = 12;

/** A batch as one message, or as several where it is too large. */
export function* logsMessages(lines: readonly PodLine[], mostBytes: number): Generator<Uint8Array> {
  let entries: Entry[] = [];
  let left = mostBytes;
  for (const { service: name, texts } of runsOf(lines)) {
    for (let rest: Uint8Array = Buffer.from(texts); rest.length > 0; ) {
      const logs = rest.subarray(0, left);
      entries.push({ name, logs });
      rest = rest.subarray(logs.length);
      left -= logs.length + name.length + entryBytes;
      if (left > 0) continue;
      yield encode(entries);
      [entries, left] = [[], mostBytes];
    }
  }
  if (entries.length > 0) yield encode(entries);
}

/** Collects the ends of all logs for one message. Each pod has the same share. */
export function gatherLogs(mostBytes: number) {
  const pods = new Map<string, { readonly service: string; readonly chunks: Buffer[]; bytes: number }>();
  const share = () => Math.floor(mostBytes / pods.size);

  return {
    add(lines: readonly PodLine[]): void {
      for (const { pod, service, texts } of runsOf(lines)) {
        const end = pods.get(pod) ?? { service, chunks: [], bytes: 0 };
        pods.set(pod, end);
        const chunk = Buffer.from(texts);
        end.chunks.push(chunk);
        end.bytes += chunk.length;
        while (end.bytes - (end.chunks[0]?.length ?? 0) >= share()) end.bytes -= end.chunks.shift()?.length ?? 0;
      }
    },
    message(): Uint8Array {
      const inOrder = [...pods].sort(([a], [b]) => (a < b ? -1 : 1));
      return encode(inOrder.map(([, { service, chunks }]) => ({ name: service, logs: lastLines(chunks, share()) })));
    },
  };
}

/** From the beginning of a line, unless there is only one. */
function lastLines(chunks: readonly Buffer[], mostBytes: number): Uint8Array {
  const all = Buffer.concat(chunks);
  if (all.length <= mostBytes) return all;
  const lineEnd = all.indexOf("\n", all.length - mostBytes - 1);
  return all.subarray(lineEnd < all.length - 1 ? lineEnd + 1 : all.length - mostBytes);
}

function runsOf(lines: readonly PodLine[]) {
  const runs: { readonly pod: string; readonly service: string; texts: string }[] = [];
  for (const { pod, service, text } of lines) {
    const last = runs.at(-1);
    if (last?.pod === pod) last.texts += `${text}\n`;
    else runs.push({ pod, service, texts: `${text}\n` });
  }
  return runs;
}

function encode(services: Entry[]): Uint8Array {
  return providerLeaseV1ServiceLogsResponse.encode({ services });
}
