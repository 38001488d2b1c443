/** Connections of a tenant to a gateway: over TLS 1.3, with the server verified before anything is sent. */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { checkServerIdentity, connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { type CertificateWithKey, serialOf, serverAuth } from "../../chain/certificates/certificate-file.ts";
import type { Queries } from "../../chain/chain.ts";
import type { Signer } from "../../chain/keys/signer.ts";
import { type Address, findAddress } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";

const clientHandshakeMs = 15_000;

/** A new token for every request, a certificate in the handshake, or none. */
export type ClientCredentials =
  | { readonly kind: "jwt"; readonly signer: Pick<Signer, "address" | "sign"> }
  | { readonly kind: "mtls"; readonly certificate: CertificateWithKey }
  | { readonly kind: "none" };

export interface ClientOptions {
  readonly url: string;
  readonly provider?: string | undefined;
  readonly credentials: ClientCredentials;
  readonly onChain: CertificatesOnChain | undefined;
  /** Trusted root certificates as PEM; default Node's. */
  readonly roots?: readonly string[];
  readonly clock: Clock;
}

export function createConnector({ credentials, clock, provider, onChain, roots, ...options }: ClientOptions) {
  // Paths are appended to the URL on the chain.
  const url = readUrl(options.url.replace(/\/+$/, ""));
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const hasCertificate = credentials.kind === "mtls";

  async function open(signal?: AbortSignal): Promise<TLSSocket> {
    const socket = await handshake(signal);
    try {
      await checkServer(socket, { url: url.origin, host, provider, onChain, nowMs: clock.now() });
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
      // With this name a provider requests a client certificate.
      ...(hasCertificate ? { servername: `mtls.${host}` } : isName(host) && { servername: host }),
      ...(hasCertificate && { cert: credentials.certificate.certificate, key: credentials.certificate.key }),
      ...(roots && { ca: [...roots] }),
      minVersion: "TLSv1.3",
      ALPNProtocols: ["http/1.1"],
      // Verified by `checkServer`, with the name.
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    socket.setTimeout(clientHandshakeMs, () => socket.destroy(new Error("no answer in time")));
    // Node does not abort a request without a connection.
    const leave = () => socket.destroy(signal?.reason);
    const stay = () => signal?.removeEventListener("abort", leave);
    signal?.addEventListener("abort", leave);
    socket.once("close", stay);
    // It stays, as there is no other listener until the request.
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
  const reason = "the URL does not begin with https://";
  throw new ProviderError("AKP_PROVIDER_UNREACHABLE", { url: text, reason });
}

function isName(host: string): boolean {
  return isIP(host) === 0;
}

/** The valid certificates of an account with that serial on the chain, as DER. */
export type CertificatesOnChain = (owner: Address, serial: string) => Promise<readonly Uint8Array[]>;

interface ServerCheck {
  readonly url: string;
  readonly host: string;
  /** Undefined: any. */
  readonly provider: string | undefined;
  /** Undefined: offline. */
  readonly onChain: CertificatesOnChain | undefined;
  readonly nowMs: number;
}

/** Trusts a certificate of an authority for the host name, or the provider's own that is on the chain. */
async function checkServer(socket: TLSSocket, check: ServerCheck): Promise<void> {
  const certificate = socket.getPeerX509Certificate();
  const reject = (reason: string): never => {
    throw new ProviderError("AKP_PROVIDER_UNPROVEN", { url: check.url, reason });
  };
  if (!certificate) return reject("it has no certificate");
  // Not by the server name of the handshake, which differs with a client certificate.
  const named = checkServerIdentity(check.host, certificate.toLegacyObject() as PeerCertificate);
  if (socket.authorized && named === undefined) return;
  const { subject, issuer } = certificate.toLegacyObject();
  const owner = findAddress([subject.CN].flat()[0] ?? "");
  if (!owner) return reject("no authority that this machine trusts has signed its certificate for this host");
  if (owner !== [issuer.CN].flat()[0]) reject("its certificate was not signed by the account that it names");
  if (check.provider !== undefined && owner !== check.provider) {
    reject(`its certificate is that of ${owner}, and not of ${check.provider}`);
  }
  if (check.nowMs < certificate.validFromDate.getTime()) reject("its certificate is not valid yet");
  if (check.nowMs > certificate.validToDate.getTime()) reject("its certificate has expired");
  if (!(certificate.keyUsage ?? []).includes(serverAuth)) reject("its certificate is not for servers");
  if (!check.onChain) return reject("its certificate is its own, which cannot be verified on the chain with --offline");
  const serial = `${serialOf(certificate)}`;
  const known = await check.onChain(owner, serial);
  if (!known.some((der) => certificate.raw.equals(der))) {
    reject(`the chain has no valid certificate of ${owner} like it`);
  }
}

export function certificatesOnChain(queries: Pick<Queries, "certificates">): CertificatesOnChain {
  return async (owner, serial) => {
    const { items } = await queries.certificates({ owner, serial, state: "valid" });
    return items.flatMap(({ certificate }) => (certificate ? [new X509Certificate(certificate.cert).raw] : []));
  };
}
