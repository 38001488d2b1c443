/** A tenant's connections to one gateway: over TLS 1.3 to a server that has proved who it is, before anything is said to it. */
import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import type { Signer } from "../../chain/keys/signer.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { type CertificatesOnChain, checkServer } from "./server-check.ts";

/** What a tenant's command waits for, until a provider far away has said hello. */
const clientHandshakeMs = 15_000;

/** By what a tenant is known: a new token with every request, a certificate in the handshake, or nothing. */
export type ClientCredentials =
  | { readonly kind: "jwt"; readonly signer: Pick<Signer, "address" | "sign"> }
  | { readonly kind: "mtls"; readonly certificate: CertificateWithKey }
  | { readonly kind: "none" };

export interface ClientOptions {
  /** As the chain has it: https://host:port. */
  readonly url: string;
  readonly provider?: string | undefined;
  readonly credentials: ClientCredentials;
  readonly onChain: CertificatesOnChain | undefined;
  /** Authorities that are trusted, as PEM; those of Node if not said. */
  readonly roots?: readonly string[];
  readonly clock: Clock;
}

interface Connector {
  readonly url: URL;
  /** A new connection, on which nothing has been said. */
  open(signal?: AbortSignal): Promise<TLSSocket>;
}

export function createConnector({
  credentials,
  clock,
  provider,
  onChain,
  roots,
  ...options
}: ClientOptions): Connector {
  // The network's clients append a path to what the chain has, where a slash at the end leads nowhere.
  const url = readUrl(options.url.replace(/\/+$/, ""));
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const hasCertificate = credentials.kind === "mtls";

  async function open(signal?: AbortSignal): Promise<TLSSocket> {
    const socket = await handshake(signal);
    try {
      const shown = { certificate: socket.getPeerX509Certificate(), isAuthorized: socket.authorized };
      await checkServer(shown, { url: url.origin, host, provider, onChain, nowMs: clock.now() });
      signal?.throwIfAborted();
      return socket;
    } catch (thrown) {
      socket.destroy();
      throw thrown;
    }
  }

  function handshake(signal: AbortSignal | undefined): Promise<TLSSocket> {
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    const socket = connect({
      host,
      port: Number(url.port || 443),
      // On its public name a provider may not ask for certificates; on this one it does.
      ...(hasCertificate ? { servername: `mtls.${host}` } : isName(host) && { servername: host }),
      ...(hasCertificate && { cert: credentials.certificate.certificate, key: credentials.certificate.key }),
      ...(roots && { ca: [...roots] }),
      minVersion: "TLSv1.3",
      ALPNProtocols: ["http/1.1"],
      // Judged by `checkServer`, before anything is sent; the name too.
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    socket.setTimeout(clientHandshakeMs, () => socket.destroy(new Error("no answer in time")));
    // A request that has no connection yet does not end by its signal.
    const leave = () => socket.destroy(signal?.reason);
    const stay = () => signal?.removeEventListener("abort", leave);
    signal?.addEventListener("abort", leave);
    socket.once("close", stay);
    // It stays: between the handshake and the request nobody else listens.
    socket.on("error", reject);
    socket.once("secureConnect", () => {
      stay();
      socket.setTimeout(0);
      resolve(socket);
    });
    return promise;
  }

  return { url, open };
}

function readUrl(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === "https:") return url;
  const reason = "that is no address that begins with https://";
  throw new ProviderError("AKP_PROVIDER_UNREACHABLE", { url: text, reason });
}

/** An IP address is no name to ask for. */
function isName(host: string): boolean {
  return isIP(host) === 0;
}
