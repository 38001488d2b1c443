/** grpc.reflection v1 and v1alpha: the services and the descriptors of their files, as `grpcurl -plaintext HOST:PORT list` needs them. */
import { bytes, type Decoded, int32, messageOf, optional, plain, repeated, required, text } from "../protobuf.ts";
import {
  grpcHealthV1HealthCheckRequest as checkRequest,
  grpcHealthV1HealthCheckResponse as checkResponse,
  grpcReflectionV1alphaReflectionFile,
  grpcReflectionV1ReflectionFile,
} from "./akash-proto.ts";
import { GrpcError, grpcCodes, readRequest } from "./grpc-status.ts";
import type { GrpcMethod } from "./methods.ts";
import { descriptorOf, type ProtoFile, symbolsOf, withImports } from "./proto-file.ts";

export function reflectionMethods(served: readonly ProtoFile[]): [path: string, method: GrpcMethod][] {
  const own = [grpcReflectionV1ReflectionFile, grpcReflectionV1alphaReflectionFile];
  const files = new Map<string, ProtoFile>();
  for (const file of [...served, ...own].flatMap(withImports)) files.set(file.name, file);
  const services = [...files.values()].flatMap((file) => symbolsOf(file).services).sort();
  const bySymbol = new Map([...files.values()].flatMap((file) => symbolsOf(file).all.map((name) => [name, file])));
  /** With their imports. Made once per file, since any client may ask without end. */
  const descriptors = new Map<ProtoFile, Uint8Array[]>();

  function answerTo(request: Uint8Array): Uint8Array {
    const { host = "", ...query } = readRequest("ServerReflectionRequest", requestCodec, request);
    const answer = ({ files, services, error }: Partial<Decoded<typeof responseCodec>>) =>
      responseCodec.encode({ validHost: host, originalRequest: request, files, services, error });
    if (query.services !== undefined) return answer({ services: { service: services.map((name) => ({ name })) } });
    const file = files.get(query.file ?? "") ?? bySymbol.get(query.symbol ?? "");
    if (!file) {
      // proto3 has no extensions.
      const what = ["file" as const, "symbol" as const].find((each) => query[each] !== undefined);
      const message = `unknown ${what ?? "extension"}: ${(what && query[what]) ?? ""}`;
      return answer({ error: { code: grpcCodes.NotFound, message } });
    }
    const descriptor = descriptors.get(file) ?? withImports(file).toReversed().map(descriptorOf);
    descriptors.set(file, descriptor);
    return answer({ files: { descriptor } });
  }

  const info: GrpcMethod = {
    kind: "conversation",
    async *answers(requests) {
      for await (const request of requests) yield answerTo(request);
    },
  };
  return own.flatMap((file) => symbolsOf(file).services.map((name) => [`/${name}/ServerReflectionInfo`, info]));
}

const requestCodec = messageOf({
  host: optional(1, text),
  file: optional(3, text),
  symbol: optional(4, text),
  services: optional(7, text),
});

const responseCodec = messageOf({
  validHost: plain(1, text, ""),
  originalRequest: required(2, bytes, new Uint8Array()),
  files: optional(4, messageOf({ descriptor: repeated(1, bytes) })),
  services: optional(6, messageOf({ service: repeated(1, messageOf({ name: required(1, text, "") })) })),
  error: optional(7, messageOf({ code: int32(1), message: required(2, text, "") })),
});

/** The service grpc.health.v1.Health. */
export interface Health {
  /** Undefined when there is no such service; the empty name stands for the whole server. */
  serving(service: string): boolean | undefined;
  /** Resolves when any answer may have changed; rejects when the signal is aborted. */
  changed(signal: AbortSignal): Promise<void>;
}

const statuses = { serving: 1, notServing: 2, serviceUnknown: 3 } as const;

export function healthMethods(health: Health): [path: string, method: GrpcMethod][] {
  const statusOf = (service: string) => {
    const serving = health.serving(service);
    if (serving === undefined) return statuses.serviceUnknown;
    return serving ? statuses.serving : statuses.notServing;
  };

  const check: GrpcMethod = {
    kind: "unary",
    answer(request) {
      const service = serviceIn(request);
      const status = statusOf(service);
      if (status === statuses.serviceUnknown) {
        throw new GrpcError(grpcCodes.NotFound, `unknown service ${service}`);
      }
      return { message: checkResponse.encode({ status }) };
    },
  };
  const watch: GrpcMethod = {
    kind: "stream",
    async *answers(request, { signal }) {
      const service = serviceIn(request);
      for (let sent: number | undefined; ; ) {
        const changed = health.changed(signal);
        // Rejects too when the client leaves before it has read the last status.
        changed.catch(() => undefined);
        const status = statusOf(service);
        if (status !== sent) yield checkResponse.encode({ status });
        sent = status;
        await changed;
      }
    },
  };
  return [
    ["/grpc.health.v1.Health/Check", check],
    ["/grpc.health.v1.Health/Watch", watch],
  ];
}

function serviceIn(request: Uint8Array): string {
  return readRequest("HealthCheckRequest", checkRequest, request).service;
}
