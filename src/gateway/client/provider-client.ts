/** A tenant's way to a provider's gateway: questions with an answer, and streams. */
import { Agent, type ClientRequestArgs, request as httpRequest, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { issueStreamToken, issueToken } from "./issue-token.ts";
import { readBounded, refusalOf } from "./provider-answer.ts";
import { type ClientOptions, createConnector } from "./provider-connection.ts";
import { openStream, type ProviderStream, type StreamRequest } from "./provider-stream.ts";

/** A provider may take two minutes to take a manifest; more is for the way. */
export const clientAnswerMs = 150_000;

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
  /** A WebSocket, on a connection of its own. Throws as `ask` does where the provider does not begin one. */
  stream(request: StreamRequest): Promise<ProviderStream>;
  /** Streams go on. */
  close(): void;
}

export function createProviderClient(options: ClientOptions): ProviderClient {
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

  /** What any failure of the work is to a tenant. */
  async function inTime<T>(signal: AbortSignal | undefined, work: (until: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const timer = clock.timer(clientAnswerMs, () => late.abort());
    try {
      return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
    } catch (thrown) {
      if (thrown instanceof ProviderError || signal?.aborted) throw thrown;
      const reason = late.signal.aborted ? "no answer in time" : reasonOf(thrown);
      throw new ProviderError("AKP_PROVIDER_UNREACHABLE", { url: url.origin, reason }, { cause: thrown });
    } finally {
      timer.cancel();
    }
  }

  return {
    ask: ({ method, path, body, contentType = "application/json", signal }) =>
      inTime(signal, async (until) => {
        const headers = {
          host: url.host,
          ...(credentials.kind === "jwt" && { authorization: `Bearer ${issueToken(credentials.signer, clock.now())}` }),
          ...(body !== undefined && { "content-type": contentType, "content-length": Buffer.byteLength(body) }),
        };
        const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
        // Node does not hand a request's signal on to what connects it, but whatever else is there.
        const given = { agent, method, path: pathOf(path), headers, signal: until, until };
        httpRequest(given).once("error", reject).once("response", resolve).end(body);
        const answer = await promise;
        const text = await readBounded(answer);
        if (answer.statusCode === 200) return text;
        throw refusalOf({ method, url: `${url.origin}${path}` }, answer, text);
      }),
    stream: (request) =>
      inTime(request.signal, async (until) => {
        const { scope, path } = request;
        const socket = await open(until);
        const token =
          credentials.kind === "jwt" && issueStreamToken(credentials.signer, clock.now(), { scope, provider });
        const headers = { ...(token && { authorization: `Bearer ${token}` }) };
        const asked = { ...request, path: pathOf(path) };
        return openStream(asked, { socket, origin: url.origin, host: url.host, headers, clock, until });
      }),
    close: () => agent.destroy(),
  };
}
