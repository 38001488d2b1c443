/** The health service that gRPC clients, probes and load balancers know: grpc.health.v1.Health. */
import { int32, messageOf, optional, text } from "../protobuf.ts";
import { GrpcRefusal, grpcCodes, readRequest } from "./grpc-status.ts";
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
