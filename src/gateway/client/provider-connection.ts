/** A tenant's connections to one gateway: over TLS 1.3 to a server that has proved who it is, before anything is said to it. */

import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { checkServerIdentity, connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { type CertificateWithKey, serialOf, serverAuth } from "../../chain/certificates/certificate-file.ts";
import type { Queries } from "../../chain/chain.ts";
import type { Signer } from "../../chain/keys/signer.ts";
import { type Address, findAddress } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";

/** What a tenant's command waits for, until a provider far away has said hello. */
const clientHandshakeMs = 15_000;

/** By what a tenant is known: a new token with every request, a certificate in the handshake, or nothing. */
export type ClientCredentials =
  | { readonly kind: "jwt"; readonly signer: Pick<Signer, "address" | "sign"> }
  | { readonly kind: "mtls"; readonly certificate: CertificateWithKey }
  | { readonly kind: "none" };

export interface ClientOptions {
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

function isName(host: string): boolean {
  return isIP(host) === 0;
}

// Providers show a certificate of an authority for their host name, or one of their own that is on the chain; nothing else is trusted.

/** The certificates of an account with that number that are valid on the chain, as DER. */
export type CertificatesOnChain = (owner: Address, serial: string) => Promise<readonly Uint8Array[]>;

interface ServerCheck {
  readonly url: string;
  readonly host: string;
  /** Whose server it is; undefined where anybody's will do. */
  readonly provider: string | undefined;
  /** Undefined where the chain may not be asked. */
  readonly onChain: CertificatesOnChain | undefined;
  readonly nowMs: number;
}

interface Shown {
  readonly certificate: X509Certificate | undefined;
  /** What the roots of this machine say to it. */
  readonly isAuthorized: boolean;
}

async function checkServer({ certificate, isAuthorized }: Shown, check: ServerCheck): Promise<void> {
  const refuse = (reason: string): never => {
    throw new ProviderError("AKP_PROVIDER_UNPROVEN", { url: check.url, reason });
  };
  if (!certificate) return refuse("it shows no certificate");
  // Not by the name that was asked for in the handshake: with a certificate of ours that is another one.
  const named = checkServerIdentity(check.host, certificate.toLegacyObject() as PeerCertificate);
  if (isAuthorized && named === undefined) return;
  const { subject, issuer } = certificate.toLegacyObject();
  const owner = findAddress([subject.CN].flat()[0] ?? "");
  if (!owner) return refuse("no authority that this machine trusts has signed its certificate for this host");
  if (owner !== [issuer.CN].flat()[0]) refuse("its certificate was not signed by the account that it names");
  if (check.provider !== undefined && owner !== check.provider) {
    refuse(`its certificate is that of ${owner}, and not of ${check.provider}`);
  }
  if (check.nowMs < certificate.validFromDate.getTime()) refuse("its certificate is not valid yet");
  if (check.nowMs > certificate.validToDate.getTime()) refuse("its certificate has expired");
  if (!(certificate.keyUsage ?? []).includes(serverAuth)) refuse("its certificate is not for servers");
  if (!check.onChain) return refuse("its certificate is its own, and the chain may not be asked for it (--offline)");
  const serial = `${serialOf(certificate)}`;
  const known = await check.onChain(owner, serial);
  if (!known.some((der) => certificate.raw.equals(der))) {
    refuse(`the chain has no valid certificate of ${owner} like it`);
  }
}

export function certificatesOnChain(queries: Pick<Queries, "certificates">): CertificatesOnChain {
  return async (owner, serial) => {
    const { items } = await queries.certificates({ owner, serial, state: "valid" });
    return items.flatMap(({ certificate }) => (certificate ? [new X509Certificate(certificate.cert).raw] : []));
  };
}
