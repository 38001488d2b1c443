/**
 * A client of @connectrpc/connect that knows nothing of us beforehand: as grpcurl does, it requests by reflection what there is, and
 * has its services and messages from the answer.
 */
import assert from "node:assert/strict";
import { create, createFileRegistry, type FileRegistry, fromBinary, fromJson, toJson } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { type CallOptions, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { bytes, messageOf, optional, plain, repeated, text } from "../../src/runtime/protobuf.ts";
import { openGrpcClient } from "./grpc-client.ts";
import type { Owner } from "./owner.ts";

interface Connecting {
  readonly grpcPort: number;
  readonly authorization?: string;
  readonly certificate?: { readonly cert: string; readonly key: string };
}

const request = messageOf({ host: plain(1, text, ""), symbol: optional(4, text), list: optional(7, text) });
const response = messageOf({
  files: optional(4, messageOf({ file: repeated(1, bytes) })),
  services: optional(6, messageOf({ service: repeated(1, messageOf({ name: plain(1, text, "") })) })),
});

interface Reflected {
  readonly services: readonly string[];
  readonly registry: FileRegistry;
}

/** The services that a server says it has, and what they are made of. */
export async function reflect(owner: Owner, { grpcPort }: Connecting, version = "v1"): Promise<Reflected> {
  const client = openGrpcClient(owner, `https://127.0.0.1:${grpcPort}`, { rejectUnauthorized: false });
  const ask = async (requested: { symbol?: string; list?: string }) => {
    const bytes = request.encode({ host: "", symbol: requested.symbol, list: requested.list });
    const reply = await client.call(`/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`, bytes);
    assert.equal(reply.status, 0, reply.words);
    return response.decode(reply.message);
  };
  const services = (await ask({ list: "*" })).services?.service.map(({ name }) => name) ?? [];
  const files = new Map<string, Uint8Array>();
  for (const symbol of services) {
    for (const file of (await ask({ symbol })).files?.file ?? []) {
      files.set(fromBinary(FileDescriptorProtoSchema, file).name, file);
    }
  }
  const file = [...files.values()].map((each) => fromBinary(FileDescriptorProtoSchema, each));
  return { services, registry: createFileRegistry(create(FileDescriptorSetSchema, { file: inOrder(file) })) };
}

type Json = Readonly<Record<string, unknown>>;
type Methods = Record<string, (request: object, options?: CallOptions) => unknown>;

/** Calls methods by their names, like "ServiceStatus"; messages are JSON here, as a person would write and read them. */
export function connectTo({ grpcPort, authorization, certificate }: Connecting, { registry }: Reflected, name: string) {
  const service = registry.getService(name);
  assert.ok(service, `${name} is reported of by reflection`);
  const transport = createGrpcTransport({
    baseUrl: `https://127.0.0.1:${grpcPort}`,
    nodeOptions: { rejectUnauthorized: false, ...certificate },
  });
  const client = createClient(service, transport) as unknown as Methods;
  const headers = authorization === undefined ? {} : { authorization };

  function prepare(method: string, request: Json) {
    const found = service?.methods.find((each) => each.name === method);
    assert.ok(found, `${name} has ${method}`);
    const shown = (message: unknown) => toJson(found.output, message as never, { registry, alwaysEmitImplicit: true });
    const message = fromJson(found.input, request as never, { registry });
    return { shown, call: client[found.localName], message, isConversation: found.methodKind === "bidi_streaming" };
  }

  return {
    methods: service.methods,
    async unary(method: string, request: Json = {}): Promise<Json> {
      const { call, message, shown } = prepare(method, request);
      return shown(await call?.(message, { headers })) as Json;
    },
    async *stream(method: string, request: Json = {}, signal?: AbortSignal): AsyncGenerator<Json> {
      const { call, message, shown, isConversation } = prepare(method, request);
      const requested = isConversation ? once(message) : message;
      const answers = call?.(requested, { headers, ...(signal && { signal }) }) as AsyncIterable<unknown>;
      for await (const answer of answers) yield shown(answer) as Json;
    },
  };
}

async function* once<T>(item: T): AsyncGenerator<T> {
  yield item;
}

/** Those that are imported first, as a compiler would give them. */
function inOrder<File extends { readonly name: string; readonly dependency: readonly string[] }>(
  files: File[],
): File[] {
  const ordered = new Set<File>();
  const add = (file: File | undefined): void => {
    if (!file || ordered.has(file)) return;
    for (const name of file.dependency) add(files.find((each) => each.name === name));
    ordered.add(file);
  };
  for (const file of files) add(file);
  return [...ordered];
}
