/** Passes a connection to the TLS server with the public certificate, or to the one with the provider's, which requests the client's. */
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
  /** Compared case-sensitively. */
  readonly publicHost: string | undefined;
  /** ALPN. */
  readonly protocols?: string[];
  readonly connections: Pick<Connections, "admit">;
  readonly clock: Clock;
  readonly log: Log;
  /** `below` is the TCP socket. */
  onSecure(socket: TLSSocket, below: Socket | undefined): void;
  onFailure(reason: HandshakeFailure): void;
}

export type HandshakeFailure = "garbage" | "plain" | "name" | "no_certificate" | "timeout" | "refused" | "proxy";

/** As in the Go provider: TLS 1.3 only, AES-128 before AES-256, and ChaCha20 for clients that prefer it. */
export const tlsSettings = {
  minVersion: "TLSv1.3",
  ciphers: "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256",
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA,
  ecdhCurve: "X25519MLKEM768:X25519:P-256:P-384:P-521",
  // Client certificates are verified by the chain; the default would load all root certificates.
  ca: [] as string[],
} as const;

const plainAnswer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
const [decodeError, internalError] = [50, 80];

export function createTlsFront(deps: FrontDeps): (socket: Socket) => void {
  const { publicHost, clock, log, connections, onFailure } = deps;
  const keys = createRateLimitKeys(deps);
  const own = createTlsServer(deps.own, true, "own");
  const open = createTlsServer(deps.public, false, "public");

  function createTlsServer(source: CertificateSource, requestCert: boolean, name: string) {
    // Session tickets of one server are not valid for the other.
    const identification = { requestCert, rejectUnauthorized: false, sessionIdContext: name };
    const agreed = deps.protocols && { ALPNProtocols: deps.protocols };
    const server = createServer({ ...tlsSettings, ...identification, ...agreed, handshakeTimeout: gatewayHandshakeMs });
    server.on("secureConnection", (socket) => {
      deps.onSecure(socket, keys.assignSecured(socket));
    });
    server.on("tlsClientError", (error: Error & { code?: string }) => {
      onFailure(error.code === "ERR_TLS_HANDSHAKE_TIMEOUT" ? "timeout" : "refused");
      log.debug("handshake failed", { reason: error.message.trim() });
    });
    let isReady = false;
    const swap = () => {
      const { current } = source;
      try {
        if (current) server.setSecureContext({ ...tlsSettings, cert: current.certificate, key: current.key });
        isReady = current !== undefined;
      } catch (thrown) {
        // The previous one stays in use.
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

  function pass(socket: Socket, first: FirstBytes, bytes: Buffer): void {
    if (first.kind === "plain") {
      onFailure("plain");
      sendAndClose(socket, plainAnswer, clock);
      return;
    }
    const server = route(socket, first.serverName);
    if (!server) return;
    // HTTP servers allow half-open connections; a client that half-closes in its handshake is gone.
    socket.allowHalfOpen = false;
    // The server reads the ClientHello again.
    socket.unshift(bytes);
    server.emit("connection", socket);
  }

  function begin(socket: Socket): void {
    if (!connections.admit(socket)) return;
    readFirstBytes<FirstBytes>(socket, clock, {
      read: readClientHello,
      complete: (first, bytes) => pass(socket, first, bytes),
      failed: onFailure,
    });
  }

  return (socket) => {
    if (!keys.sendsHeader(socket)) {
      keys.assign(socket);
      begin(socket);
      return;
    }
    readFirstBytes(socket, clock, {
      read: readProxyHeader,
      complete({ address, length }, bytes) {
        keys.assign(socket, address);
        if (bytes.length > length) socket.unshift(bytes.subarray(length));
        begin(socket);
      },
      failed: () => onFailure("proxy"),
    });
  };
}

/** A fatal TLS alert, unencrypted. */
function alert(description: number): Buffer {
  return Buffer.of(21, 3, 3, 0, 2, 2, description);
}
