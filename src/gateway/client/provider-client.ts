/** A tenant's client of a provider's gateway: requests and streams. */
import { Agent, type ClientRequestArgs, request as httpRequest, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Signer } from "../../chain/keys/signer.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { TokenScope } from "../auth/identity.ts";
import { type ClientOptions, createConnector } from "./provider-connection.ts";
import { openStream, type ProviderStream, readAnswer, rejectionOf, type StreamRequest } from "./provider-stream.ts";

/** A provider may take two minutes for a manifest. */
export const clientRequestMs = 150_000;

interface ClientRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
}

export type ProviderClient = ReturnType<typeof createProviderClient>;

export function createProviderClient(options: ClientOptions) {
  const { credentials, clock, provider } = options;
  const { url, open } = createConnector(options);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = ({ until }: ClientRequestArgs & { readonly until?: AbortSignal }, done) => {
    open(until).then(
      (socket) => done?.(null, socket),
      (error) => done?.(error, undefined as unknown as Duplex),
    );
    return undefined;
  };
  const pathOf = (path: string) => `${url.pathname.replace(/\/$/, "")}${path}`;

  async function inTime<T>(signal: AbortSignal | undefined, work: (until: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const timer = clock.timer(clientRequestMs, () => late.abort());
    try {
      return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
    } catch (thrown) {
      if (thrown instanceof ProviderError) throw thrown;
      // Node wraps the signal's reason.
      signal?.throwIfAborted();
      const reason = late.signal.aborted ? "no answer in time" : reasonOf(thrown);
      throw new ProviderError("AKP_PROVIDER_UNREACHABLE", { url: url.origin, reason }, { cause: thrown });
    } finally {
      timer.cancel();
    }
  }

  return {
    /** The body of a 200 response; others are thrown, and redirects are not followed. */
    request: ({ method, path, body, contentType = "application/json", signal }: ClientRequest): Promise<string> =>
      inTime(signal, async (until) => {
        const headers = {
          host: url.host,
          ...(credentials.kind === "jwt" && { authorization: `Bearer ${issueToken(credentials.signer, clock.now())}` }),
          ...(body !== undefined && { "content-type": contentType, "content-length": Buffer.byteLength(body) }),
        };
        const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
        // Node passes `until`, but not the signal, to createConnection.
        const options = { agent, method, path: pathOf(path), headers, signal: until, until };
        httpRequest(options).once("error", reject).once("response", resolve).end(body);
        const answer = await promise;
        const text = await readAnswer(answer);
        if (answer.statusCode === 200) return text;
        throw rejectionOf({ method, url: `${url.origin}${path}` }, answer, text);
      }),
    /** A WebSocket on a connection of its own; throws as `request` does. */
    stream: (request: StreamRequest): Promise<ProviderStream> =>
      inTime(request.signal, async (until) => {
        const { scope, path } = request;
        const socket = await open(until);
        const token =
          credentials.kind === "jwt" && issueStreamToken(credentials.signer, clock.now(), { scope, provider });
        const headers = { ...(token && { authorization: `Bearer ${token}` }) };
        return openStream(
          { ...request, path: pathOf(path) },
          { socket, origin: url.origin, host: url.host, headers, clock, until },
        );
      }),
    /** Streams stay open. */
    close: () => agent.destroy(),
  };
}

type TokenSigner = Pick<Signer, "address" | "sign">;

/** Long enough for any request and for clock skew. */
const lifeSeconds = 15 * 60;

/** A stream ends with its token. */
const streamLifeSeconds = 24 * 3_600;

/** As the network's CLI issues them, with full access. */
export function issueToken(signer: TokenSigner, nowMs: number): string {
  return issue(signer, nowMs, lifeSeconds, { access: "full" });
}

/** Long-lived, so limited to its stream. */
function issueStreamToken(
  signer: TokenSigner,
  nowMs: number,
  { scope, provider }: { readonly scope: TokenScope; readonly provider: string | undefined },
): string {
  const scoped = { access: "scoped", scope: [scope] };
  const leases = provider === undefined ? scoped : { access: "granular", permissions: [{ provider, ...scoped }] };
  return issue(signer, nowMs, streamLifeSeconds, leases);
}

function issue(signer: TokenSigner, nowMs: number, seconds: number, leases: object): string {
  const now = Math.floor(nowMs / 1_000);
  const header = { alg: "ES256K", typ: "JWT" };
  const claims = { iss: signer.address, iat: now, nbf: now, exp: now + seconds, version: "v1", leases };
  const signed = `${encoded(JSON.stringify(header))}.${encoded(JSON.stringify(claims))}`;
  return `${signed}.${encoded(signer.sign(Buffer.from(signed)))}`;
}

function encoded(content: string | Uint8Array): string {
  return Buffer.from(content as Uint8Array).toString("base64url");
}
