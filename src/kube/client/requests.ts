/** Calls to the API server: bounded responses, typed errors, and retries where that is safe. */
import { goJson } from "../../market/sorted-json.ts";
import { type Clock, sleep, withDeadline } from "../../runtime/clock.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { minute } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { kubeCallMs, redactorSecretLeastChars } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { redacted } from "../../runtime/redact.ts";
import { fieldsOf, listOf } from "../json-fields.ts";
import type { CallOptions, KubeCounts, ProxyAnswer } from "../kube.ts";
import {
  answerTooLarge,
  apiError,
  backOffMs,
  connectionError,
  kubeCauses,
  kubeReasonChars,
  malformedAnswer,
  type Operation,
} from "./api-errors.ts";
import type { KubeAnswer, Lane, SentRequest, Transport } from "./transport.ts";

/** Default limit of a call with its retries: a rolling restart of an API server is over by then. */
const kubeWholeCallMs = 2 * minute;
/** Size limit of a response. */
export const kubeAnswerBytes = 64 * 1024 * 1024;
/** Tries of a call that may be repeated. */
const kubeTries = 5;

/** Limits of a call with all its requests. */
export interface RequestLimits {
  readonly signal?: AbortSignal | undefined;
  /** Deadline by the monotonic clock. */
  readonly untilMs?: number | undefined;
}

export interface Request extends Operation, RequestLimits {
  readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** Not retried: the caller retries itself. */
  readonly once?: boolean;
  /** How long the server may take to begin its response. */
  readonly answerMs?: number;
  /** A larger response is an error. */
  readonly mostBytes?: number;
  /** Not idempotent: not retried where a try may have been carried out. */
  readonly neverTwice?: boolean;
  readonly onWarnings?: (texts: readonly string[]) => void;
  /** Called before a retry when the try before may have been carried out. */
  readonly onLost?: () => void;
}

type Bounded = Operation & Pick<Request, "mostBytes">;
type Trying = Pick<Request, "method" | "signal" | "untilMs" | "once" | "neverTwice" | "onLost">;

interface RequestDeps extends RuntimeDeps {
  readonly transport: Transport;
  /** Aborted when the client is closed: then nothing is retried. */
  readonly closing: AbortSignal;
}

export type Requests = ReturnType<typeof createRequests>;

export function createRequests({ transport, clock, random, closing, log }: RequestDeps) {
  const counts: KubeCounts = { requests: 0, retries: 0, applied: 0, unchanged: 0, warnings: 0 };
  const warningsOf = createWarnings(log, counts);

  function leftMs(untilMs: number): number {
    return Math.max(0, Math.ceil(untilMs - clock.monotonicMs()));
  }

  /** Starts the deadline of a call. */
  function begin({ signal, deadlineMs = kubeWholeCallMs }: CallOptions): RequestLimits & { readonly untilMs: number } {
    return { signal, untilMs: clock.monotonicMs() + deadlineMs };
  }

  async function send(request: SentRequest, untilMs: number): Promise<KubeAnswer> {
    request.signal?.throwIfAborted();
    const timeMs = leftMs(untilMs);
    if (timeMs <= 0) throw connectionError(new Error("no time is left for it"), request, await transport.peer());
    counts.requests += 1;
    const answerMs = Math.min(request.answerMs ?? kubeCallMs, timeMs);
    const sent = transport.send({ ...request, answerMs });
    try {
      return await endedBy(sent, request.signal);
    } catch (thrown) {
      // A response that still comes must not stay open.
      if (request.signal?.aborted) sent.then(({ body }) => body.destroy()).catch(() => undefined);
      throw thrown;
    }
  }

  async function accepted(request: Request, lane: Lane, untilMs: number): Promise<KubeAnswer> {
    const answer = await send({ ...sentOf(request), lane }, untilMs);
    const { status, headers, peer } = answer;
    const hide = hideSent(request.body);
    const warnings = warningsOf({ headers, peer, hide }, request);
    if (warnings.length > 0) request.onWarnings?.(warnings);
    if (status >= 200 && status < 300) return answer;
    const body = await readBody(clock, answer, request, leftMs(untilMs));
    if (status === 401) transport.rejected();
    throw apiError({ status, headers, body: body.toString(), hide }, request, peer);
  }

  async function tried<T>(request: Trying, attempt: (untilMs: number) => Promise<T>): Promise<T> {
    const { untilMs = begin({}).untilMs } = request;
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt(untilMs);
      } catch (thrown) {
        request.signal?.throwIfAborted();
        const isLast = request.once || closing.aborted || tries >= kubeTries;
        if (isLast || !mayTryAgain(request, thrown, tries)) throw thrown;
        const pauseMs = backOffMs(random, tries, thrown);
        // The error says more than that the deadline passed during the pause.
        if (clock.monotonicMs() + pauseMs >= untilMs) throw thrown;
        if (mayHaveHappened(thrown)) request.onLost?.();
        counts.retries += 1;
        const signal = request.signal ? AbortSignal.any([request.signal, closing]) : closing;
        try {
          await sleep(clock, pauseMs, signal);
        } catch (reason) {
          throw closing.aborted ? thrown : reason;
        }
      }
    }
  }

  return {
    begin,
    /** Throws an error for a status other than 2xx. */
    json: (request: Request): Promise<unknown> =>
      tried(request, async (untilMs) => {
        const answer = await accepted(request, "calls", untilMs);
        const body = await readBody(clock, answer, request, leftMs(untilMs));
        try {
          return JSON.parse(body.toString());
        } catch (thrown) {
          throw malformedAnswer(reasonOf(thrown), request, answer.peer);
        }
      }),
    /** Resolves with the head of the response. The caller watches for silence and destroys the body. */
    stream: (request: Request): Promise<KubeAnswer> =>
      tried(request, (untilMs) => accepted(request, "streams", untilMs)),
    /** A response of any status; never sent twice. */
    proxied: (request: Request): Promise<ProxyAnswer> =>
      tried({ ...request, once: true }, async (untilMs) => {
        const sent = { ...request, method: "GET", headers: {}, body: undefined };
        const answer = await send({ ...sent, lane: "proxied", neverTwice: true }, untilMs);
        const { status, headers } = answer;
        return { status, headers, body: await readBody(clock, answer, request, leftMs(untilMs)) };
      }),
    peer: () => transport.peer(),
    counts,
  };
}

/** Bounded in size and time. */
async function readBody(clock: Clock, { body, peer }: KubeAnswer, request: Bounded, leftMs: number): Promise<Buffer> {
  const { mostBytes = kubeAnswerBytes } = request;
  const limitMs = Math.min(kubeCallMs, leftMs);
  const readAll = async () => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > mostBytes) throw answerTooLarge(mostBytes, request, peer);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  };
  const late = () => {
    throw new Error(`the answer did not end within ${limitMs} ms`);
  };
  try {
    return await withDeadline(clock, limitMs, readAll(), late);
  } catch (thrown) {
    throw connectionError(thrown, request, peer);
  } finally {
    body.destroy();
  }
}

/** A create or a patch that may have happened must not happen twice; all else is idempotent. */
function mayTryAgain({ method = "GET", neverTwice = false }: Trying, thrown: unknown, tries: number): boolean {
  // Once, since a rejected token was dropped and is read anew.
  if (ProviderError.is(thrown, "AKP_KUBE_UNAUTHORIZED")) return tries === 1;
  if (ProviderError.is(thrown, "AKP_KUBE_BUSY")) return true;
  if (method === "POST" || neverTwice) return false;
  return mayHaveHappened(thrown);
}

/** The response was lost, or a load balancer or a stopping server answered. */
function mayHaveHappened(thrown: unknown): boolean {
  return ProviderError.is(thrown, "AKP_KUBE_UNREACHABLE") || ProviderError.is(thrown, "AKP_KUBE_FAILED");
}

function sentOf({ method = "GET", body, contentType = "application/json", ...rest }: Request): SentRequest {
  const { verb, resource, path, signal, answerMs } = rest;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const content = text === undefined ? {} : { "content-type": contentType };
  const headers = { accept: "application/json", ...content };
  // A delete that is silently sent again would look as if the object had never been there.
  const neverTwice = method === "DELETE" || (rest.neverTwice ?? false);
  return { verb, resource, path, signal, method, headers, body: text, neverTwice, ...(answerMs && { answerMs }) };
}

/** Warnings remembered, so that each is logged once: a cluster has a few dozen. */
export const kubeWarnings = 256;

type Warned = Pick<KubeAnswer, "headers" | "peer"> & { readonly hide: (text: string) => string };

/** Reads the warnings of an answer; each text is logged once. */
export function createWarnings(log: Log, counts: KubeCounts) {
  const logged = new Set<string>();
  return ({ headers, peer, hide }: Warned, { verb, resource }: Operation): readonly string[] => {
    const { warning } = headers;
    if (warning === undefined) return [];
    const texts = readWarnings(warning).map((text) => hide(peer.mask?.(text) ?? text));
    counts.warnings += texts.length;
    for (const text of texts) {
      if (logged.has(text)) continue;
      if (logged.size >= kubeWarnings) logged.clear();
      logged.add(text);
      log.info("API server warning", { verb, resource, warning: text });
    }
    return texts;
  };
}

/** `299 - "text", 299 - "another"`, in which a backslash stands before quotes and backslashes. */
export function readWarnings(header: string | readonly string[]): string[] {
  const texts = [header].flat().flatMap((line) => [...line.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)]);
  return texts.slice(0, kubeCauses).map(([, text = ""]) => text.replaceAll(/\\(.)/g, "$1").slice(0, kubeReasonChars));
}

/** Hides the secrets of what was sent in what came back: servers and webhooks repeat what they reject, and we log that. */
export function hideSent(body: unknown): (text: string) => string {
  let forms: readonly string[] | undefined;
  return (text) => {
    // The longest first: one may be the beginning of another.
    forms ??= [...new Set([...secretsIn(body)].flatMap(formsOf))].sort((a, b) => b.length - a.length);
    return forms.reduce(hide, text);
  };
}

/** Environment, commands and arguments of containers, and the data of Secrets and credentials. */
function* secretsIn(value: unknown): Iterable<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    if (name === "env") yield* listOf(part).map(variableValue);
    else if (name === "command" || name === "args") yield* listOf(part).filter(isText);
    else if (name === "data" || name === "credentials") yield* Object.values(fieldsOf(part)).filter(isText);
    else yield* secretsIn(part);
  }
}

/** Of a container's variable, or of "NAME=value" as a manifest has it. Without a value the name may be the secret. */
function variableValue(variable: unknown): string {
  if (typeof variable !== "string") return `${fieldsOf(variable)["value"] ?? fieldsOf(variable)["name"] ?? ""}`;
  return variable.slice(variable.indexOf("=") + 1);
}

const isText = (value: unknown) => typeof value === "string";

/** As it stands in a text, in JSON, and quoted in that; Go's JSON escapes more characters. */
function formsOf(secret: string): string[] {
  if (secret.length < redactorSecretLeastChars) return [];
  const json = inside(JSON.stringify(secret));
  return [secret, json, inside(JSON.stringify(json)), inside(goJson(secret)), inside(goJson(json))];
}

const inside = (quoted: string) => quoted.slice(1, -1);

/** A longer value is found by its beginning: a message may truncate it. */
const prefixChars = 64;

function hide(text: string, form: string): string {
  const beginning = form.slice(0, prefixChars);
  let [shown, from] = ["", 0];
  for (let at = text.indexOf(beginning); at !== -1; at = text.indexOf(beginning, from)) {
    let chars = beginning.length;
    while (chars < form.length && text[at + chars] === form[chars]) chars += 1;
    shown += text.slice(from, at) + redacted;
    from = at + chars;
  }
  return shown + text.slice(from);
}
