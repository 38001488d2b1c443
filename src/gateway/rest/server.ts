/** The HTTPS server for tenants, with a limit on everything that an unauthenticated client can make it hold. */
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { RequestBudget } from "../../runtime/byte-budget.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { systemCodeOf } from "../../runtime/errors.ts";
import { type ListenAddress, listen } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";
import type { CertificateSource } from "../certificate/file-certificate.ts";
import { sendError } from "./answer.ts";
import {
  type ConnectionRejection,
  createConnections,
  gatewayCheckMs,
  gatewayHeaderMs,
  gatewayIdleMs,
  listenerConnections,
} from "./connections.ts";
import type { ProxyOptions } from "./rate-limit-key.ts";
import type { Rest } from "./rest.ts";
import { createTlsFront, type HandshakeFailure } from "./tls-front.ts";

/** Until a request is received: the largest manifest over a slow line. */
const gatewayRequestMs = 60 * second;
/** How long running requests may take to finish when the server stops. */
export const gatewayDrainMs = 5 * second;

/**
 * Of the request line and all headers: a token has at most half of it. Node holds incomplete ones outside of the budget, so the
 * limit is this times the number of connections, 32 MiB per address. The Go provider accepts 1 MiB.
 */
export const headerBytes = 32 * 1024;
/** Each costs tens of bytes besides its own; browsers behind proxies send some thirty. */
const headerCount = 256;

/** What the REST and the gRPC server have in common. */
export interface GatewayServerDeps extends ProxyOptions {
  readonly listen: ListenAddress;
  readonly budget: RequestBudget;
  readonly clock: Clock;
  readonly log: Log;
  readonly onHandshakeFailure: (reason: HandshakeFailure) => void;
  readonly onRejection: (reason: RejectionReason) => void;
}

interface RestServerDeps extends GatewayServerDeps {
  readonly publicHost: string | undefined;
  readonly certificates: { readonly own: CertificateSource; readonly public: CertificateSource };
  readonly rest: Rest;
}

/** Why the gateway ended a connection after its handshake. */
export type RejectionReason = ConnectionRejection | "headers_too_large" | "malformed" | "pings" | "slow";

export type RestServer = Awaited<ReturnType<typeof startRestServer>>;

export async function startRestServer(deps: RestServerDeps) {
  const { rest, clock, log } = deps;
  const connections = createConnections({ ...deps, protocol: "rest" });
  let isClosing = false;
  const server = createServer({
    maxHeaderSize: headerBytes,
    headersTimeout: gatewayHeaderMs,
    requestTimeout: gatewayRequestMs,
    keepAliveTimeout: gatewayIdleMs,
    connectionsCheckingInterval: gatewayCheckMs,
    // Checked in rest.ts, with the response of the Go provider.
    requireHostHeader: false,
    shouldUpgradeCallback: rest.mayUpgrade,
    noDelay: true,
  });
  server.maxHeadersCount = headerCount;
  const secured = takeConnections(server);
  const onFailure = (error: Error) => log.debug("connection failed", { reason: error.message });
  const front = createTlsFront({
    ...deps,
    connections,
    own: deps.certificates.own,
    public: deps.certificates.public,
    onFailure: deps.onHandshakeFailure,
    onSecure(socket, below) {
      connections.hold(socket, below);
      // Node has a listener, but not while a socket is upgraded.
      socket.on("error", onFailure);
      secured(socket);
    },
  });
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    if (!connections.begin(request, response)) return false;
    if (isClosing) response.shouldKeepAlive = false;
    return true;
  };
  const answer = (...[request, response, how]: Parameters<Rest>) => {
    if (begin(request, response)) connections.keepUntil(request, rest(request, response, how));
  };

  function upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const response = new ServerResponse(request);
    // A WebSocket cannot begin behind a pending response.
    if (!connections.begin(request, response, 1)) return;
    const take = attach(response, socket, () => {
      if (head.length > 0) socket.unshift(head);
      secured(socket);
    });
    const taken = () => {
      take();
      connections.handOver(socket);
      return socket;
    };
    connections.keepUntil(request, rest(request, response, { upgrade: { head, take: taken } }));
  }
  server.on("connection", (socket) => {
    socket.on("error", onFailure);
    front(socket);
  });
  server.on("request", (request, response) => answer(request, response));
  server.on("checkContinue", (request, response) => answer(request, response, { awaitsContinue: true }));
  // Node's default handler does not limit how many wait.
  server.on("checkExpectation", (request, response) => {
    if (begin(request, response)) response.writeHead(417).end();
  });
  server.on("upgrade", (request, socket, head) => upgrade(request, socket as Socket, head));
  server.on("clientError", (error, socket) => rejectMalformed(error, socket as Socket, deps));

  const listener = await listen(server, {
    ...deps.listen,
    ...{ what: "the gateway", setting: "--gateway-listen-address" },
    ...{ connections: listenerConnections("rest"), log },
  });
  connections.watch();
  return {
    port: listener.port,
    url: listener.url.replace("http:", "https:"),
    get connections() {
      return connections.count;
    },
    /** Stops listening, drains running requests, and ends the rest. */
    async close(): Promise<void> {
      isClosing = true;
      for (const response of connections.answering()) response.shouldKeepAlive = false;
      await listener.close(async () => {
        server.closeIdleConnections();
        const deadlineMs = clock.monotonicMs() + gatewayDrainMs;
        const areBusy = () => connections.answering().length + connections.handedOver > 0;
        while (areBusy() && clock.monotonicMs() < deadlineMs) await sleep(clock, drainCheckMs);
      });
      connections.close();
    },
  };
}

const drainCheckMs = 20;

/** The server must listen, as its timers for slow headers run only then, but gets connections after the TLS handshake. */
function takeConnections(server: Server): (socket: Socket) => void {
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  return (socket) => {
    for (const listener of listeners) listener.call(server, socket);
  };
}

/** Writes a response to a connection that Node has released for an upgrade, then hands it back. Returns a function to detach it early. */
function attach(response: ServerResponse, socket: Socket, handBack: () => void): () => void {
  const detach = () => {
    response.detachSocket(socket);
    response.emit("close");
  };
  response.assignSocket(socket);
  response.once("finish", () => {
    detach();
    if (!response.shouldKeepAlive) {
      socket.destroySoon();
      return;
    }
    // Node leaves its own behind and adds them again.
    for (const event of ["pause", "resume"]) socket.removeAllListeners(event);
    handBack();
  });
  return detach;
}

function rejectMalformed(error: Error, socket: Socket, deps: Pick<RestServerDeps, "clock" | "onRejection">): void {
  const code = systemCodeOf(error) ?? "";
  const isTooLarge = code === "HPE_HEADER_OVERFLOW";
  if (!code.startsWith("HPE_")) {
    if (code === "ERR_HTTP_REQUEST_TIMEOUT") deps.onRejection("slow");
    socket.destroy();
    return;
  }
  // An error was sent already, and the parser continues.
  if (socket.writableEnded) return;
  deps.onRejection(isTooLarge ? "headers_too_large" : "malformed");
  sendError(socket, isTooLarge ? "431 Request Header Fields Too Large" : "400 Bad Request", deps.clock);
}
