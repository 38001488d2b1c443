/** grpc.reflection v1 and v1alpha: the services and the descriptors of their files, as `grpcurl -plaintext HOST:PORT list` needs them. */
import { bytes, type Decoded, int32, messageOf, optional, plain, repeated, required, text } from "../protobuf.ts";
import { GrpcRefusal, grpcCodes, readRequest } from "./grpc-status.ts";
import type { GrpcMethod } from "./methods.ts";
import { descriptorOf, type ProtoFile, symbolsOf, withImports } from "./proto-file.ts";

export function reflectionMethods(served: readonly ProtoFile[]): [path: string, method: GrpcMethod][] {
  const own = ["v1", "v1alpha"].map(reflectionFile);
  const files = new Map<string, ProtoFile>();
  for (const file of [...served, ...own].flatMap(withImports)) files.set(file.name, file);
  const services = [...files.values()].flatMap((file) => symbolsOf(file).services).sort();
  const bySymbol = new Map([...files.values()].flatMap((file) => symbolsOf(file).all.map((name) => [name, file])));

  const described = new Map<ProtoFile, Uint8Array[]>();

  /** With those it needs, so that nobody has to come back for them. Strangers may ask without end: it is made once. */
  function descriptorsOf(file: ProtoFile): Uint8Array[] {
    const made = described.get(file) ?? withImports(file).toReversed().map(descriptorOf);
    described.set(file, made);
    return made;
  }

  function answerTo(request: Uint8Array): Uint8Array {
    const { host = "", ...asked } = readRequest("ServerReflectionRequest", requestCodec, request);
    const answer = ({ files, services, error }: Partial<Decoded<typeof responseCodec>>) =>
      responseCodec.encode({ validHost: host, originalRequest: request, files, services, error });
    if (asked.services !== undefined) return answer({ services: { service: services.map((name) => ({ name })) } });
    const file = files.get(asked.file ?? "") ?? bySymbol.get(asked.symbol ?? "");
    if (!file) {
      // Nothing of ours has extensions, which belong to the language before this one.
      const what = ["file" as const, "symbol" as const].find((each) => asked[each] !== undefined);
      const message = `unknown ${what ?? "extension"}: ${(what && asked[what]) ?? ""}`;
      return answer({ error: { code: grpcCodes.NotFound, message } });
    }
    return answer({ files: { descriptor: descriptorsOf(file) } });
  }

  const info: GrpcMethod = {
    kind: "conversation",
    async *answers(requests) {
      for await (const request of requests) yield answerTo(request);
    },
  };
  return own.flatMap((file) => symbolsOf(file).services.map((name) => [`/${name}/ServerReflectionInfo`, info]));
}

function reflectionFile(version: string): ProtoFile {
  return {
    name: `grpc/reflection/${version}/reflection.proto`,
    package: `grpc.reflection.${version}`,
    messages: {
      ServerReflectionRequest: [
        "string host = 1",
        "string file_by_filename = 3",
        "string file_containing_symbol = 4",
        "ExtensionRequest file_containing_extension = 5",
        "string all_extension_numbers_of_type = 6",
        "string list_services = 7",
      ],
      ExtensionRequest: ["string containing_type = 1", "int32 extension_number = 2"],
      ServerReflectionResponse: [
        "string valid_host = 1",
        "ServerReflectionRequest original_request = 2",
        "FileDescriptorResponse file_descriptor_response = 4",
        "ExtensionNumberResponse all_extension_numbers_response = 5",
        "ListServiceResponse list_services_response = 6",
        "ErrorResponse error_response = 7",
      ],
      FileDescriptorResponse: ["repeated bytes file_descriptor_proto = 1"],
      ExtensionNumberResponse: ["string base_type_name = 1", "repeated int32 extension_number = 2"],
      ListServiceResponse: ["repeated ServiceResponse service = 1"],
      ServiceResponse: ["string name = 1"],
      ErrorResponse: ["int32 error_code = 1", "string error_message = 2"],
    },
    services: {
      ServerReflection: [
        "ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse)",
      ],
    },
  };
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

/** The health service that gRPC clients, probes and load balancers know: grpc.health.v1.Health. */
export interface Health {
  /** Undefined when there is no such service; the empty name stands for the whole server. */
  serving(service: string): boolean | undefined;
  /** Resolves when any answer may have changed; rejects when the signal is aborted. */
  changed(signal: AbortSignal): Promise<void>;
}

export const healthFile: ProtoFile = {
  name: "grpc/health/v1/health.proto",
  package: "grpc.health.v1",
  messages: { HealthCheckRequest: ["string service = 1"], HealthCheckResponse: ["ServingStatus status = 1"] },
  enums: { ServingStatus: ["UNKNOWN = 0", "SERVING = 1", "NOT_SERVING = 2", "SERVICE_UNKNOWN = 3"] },
  services: {
    Health: [
      "Check(HealthCheckRequest) returns (HealthCheckResponse)",
      "Watch(HealthCheckRequest) returns (stream HealthCheckResponse)",
    ],
  },
};

const checkRequest = messageOf({ service: optional(1, text) });
const checkResponse = messageOf({ status: int32(1) });

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
        throw new GrpcRefusal(grpcCodes.NotFound, `unknown service ${service}`);
      }
      return { message: checkResponse.encode({ status }) };
    },
  };
  const watch: GrpcMethod = {
    kind: "stream",
    async *answers(request, { signal }) {
      const service = serviceIn(request);
      for (let told: number | undefined; ; ) {
        const changed = health.changed(signal);
        // Who leaves before he has read what was said last is not waited for here.
        changed.catch(() => undefined);
        const status = statusOf(service);
        if (status !== told) yield checkResponse.encode({ status });
        told = status;
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
  return readRequest("HealthCheckRequest", checkRequest, request).service ?? "";
}
