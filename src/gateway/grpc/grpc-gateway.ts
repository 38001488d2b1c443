/** The gRPC server for tenants: with the provider's certificate on the chain, and requesting the client's. */
import { createServer } from "node:net";
import { grpcHealthV1HealthFile } from "../../runtime/grpc/akash-proto.ts";
import { createGrpcServer } from "../../runtime/grpc/grpc-server.ts";
import { type GrpcMethod, methodsOf } from "../../runtime/grpc/methods.ts";
import { type ProtoFile, symbolsOf } from "../../runtime/grpc/proto-file.ts";
import { type Health, healthMethods, reflectionMethods } from "../../runtime/grpc/reflection.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import { type CertificateSource, noCertificate } from "../certificate/file-certificate.ts";
import { createConnections, listenerConnections } from "../rest/connections.ts";
import { rateLimitKeyOf } from "../rest/rate-limit-key.ts";
import type { GatewayServerDeps } from "../rest/server.ts";
import { createTlsFront } from "../rest/tls-front.ts";

const gatewayGrpcCalls = 256;
const gatewayGrpcStreams = 2_048;
/** Per client: a console has one to each of its providers. */
const gatewayGrpcStreamsPerClient = 256;
/** Available to each client although others use up the total: status and logs of a lease, and the provider's status. */
const gatewayGrpcStreamsAssured = 4;
/** As the Go provider accepts, and Go clients expect. */
export const gatewayGrpcRequestBytes = 4 * 2 ** 20;

export interface GrpcService {
  readonly file: ProtoFile;
  readonly methods: readonly (readonly [path: string, method: GrpcMethod])[];
}

interface GrpcGatewayDeps extends GatewayServerDeps {
  readonly own: CertificateSource;
  readonly services: readonly GrpcService[];
}

export type GrpcGateway = Awaited<ReturnType<typeof startGrpcGateway>>;

export async function startGrpcGateway(deps: GrpcGatewayDeps) {
  const { services, budget, clock, log } = deps;
  const connections = createConnections({
    ...{ protocol: "grpc", budget, clock, onRejection: deps.onRejection },
    onIdle: (socket) => server.leave(socket),
  });
  const files = services.map(({ file }) => file);
  const known = new Set(["", ...files.flatMap((file) => symbolsOf(file).services)]);
  const health: Health = {
    serving: (service) => (known.has(service) ? true : undefined),
    // A server that responds is healthy; the status reports what is stale.
    async changed(signal) {
      await untilAborted(signal);
      signal.throwIfAborted();
    },
  };
  const server = createGrpcServer({
    methods: methodsOf(
      new Map([
        ...services.flatMap(({ methods }) => methods),
        ...healthMethods(health),
        ...reflectionMethods([...files, grpcHealthV1HealthFile]),
      ]),
    ),
    bounds: {
      connections: listenerConnections("grpc"),
      calls: gatewayGrpcCalls,
      streams: gatewayGrpcStreams,
      requestBytes: gatewayGrpcRequestBytes,
      clients: {
        ...{ of: rateLimitKeyOf, streams: gatewayGrpcStreamsPerClient, budget },
        assuredStreams: gatewayGrpcStreamsAssured,
      },
    },
    front(accept) {
      const front = createTlsFront({
        ...deps,
        ...{ public: noCertificate, publicHost: undefined, protocols: ["h2"], connections },
        onFailure: deps.onHandshakeFailure,
        onSecure(socket, below) {
          // As the Go provider, which closes connections with another protocol.
          if (socket.alpnProtocol !== "h2") {
            socket.destroy();
            return;
          }
          connections.hold(socket, below);
          if (!socket.destroyed) accept(socket);
        },
      });
      return createServer({ noDelay: true }, (socket) => {
        socket.on("error", (error) => log.debug("connection failed", { reason: error.message }));
        front(socket);
      });
    },
    connections,
    onPingFlood: () => deps.onRejection("pings"),
    ...{ clock, log },
  });
  const port = await server.listen({
    ...deps.listen,
    ...{ what: "the gateway over gRPC", setting: "--gateway-grpc-listen-address" },
  });
  connections.watch();
  return {
    port,
    get connections() {
      return connections.count;
    },
    get streams() {
      return server.streams;
    },
    ends: server.ends,
    close(): Promise<void> {
      connections.close();
      return server.stop();
    },
  };
}
