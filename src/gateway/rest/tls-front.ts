/** Hands a connection to the TLS server with the public certificate, or to the one with our own, which asks for the client's. */
import { constants } from "node:crypto";
import type { Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import type { Clock } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import type { CertificateSource } from "../certificate/file-certificate.ts";
import { sendAndClose } from "./answer.ts";
import type { Connections } from "./connections.ts";
import {
  type FirstBytes,
  gatewayHandshakeMs,
  readClientHello,
  readFirstBytes,
  readProxyHeader,
} from "./first-bytes.ts";
import { createRateLimitKeys, type ProxyOptions } from "./rate-limit-key.ts";

interface FrontDeps extends ProxyOptions {
  readonly own: CertificateSource;
  readonly public: CertificateSource;
  /** Only this very name, in this very spelling, is answered with the public certificate. */
  readonly publicHost: string | undefined;
  /** What is spoken inside, where it is agreed on in the handshake. */
  readonly protocols?: string[];
  readonly connections: Pick<Connections, "admit">;
  readonly clock: Clock;
  readonly log: Log;
  /** `below` is the socket that the connection came with. */
  onSecure(socket: TLSSocket, below: Socket | undefined): void;
  onFailure(reason: HandshakeFailure): void;
}

export type HandshakeFailure = "garbage" | "plain" | "name" | "no_certificate" | "timeout" | "refused" | "proxy";

/** As the network's gateway has them: TLS 1.3 alone, AES-128 before AES-256, and ChaCha20 for those who put it first. */
export const tlsSettings = {
  minVersion: "TLSv1.3",
  ciphers: "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256",
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA,
  ecdhCurve: "X25519MLKEM768:X25519:P-256:P-384:P-521",
  // No authority is asked about a client's certificate: the chain is. The default would load all that browsers know.
  ca: [] as string[],
} as const;

const plainAnswer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
const [decodeError, internalError] = [50, 80];

export function createTlsFront(deps: FrontDeps): (socket: Socket) => void {
  const { publicHost, clock, log, connections, onFailure } = deps;
  const places = createRateLimitKeys(deps);
  const own = createTlsServer(deps.own, true, "own");
  const open = createTlsServer(deps.public, false, "public");

  function createTlsServer(source: CertificateSource, requestCert: boolean, name: string) {
    // Tickets of one server are nothing to the other: each has keys of its own.
    const asking = { requestCert, rejectUnauthorized: false, sessionIdContext: name };
    const agreed = deps.protocols && { ALPNProtocols: deps.protocols };
    const server = createServer({ ...tlsSettings, ...asking, ...agreed, handshakeTimeout: gatewayHandshakeMs });
    server.on("secureConnection", (socket) => {
      deps.onSecure(socket, places.placeSecured(socket));
    });
    server.on("tlsClientError", (error: Error & { code?: string }) => {
      onFailure(error.code === "ERR_TLS_HANDSHAKE_TIMEOUT" ? "timeout" : "refused");
      log.debug("handshake failed", { reason: error.message.trim() });
    });
    let isReady = false;
    const swap = () => {
      const { current } = source;
      if (!current) {
        isReady = false;
        return;
      }
      try {
        server.setSecureContext({ ...tlsSettings, cert: current.certificate, key: current.key });
        isReady = true;
      } catch (thrown) {
        // What was served before stays.
        log.error("certificate cannot be served", { certificate: name, reason: reasonOf(thrown) });
      }
    };
    source.onChange(swap);
    swap();
    return { server, isReady: () => isReady };
  }

  function route(socket: Socket, serverName: string | undefined): Server | undefined {
    if (serverName?.endsWith(".")) {
      onFailure("name");
      sendAndClose(socket, alert(decodeError), clock);
      return undefined;
    }
    if (serverName !== undefined && serverName === publicHost && open.isReady()) return open.server;
    if (own.isReady()) return own.server;
    onFailure("no_certificate");
    sendAndClose(socket, alert(internalError), clock);
    return undefined;
  }

  function hand(socket: Socket, first: Exclude<FirstBytes, { kind: "unfinished" | "garbage" }>, bytes: Buffer): void {
    if (first.kind === "plain") {
      onFailure("plain");
      sendAndClose(socket, plainAnswer, clock);
      return;
    }
    const server = route(socket, first.serverName);
    if (!server) return;
    // An HTTP server lets its clients stop speaking and listen on; one that stops in its handshake is gone.
    socket.allowHalfOpen = false;
    // It reads the greeting anew.
    socket.unshift(bytes);
    server.emit("connection", socket);
  }

  function begin(socket: Socket): void {
    if (!connections.admit(socket)) return;
    readFirstBytes(socket, clock, readClientHello, {
      whole: (first, bytes) => hand(socket, first, bytes),
      failed: onFailure,
    });
  }

  return (socket) => {
    if (!places.sendsHeader(socket)) {
      places.place(socket);
      begin(socket);
      return;
    }
    readFirstBytes(socket, clock, readProxyHeader, {
      whole({ address, length }, bytes) {
        places.place(socket, address);
        if (bytes.length > length) socket.unshift(bytes.subarray(length));
        begin(socket);
      },
      failed: () => onFailure("proxy"),
    });
  };
}

/** One that ends the connection, as TLS has it before anything is encrypted. */
function alert(description: number): Buffer {
  return Buffer.of(21, 3, 3, 0, 2, 2, description);
}
