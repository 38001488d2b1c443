/** A manifest as the network's npm package writes it for gRPC: one message for each of its groups. */
import assert from "node:assert/strict";
import { Group } from "@akashnetwork/chain-sdk/private-types/provider.akash.v2beta3";
import { manifestText } from "../../../src/gateway/grpc/lease-messages.ts";
import type { Manifest, ManifestResources } from "../../../src/market/manifest.ts";
import { readManifest } from "../../../src/market/manifest-json.ts";
import { manifestV2beta3Group } from "../../../src/runtime/grpc/akash-proto.ts";

const mostBytes = 1_000_000;

export function wireGroups(manifest: Manifest): Uint8Array[] {
  return manifest.map(({ name, services }) => {
    const message = Group.fromPartial({
      name,
      services: services.map(({ command, args, env, resources, expose, params, credentials, ...service }) => ({
        ...service,
        ...{ command: [...(command ?? [])], args: [...(args ?? [])], env: [...(env ?? [])] },
        resources: wireResources(resources),
        expose: expose.map(({ hosts, httpOptions: { nextCases = [], ...options }, ...each }) => ({
          ...each,
          hosts: [...(hosts ?? [])],
          httpOptions: { ...options, nextCases: [...nextCases] },
        })),
        params: params && {
          storage: [...(params.storage ?? [])],
          credentials: params.credentials,
          permissions: params.permissions && { read: [...(params.permissions.read ?? [])] },
        },
        credentials: credentials ?? undefined,
      })),
    });
    return Group.encode(message).finish();
  });
}

/** A manifest's JSON is read, written as gRPC has it, and read again. */
export function checkOverGrpc(text: Buffer, from: string): void {
  const { manifest, version } = readManifest(text, mostBytes);
  const groups = wireGroups(manifest).map(manifestV2beta3Group.decode);
  const read = readManifest(manifestText(groups), mostBytes);
  assert.equal(read.version(), version(), from);
  assert.equal(read.lacks.size, 0, from);
}

function wireResources({ id, cpu, memory, storage = [], gpu, endpoints }: ManifestResources) {
  return {
    id,
    cpu: { units: digits(cpu.units), attributes: [...(cpu.attributes ?? [])] },
    memory: { quantity: digits(memory.size), attributes: [...(memory.attributes ?? [])] },
    storage: storage.map(({ name, size, attributes = [] }) => ({
      ...{ name, quantity: digits(size), attributes: [...attributes] },
    })),
    gpu: { units: digits(gpu.units), attributes: [...(gpu.attributes ?? [])] },
    endpoints: endpoints.map(({ kind = 0, sequence_number: sequenceNumber }) => ({ kind, sequenceNumber })),
  };
}

function digits({ val }: { readonly val: string }): { val: Uint8Array } {
  return { val: Buffer.from(val) };
}

/** As protobuf writes it in JSON, which is not how the network's tools do. */
export function protoJson(manifest: Manifest) {
  return manifest.map(({ name, services }) => ({
    name,
    services: services.map(({ command, args, env, resources, expose, params, credentials, ...service }) => ({
      ...service,
      ...{ command: command ?? [], args: args ?? [], env: env ?? [] },
      resources: JSON.parse(JSON.stringify(wireResources(resources), base64)),
      expose: expose.map(({ hosts, ...each }) => ({ ...each, hosts: hosts ?? [] })),
      ...(params && { params: { ...params, storage: params.storage ?? [] } }),
      ...(credentials && { credentials }),
    })),
  }));
}

/** A Buffer has told how it is written before anybody else is asked. */
function base64(_: string, value: unknown): unknown {
  const { type, data } = (value ?? {}) as { type?: string; data?: number[] };
  return type === "Buffer" && data ? Buffer.from(data).toString("base64") : value;
}
