/** gRPC of an operator: its own service, health and reflection. */
import type { Clock } from "../../runtime/clock.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { grpcHealthV1HealthFile } from "../../runtime/grpc/akash-proto.ts";
import { createGrpcServer, type GrpcServer } from "../../runtime/grpc/grpc-server.ts";
import { type GrpcMethod, methodsOf } from "../../runtime/grpc/methods.ts";
import { type ProtoFile, symbolsOf } from "../../runtime/grpc/proto-file.ts";
import { healthMethods, reflectionMethods } from "../../runtime/grpc/reflection.ts";
import type { ListenAddress } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";

/** Concurrent streams of changes: a provider, its standby and observers. */
const operatorStreams = 64;
/** Connections to one of the two listeners. */
export const operatorConnections = 256;
/** Requests are empty, or name a service. */
export const operatorRequestBytes = 4_096;

export interface OperatorGrpcOptions extends ListenAddress {
  readonly what: string;
  readonly methods: Iterable<readonly [path: string, method: GrpcMethod]>;
  readonly file: ProtoFile;
  readonly serving: () => boolean;
  /** Resolves when `serving` may have changed; rejects when the signal is aborted. */
  readonly changed: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface GrpcListener extends Pick<GrpcServer, "accept"> {
  readonly port: number;
  readonly streams: number;
  close(): Promise<void>;
}

export async function startOperatorGrpc(options: OperatorGrpcOptions): Promise<GrpcListener> {
  const { host, port: wanted, what, methods, file, serving, changed, clock, log } = options;
  const known = new Set(["", ...symbolsOf(file).services]);
  const health = { serving: (service: string) => (known.has(service) ? serving() : undefined), changed };
  const server = createGrpcServer({
    methods: methodsOf(
      new Map([...methods, ...healthMethods(health), ...reflectionMethods([file, grpcHealthV1HealthFile])]),
    ),
    bounds: {
      connections: operatorConnections,
      calls: 100,
      streams: operatorStreams,
      requestBytes: operatorRequestBytes,
    },
    clock,
    log,
  });
  const port = await server.listen({ host, port: wanted, what, setting: "--grpc-port" });
  return {
    port,
    get streams() {
      return server.streams;
    },
    accept: server.accept,
    close: () => server.stop(),
  };
}

/** Wakes the streams that wait for the next change. */
export function createChangeSignal() {
  let change = Promise.withResolvers<void>();
  return {
    notify(): void {
      change.resolve();
      change = Promise.withResolvers();
    },
    next: (signal: AbortSignal): Promise<void> => endedBy(change.promise, signal),
  };
}

export function unary(message: (request: Uint8Array) => Uint8Array): GrpcMethod {
  return { kind: "unary", answer: (request) => ({ message: message(request) }) };
}
