/** gRPC as tenants and their tools reach it: behind our own certificate, which is on the chain, and asking for theirs. */
import { createServer } from "node:net";
import type { RequestBudget } from "../../runtime/byte-budget.ts";
import type { Clock } from "../../runtime/clock.ts";
import { grpcHealthV1HealthFile } from "../../runtime/grpc/akash-proto.ts";
import { createGrpcServer } from "../../runtime/grpc/grpc-server.ts";
import { type GrpcMethod, methodsOf } from "../../runtime/grpc/methods.ts";
import { type ProtoFile, symbolsOf } from "../../runtime/grpc/proto-file.ts";
import { type Health, healthMethods, reflectionMethods } from "../../runtime/grpc/reflection.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import type { ListenAddress } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";
import { type CertificateSource, noCertificate } from "../certificate/file-certificate.ts";
import { createConnections, listenerConnections } from "../rest/connections.ts";
import { type ProxyOptions, rateLimitKeyOf } from "../rest/rate-limit-key.ts";
import type { RejectionReason } from "../rest/server.ts";
import { createTlsFront, type HandshakeFailure } from "../rest/tls-front.ts";

const gatewayGrpcCalls = 256;
const gatewayGrpcStreams = 2_048;
/** Of them, those from one place: a console that follows all of its providers has one of each. */
const gatewayGrpcStreamsOfPlace = 256;
/** So many one place has also while others have all of them: status and logs of a lease, and the provider's status. */
const gatewayGrpcStreamsAssured = 4;
/** What the network's gateway takes, and Go clients expect to be taken. */
export const gatewayGrpcRequestBytes = 4 * 2 ** 20;

export interface GrpcService {
  readonly file: ProtoFile;
  readonly methods: readonly (readonly [path: string, method: GrpcMethod])[];
}

interface GrpcGatewayDeps extends ProxyOptions {
  readonly listen: ListenAddress;
  readonly own: CertificateSource;
  readonly services: readonly GrpcService[];
  readonly budget: RequestBudget;
  readonly clock: Clock;
  readonly log: Log;
  readonly onHandshakeFailure: (reason: HandshakeFailure) => void;
  readonly onRefusal: (reason: RejectionReason) => void;
}

export type GrpcGateway = Awaited<ReturnType<typeof startGrpcGateway>>;

export async function startGrpcGateway(deps: GrpcGatewayDeps) {
  const { services, budget, clock, log } = deps;
  const connections = createConnections({
    ...{ protocol: "grpc", budget, clock, onRefusal: deps.onRefusal },
    onIdle: (socket) => server.leave(socket),
  });
  const files = services.map(({ file }) => file);
  const known = new Set(["", ...files.flatMap((file) => symbolsOf(file).services)]);
  const health: Health = {
    serving: (service) => (known.has(service) ? true : undefined),
    // Who is answered at all is answered well; what is known of chain and cluster is told with each answer.
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
        ...{ of: rateLimitKeyOf, streams: gatewayGrpcStreamsOfPlace, budget },
        assuredStreams: gatewayGrpcStreamsAssured,
      },
    },
    front(accept) {
      const front = createTlsFront({
        ...deps,
        ...{ public: noCertificate, publicHost: undefined, protocols: ["h2"], connections },
        onFailure: deps.onHandshakeFailure,
        onSecure(socket, below) {
          // As the network's gateway, which says nothing to those who would speak anything else.
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
    onPingFlood: () => deps.onRefusal("pings"),
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
