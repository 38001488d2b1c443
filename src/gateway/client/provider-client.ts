/** A tenant's way to a provider's gateway: over TLS 1.3 to a server that has proved who it is, before anything is said to it. */
import { Agent, type ClientRequestArgs, request as httpRequest, type IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect, type TLSSocket } from "node:tls";
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import type { Signer } from "../../chain/keys/signer.ts";
import { printable } from "../../market/printable.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import { issueToken } from "./issue-token.ts";
import { type CertificatesOnChain, checkServer } from "./server-check.ts";

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

export interface ClientRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** From the slash on. */
  readonly path: string;
  readonly body?: string;
  /** JSON if not said. */
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface ProviderClient {
  /** The body of an answer of 200; any other is thrown, with what the provider says. Redirects are not followed. */
  ask(request: ClientRequest): Promise<string>;
  close(): void;
}

export function createProviderClient({ credentials, clock, ...options }: ClientOptions): ProviderClient {
  // The network's clients append a path to what the chain has, where a slash at the end leads nowhere.
  const url = readUrl(options.url.replace(/\/+$/, ""));
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const { provider, onChain, roots } = options;
  const hasCertificate = credentials.kind === "mtls";
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = ({ until }: ClientRequestArgs & { readonly until?: AbortSignal }, done) => {
    open(until).then(
      (socket) => done?.(null, socket),
      (error) => done?.(error, undefined as unknown as Duplex),
    );
    return undefined;
  };

  async function open(signal: AbortSignal | undefined): Promise<TLSSocket> {
    const socket = await handshake(signal);
    try {
      const shown = { certificate: socket.getPeerX509Certificate(), isAuthorized: socket.authorized };
      await checkServer(shown, { url: url.origin, host, provider, onChain, nowMs: clock.now() });
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
    socket.setTimeout(limits.clientHandshakeMs, () => socket.destroy(new Error("no answer in time")));
    // A request that has no connection yet does not end by its signal.
    const leave = () => socket.destroy(signal?.reason);
    signal?.addEventListener("abort", leave);
    socket.once("close", () => signal?.removeEventListener("abort", leave));
    // It stays: between the handshake and the request nobody else listens.
    socket.on("error", reject);
    socket.once("secureConnect", () => {
      socket.setTimeout(0);
      resolve(socket);
    });
    return promise;
  }

  async function ask({ method, path, body, contentType = "application/json", signal }: ClientRequest): Promise<string> {
    const late = new AbortController();
    const timer = clock.timer(limits.clientAnswerMs, () => late.abort());
    const headers = {
      host: url.host,
      ...(credentials.kind === "jwt" && { authorization: `Bearer ${issueToken(credentials.signer, clock.now())}` }),
      ...(body !== undefined && { "content-type": contentType, "content-length": Buffer.byteLength(body) }),
    };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const until = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    // Node does not hand a request's signal on to what connects it, but whatever else is there.
    const given = { agent, method, path: `${url.pathname.replace(/\/$/, "")}${path}`, headers, signal: until, until };
    const asked = httpRequest(given);
    asked.once("error", reject).once("response", resolve).end(body);
    try {
      const answer = await promise;
      const text = await readBounded(answer);
      if (answer.statusCode === 200) return text;
      const details = { method, url: `${url.origin}${path}`, status: answer.statusCode ?? 0, body: shown(text) };
      throw new ProviderError("AKP_PROVIDER_REFUSED", details);
    } catch (thrown) {
      if (thrown instanceof ProviderError || signal?.aborted) throw thrown;
      const reason = late.signal.aborted ? "no answer in time" : reasonOf(thrown);
      throw new ProviderError("AKP_PROVIDER_UNREACHABLE", { url: url.origin, reason }, { cause: thrown });
    } finally {
      timer.cancel();
    }
  }

  return { ask, close: () => agent.destroy() };
}

function readUrl(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === "https:") return url;
  const reason = "that is no address that begins with https://";
  throw new ProviderError("AKP_PROVIDER_UNREACHABLE", { url: text, reason });
}

async function readBounded(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limits.clientAnswerBytes)
      throw new Error(`its answer is longer than ${limits.clientAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** A person reads it. */
function shown(text: string): string {
  const lines = text.slice(0, limits.clientErrorChars).trimEnd().split("\n").map(printable);
  return lines.join("\n").slice(0, limits.clientErrorChars) || "(it says nothing more)";
}

/** An IP address is no name to ask for. */
function isName(host: string): boolean {
  return isIP(host) === 0;
}
