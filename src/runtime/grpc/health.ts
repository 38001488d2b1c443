/** The health service that gRPC clients, probes and load balancers know: grpc.health.v1.Health. */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { reasonOf } from "../errors.ts";
import { GrpcRefusal, grpcCodes } from "./grpc-status.ts";
import type { GrpcMethod } from "./methods.ts";
import type { ProtoFile } from "./proto-file.ts";

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
      const service = readService(request);
      const status = statusOf(service);
      if (status === statuses.serviceUnknown) {
        throw new GrpcRefusal(grpcCodes.NotFound, `unknown service ${service}`);
      }
      return { message: writeStatus(status) };
    },
  };
  const watch: GrpcMethod = {
    kind: "stream",
    async *answers(request, { signal }) {
      const service = readService(request);
      for (let told: number | undefined; ; ) {
        const changed = health.changed(signal);
        const status = statusOf(service);
        if (status !== told) yield writeStatus(status);
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

const serviceField = 1;
const statusField = 1;

function readService(request: Uint8Array): string {
  let service = "";
  try {
    const reader = new BinaryReader(request);
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      if (number === serviceField && wireType === WireType.LengthDelimited) service = reader.string();
      else reader.skip(wireType, number);
    }
  } catch (thrown) {
    throw new GrpcRefusal(grpcCodes.InvalidArgument, `this is no HealthCheckRequest: ${reasonOf(thrown)}`);
  }
  return service;
}

function writeStatus(status: number): Uint8Array {
  return new BinaryWriter().tag(statusField, WireType.Varint).int32(status).finish();
}
