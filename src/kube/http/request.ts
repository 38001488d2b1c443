/** HTTP to the API server: kept connections, time limits, bounded answers, and a second try where that is safe. */
import * as http from "node:http";
import * as https from "node:https";
import { type Clock, sleep, withDeadline } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Random } from "../../runtime/random.ts";
import type { KubeCounts } from "../kube.ts";
import { createAgentPool } from "./agents.ts";
import { backOffMs } from "./back-off.ts";
import type { Access, Credentials } from "./credentials.ts";
import { type Asked, connectionError, malformed, refusalError } from "./refusal.ts";

export interface Request extends Asked {
  readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
  /** One try only: the caller has its own way of trying again. */
  readonly once?: boolean;
  /** How long the server may take to begin its answer. */
  readonly answerMs?: number;
}

export interface Requests {
  /** The answer as JSON; throws what a refusal means. */
  json(request: Request): Promise<unknown>;
  /** The answer while it comes, once the server has accepted. The caller watches for silence and destroys it. */
  stream(request: Request): Promise<Sent>;
  /** Whatever the answer is, refusals too; never sent twice. */
  raw(request: RawRequest): Promise<RawAnswer>;
  access(): Promise<Access>;
  /** The server said 401 on a connection that we did not make. */
  refused(): void;
  readonly counts: KubeCounts;
  close(): void;
}

export interface Sent {
  readonly response: http.IncomingMessage;
  /** With whom we speak, for messages. */
  readonly access: Access;
}

export interface RawRequest extends Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly answerMs?: number;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface RequestDeps {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly random: Random;
}

const userAgent = "akash-provider";

export function createRequests({ credentials, clock, random }: RequestDeps): Requests {
  const counts: KubeCounts = { requests: 0, retries: 0, applied: 0, unchanged: 0 };
  const agents = createAgentPool();

  async function send(request: RawRequest, streams: boolean): Promise<Sent> {
    const access = await credentials.current();
    counts.requests += 1;
    const { calls, watches } = agents.at(access);
    const authorization = access.authorization === undefined ? {} : { authorization: access.authorization };
    const headers = { "user-agent": userAgent, ...request.headers, ...authorization };
    const exchange = { request: { ...request, headers }, access, agent: streams ? watches : calls, clock };
    const response = await start(exchange);
    return { response, access };
  }

  async function bodyOf({ response, access }: Sent, request: Asked, most: number): Promise<Buffer> {
    const late = () => {
      throw connectionError(new Error(`the answer did not end within ${limits.kubeCallMs} ms`), request, access);
    };
    try {
      return await withDeadline(clock, limits.kubeCallMs, readBody(response, most, request, access), late);
    } finally {
      response.destroy();
    }
  }

  async function accepted(request: Request, streams: boolean): Promise<Sent> {
    const sent = await send(rawOf(request), streams);
    const { statusCode: status = 0, headers } = sent.response;
    if (status >= 200 && status < 300) return sent;
    const body = await bodyOf(sent, request, limits.kubeRefusalBytes);
    if (status === 401) credentials.refused();
    throw refusalError({ status, headers, body: body.toString() }, request, sent.access);
  }

  async function tried<T>(request: Request, attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (thrown) {
        if (request.once || tries >= limits.kubeTries || !mayTryAgain(request, thrown, tries)) throw thrown;
        counts.retries += 1;
        await sleep(clock, backOffMs(random, tries, thrown), request.signal);
      }
    }
  }

  return {
    json: (request) =>
      tried(request, async () => {
        const sent = await accepted(request, false);
        const body = await bodyOf(sent, request, limits.kubeAnswerBytes);
        return parseJson(body, request, sent.access);
      }),
    stream: (request) => tried(request, () => accepted(request, true)),
    async raw(request) {
      const sent = await send(request, false);
      const body = await bodyOf(sent, request, limits.kubeAnswerBytes);
      return { status: sent.response.statusCode ?? 0, headers: sent.response.headers, body };
    },
    access: () => credentials.current(),
    refused: () => credentials.refused(),
    counts,
    close: () => agents.close(),
  };
}

/** A create that may have happened must not happen twice; all else says what should be, however often. */
function mayTryAgain({ method = "GET" }: Request, thrown: unknown, tries: number): boolean {
  // The token may just have been renewed: what it was is forgotten by now, so once more.
  if (ProviderError.is(thrown, "AKP_KUBE_UNAUTHORIZED")) return tries === 1;
  if (ProviderError.is(thrown, "AKP_KUBE_BUSY")) return true;
  if (method === "POST") return false;
  return ProviderError.is(thrown, "AKP_KUBE_UNREACHABLE") || ProviderError.is(thrown, "AKP_KUBE_FAILED");
}

function rawOf({ method = "GET", body, contentType = "application/json", ...rest }: Request): RawRequest {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const content = text === undefined ? {} : { "content-type": contentType };
  return { ...rest, method, headers: { accept: "application/json", ...content }, body: text };
}

interface Exchange {
  readonly request: RawRequest;
  readonly access: Access;
  readonly agent: http.Agent;
  readonly clock: Clock;
}

/** Resolves with the head of the answer. The signal ends the body too. */
function start({ request, access, agent, clock }: Exchange, again = false): Promise<http.IncomingMessage> {
  const { method, headers, body, signal, answerMs = limits.kubeCallMs } = request;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const url = urlOf(access.server, request.path);
    const begin = url.protocol === "https:" ? https.request : http.request;
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const outgoing = begin(url, { method, agent, headers: { ...headers, ...length } });
    const onAbort = () => outgoing.destroy(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
    const timer = clock.timer(answerMs, () => outgoing.destroy(new Error(`no answer within ${answerMs} ms`)));
    signal?.addEventListener("abort", onAbort, { once: true });
    outgoing.on("socket", (socket) => socket.setKeepAlive(true, limits.kubeKeepAliveMs));
    outgoing.on("response", (response) => {
      timer.cancel();
      resolve(response);
    });
    outgoing.on("close", () => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    });
    outgoing.on("error", (thrown) => {
      if (signal?.aborted) return reject(signal.reason);
      // The server let go of a kept connection just when we took it: it never saw the request.
      if (outgoing.reusedSocket && !again && method !== "POST") {
        return resolve(start({ request, access, agent, clock }, true));
      }
      return reject(connectionError(thrown, request, access));
    });
    return outgoing.end(body);
  });
}

/** A server may be reached below a path, as behind a management plane. */
function urlOf(server: URL, path: string): URL {
  return new URL(`${server.href.replace(/\/$/, "")}${path}`);
}

async function readBody(response: http.IncomingMessage, most: number, asked: Asked, access: Access): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > most) throw malformed(`more than ${most} bytes`, asked, access);
      chunks.push(chunk);
    }
  } catch (thrown) {
    throw connectionError(thrown, asked, access);
  }
  return Buffer.concat(chunks);
}

function parseJson(body: Buffer, asked: Asked, access: Access): unknown {
  try {
    return JSON.parse(body.toString());
  } catch (thrown) {
    throw malformed(reasonOf(thrown), asked, access);
  }
}
