/** Calls to the API server: bounded answers, what refusals mean, and a second try where that is safe. */
import type { Readable } from "node:stream";
import { type Clock, sleep, withDeadline } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Random } from "../../runtime/random.ts";
import type { KubeCounts, ProxyAnswer } from "../kube.ts";
import { backOffMs } from "./back-off.ts";
import { type Asked, connectionError, malformed, type Peer, refusalError } from "./refusal.ts";
import type { Answer, SentRequest, Transport } from "./transport.ts";

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
  stream(request: Request): Promise<Answer>;
  /** Whatever the answer is, refusals too; never sent twice. */
  raw(request: SentRequest, mostBytes?: number): Promise<ProxyAnswer>;
  peer(): Promise<Peer>;
  readonly counts: KubeCounts;
}

export interface RequestDeps {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted when the client is closed: then nothing is tried again. */
  readonly closing: AbortSignal;
}

export function createRequests({ transport, clock, random, closing }: RequestDeps): Requests {
  const counts: KubeCounts = { requests: 0, retries: 0, applied: 0, unchanged: 0 };

  function send(request: SentRequest): Promise<Answer> {
    counts.requests += 1;
    return transport.send(request);
  }

  async function bodyOf({ body, peer }: Answer, request: Asked, most: number): Promise<Buffer> {
    const late = () => {
      throw connectionError(new Error(`the answer did not end within ${limits.kubeCallMs} ms`), request, peer);
    };
    try {
      return await withDeadline(clock, limits.kubeCallMs, readBody(body, most, request, peer), late);
    } finally {
      body.destroy();
    }
  }

  async function accepted(request: Request, streams: boolean): Promise<Answer> {
    const answer = await send({ ...sentOf(request), streams });
    const { status, headers, peer } = answer;
    if (status >= 200 && status < 300) return answer;
    const body = await bodyOf(answer, request, limits.kubeRefusalBytes);
    if (status === 401) transport.refused();
    throw refusalError({ status, headers, body: body.toString() }, request, peer);
  }

  async function tried<T>(request: Request, attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (thrown) {
        const isLast = request.once || closing.aborted || tries >= limits.kubeTries;
        if (isLast || !mayTryAgain(request, thrown, tries)) throw thrown;
        counts.retries += 1;
        const signal = request.signal ? AbortSignal.any([request.signal, closing]) : closing;
        await sleep(clock, backOffMs(random, tries, thrown), signal).catch((reason: unknown) => {
          throw closing.aborted ? thrown : reason;
        });
      }
    }
  }

  return {
    json: (request) =>
      tried(request, async () => {
        const answer = await accepted(request, false);
        const body = await bodyOf(answer, request, limits.kubeAnswerBytes);
        return parseJson(body, request, answer.peer);
      }),
    stream: (request) => tried(request, () => accepted(request, true)),
    async raw(request, mostBytes = limits.kubeAnswerBytes) {
      const answer = await send({ ...request, neverTwice: true });
      const { status, headers } = answer;
      return { status, headers, body: await bodyOf(answer, request, mostBytes) };
    },
    peer: () => transport.peer(),
    counts,
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

function sentOf({ method = "GET", body, contentType = "application/json", ...rest }: Request): SentRequest {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const content = text === undefined ? {} : { "content-type": contentType };
  return { ...rest, method, headers: { accept: "application/json", ...content }, body: text };
}

async function readBody(body: Readable, most: number, asked: Asked, peer: Peer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > most) throw malformed(`more than ${most} bytes`, asked, peer);
      chunks.push(chunk);
    }
  } catch (thrown) {
    throw connectionError(thrown, asked, peer);
  }
  return Buffer.concat(chunks);
}

function parseJson(body: Buffer, asked: Asked, peer: Peer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch (thrown) {
    throw malformed(reasonOf(thrown), asked, peer);
  }
}
