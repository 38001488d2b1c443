/** The operator's gRPC listener, from which the provider reads. */
import type { Clock } from "../../../runtime/clock.ts";
import { createGrpcServer } from "../../../runtime/grpc/grpc-server.ts";
import { type Health, healthFile, healthMethods } from "../../../runtime/grpc/health.ts";
import { methodsOf } from "../../../runtime/grpc/methods.ts";
import { symbolsOf } from "../../../runtime/grpc/proto-file.ts";
import { reflectionMethods } from "../../../runtime/grpc/reflection.ts";
import { limits } from "../../../runtime/limits.ts";
import type { Log } from "../../../runtime/log.ts";
import { inventoryMethods } from "./inventory-methods.ts";
import { inventoryFile } from "./inventory-proto.ts";
import type { Publisher } from "./publisher.ts";

export interface GrpcOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface GrpcListener {
  readonly port: number;
  readonly connections: number;
  /** Calls that are told of each change. */
  readonly streams: number;
  close(): Promise<void>;
}

export async function startGrpc(publisher: Publisher, options: GrpcOptions): Promise<GrpcListener> {
  const { host, clock, log } = options;
  const known = new Set(["", ...symbolsOf(inventoryFile).services]);
  const health: Health = {
    serving: (service) => (known.has(service) ? publisher.told !== undefined : undefined),
    async changed(signal) {
      await publisher.next(publisher.told, signal);
    },
  };
  const server = createGrpcServer({
    methods: methodsOf(
      new Map([
        ...inventoryMethods(publisher),
        ...healthMethods(health),
        ...reflectionMethods([inventoryFile, healthFile]),
      ]),
    ),
    bounds: {
      connections: limits.inventoryConnections,
      calls: limits.inventoryCalls,
      streams: limits.inventoryStreams,
      requestBytes: limits.inventoryRequestBytes,
    },
    clock,
    log,
  });
  const names = { what: "the inventory over gRPC", setting: "--grpc-port" };
  const port = await server.listen({ host, port: options.port, ...names });
  return {
    port,
    get connections() {
      return server.connections;
    },
    get streams() {
      return server.streams;
    },
    close: () => server.stop(),
  };
}
