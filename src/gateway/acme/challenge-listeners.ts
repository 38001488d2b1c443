/** How the authority sees that a name is ours: it asks us at that name, for as long as an order waits for it. */
import { createServer } from "node:http";
import type { Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { second } from "../../runtime/durations.ts";
import { systemCodeOf } from "../../runtime/errors.ts";
import { type Listener, listen } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";

/** Of the authority and of whoever else comes by while a challenge is answered. */
const acmeConnections = 64;
/** For one question of the authority. */
const acmeChallengeMs = 10 * second;

interface Where {
  /** All addresses, unless a test says otherwise. */
  readonly host?: string | undefined;
  readonly port: number;
  readonly log: Log;
}

/** http-01: a text at a path. Everything else is not there. */
export function answerOverHttp(
  { token, proof }: { readonly token: string; readonly proof: string },
  where: Where,
): Promise<Listener> {
  const path = `/.well-known/acme-challenge/${token}`;
  return listenOnAll("http-01", "--cert-issuer-http-challenge-port", where, () => {
    const server = createServer({ requestTimeout: acmeChallengeMs, connectionsCheckingInterval: 5_000 });
    server.on("request", ({ method, url }, answer) => {
      const isAsked = (method === "GET" || method === "HEAD") && url === path;
      answer.writeHead(isAsked ? 200 : 404, { "content-type": "text/plain", connection: "close" });
      answer.end(isAsked ? proof : "");
    });
    return server.setTimeout(acmeChallengeMs);
  });
}

/** tls-alpn-01: a certificate that only this protocol shows. */
export function answerOverTls(
  shown: { readonly certificate: string | Buffer; readonly key: string | Buffer },
  where: Where,
): Promise<Listener> {
  return listenOnAll("tls-alpn-01", "--cert-issuer-tls-challenge-port", where, () => {
    const server = createTlsServer({
      cert: shown.certificate,
      key: shown.key,
      ALPNProtocols: ["acme-tls/1"],
      handshakeTimeout: acmeChallengeMs,
      // No certificate is asked of a client; the default would load all authorities that browsers know.
      ca: [],
    });
    // The handshake was all.
    server.on("secureConnection", (socket) => socket.on("error", () => socket.destroy()).end());
    return server.on("tlsClientError", (thrown) =>
      where.log.debug("handshake failed", { reason: thrown.message.trim() }),
    );
  });
}

/** Of both families: authorities ask over IPv6 where the name has such an address. Some machines have only the older one. */
async function listenOnAll(kind: string, setting: string, where: Where, make: () => Server): Promise<Listener> {
  const options = { ...where, connections: acmeConnections, what: `the answer to ${kind}`, setting };
  try {
    return await listen(make(), { ...options, host: where.host ?? "::" });
  } catch (thrown) {
    const code = thrown instanceof Error ? systemCodeOf(thrown.cause) : undefined;
    if (where.host !== undefined || (code !== "EAFNOSUPPORT" && code !== "EADDRNOTAVAIL")) throw thrown;
    return listen(make(), { ...options, host: "0.0.0.0" });
  }
}
