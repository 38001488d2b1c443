/** How the authority sees that a name is ours: it asks us at that name, for as long as an order waits for it. */
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:tls";
import { limits } from "../../runtime/limits.ts";
import { type Listener, listen } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";

interface Where {
  readonly host: string;
  readonly port: number;
  readonly log: Log;
}

/** http-01: a text at a path. Everything else is not there. */
export function answerOverHttp(
  { token, proof }: { readonly token: string; readonly proof: string },
  where: Where,
): Promise<Listener> {
  const path = `/.well-known/acme-challenge/${token}`;
  const server = createServer({ requestTimeout: limits.acmeChallengeMs, connectionsCheckingInterval: 5_000 });
  server.on("request", ({ method, url }, answer) => {
    const isAsked = (method === "GET" || method === "HEAD") && url === path;
    answer.writeHead(isAsked ? 200 : 404, { "content-type": "text/plain", connection: "close" });
    answer.end(isAsked ? proof : "");
  });
  server.setTimeout(limits.acmeChallengeMs);
  const setting = "--cert-issuer-http-challenge-port";
  return listen(server, { ...where, connections: limits.acmeConnections, what: "the answer to http-01", setting });
}

/** tls-alpn-01: a certificate that only this protocol shows. */
export function answerOverTls(
  shown: { readonly certificate: string | Buffer; readonly key: string | Buffer },
  where: Where,
): Promise<Listener> {
  const server = createTlsServer({
    cert: shown.certificate,
    key: shown.key,
    ALPNProtocols: ["acme-tls/1"],
    handshakeTimeout: limits.acmeChallengeMs,
    // No certificate is asked of a client; the default would load all authorities that browsers know.
    ca: [],
  });
  // The handshake was all.
  server.on("secureConnection", (socket) => socket.end());
  server.on("tlsClientError", (thrown) => where.log.debug("handshake failed", { reason: thrown.message.trim() }));
  const setting = "--cert-issuer-tls-challenge-port";
  return listen(server, { ...where, connections: limits.acmeConnections, what: "the answer to tls-alpn-01", setting });
}
