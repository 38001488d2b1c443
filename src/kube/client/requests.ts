/** Calls to the API server: bounded answers, what refusals mean, and a second try where that is safe. */

import { goJson } from "../../market/sorted-json.ts";
import { type Clock, sleep, withDeadline } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { kubeCallMs, redactorSecretLeastChars } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import type { Random } from "../../runtime/random.ts";
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
  type Peer,
} from "./api-errors.ts";
import { createListItems } from "./list-items.ts";
import type { KubeAnswer, Lane, SentRequest, Transport } from "./transport.ts";

/** A call with all its tries, unless its caller says otherwise: a rolling restart of an API server is over by then. */
const kubeWholeCallMs = 2 * minute;
/** An answer: 500 objects of 100 KB; most are a tenth of that. */
export const kubeAnswerBytes = 64 * 1024 * 1024;
/** Tries of a call that may be repeated: a rolling restart of an API server is over within them. */
const kubeTries = 5;

/** A call that has begun; it may take several requests. */
export interface RequestLimits {
  readonly signal?: AbortSignal | undefined;
  /** By the monotonic clock: then it is over, whatever it has come to. */
  readonly untilMs?: number | undefined;
}

interface Request extends Operation, RequestLimits {
  readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** One try only: the caller has its own way of trying again. */
  readonly once?: boolean;
  /** How long the server may take to begin its answer. */
  readonly answerMs?: number;
  /** Carried out twice it would do more than once: after a try that may have been, there is no other. */
  readonly neverTwice?: boolean;
  readonly onWarnings?: (texts: readonly string[]) => void;
  /** Told before another try, when the one before it may have been carried out and its answer was lost. */
  readonly onLost?: () => void;
}

/** What a pod or a service is asked for. */
interface ProxiedRequest extends Operation, RequestLimits {
  readonly path: string;
  /** A longer answer is refused. */
  readonly mostBytes: number;
}

type Trying = Pick<Request, "method" | "signal" | "untilMs" | "once" | "neverTwice" | "onLost">;

export interface Requests {
  /** From now on its time is running. */
  begin(options: CallOptions): RequestLimits;
  /** The answer as JSON; throws what a refusal means. */
  json(request: Request): Promise<unknown>;
  /** Of a list: each item as soon as it is there, and at last what the list says besides. */
  items<T>(request: Request, make: (item: unknown) => T): Promise<ItemsAnswer<T>>;
  /** The answer while it comes, once the server has accepted. The caller watches for silence and destroys it. */
  stream(request: Request): Promise<KubeAnswer>;
  /** Whatever the answer is, refusals too; never sent twice. */
  proxied(request: ProxiedRequest): Promise<ProxyAnswer>;
  peer(): Promise<Peer>;
  readonly counts: KubeCounts;
}

interface ItemsAnswer<T> {
  readonly made: T[];
  /** With an empty list in the place of the items. */
  readonly rest: unknown;
}

interface RequestDeps {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted when the client is closed: then nothing is tried again. */
  readonly closing: AbortSignal;
  readonly log: Log;
}

export function createRequests({ transport, clock, random, closing, log }: RequestDeps): Requests {
  const counts: KubeCounts = { requests: 0, retries: 0, applied: 0, unchanged: 0, warnings: 0 };
  const warningsOf = createWarnings(log, counts);
  const { bodyOf, eachChunk } = createBodyReader(clock);

  function leftMs(untilMs: number): number {
    return Math.max(0, Math.ceil(untilMs - clock.monotonicMs()));
  }

  function begin({ signal, deadlineMs = kubeWholeCallMs }: CallOptions) {
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
      // An answer that still comes is wanted by nobody.
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
    const body = await bodyOf(answer, request, kubeAnswerBytes, leftMs(untilMs));
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
        // What went wrong says more than that the time ran out while we waited.
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
    json: (request) =>
      tried(request, async (untilMs) => {
        const answer = await accepted(request, "calls", untilMs);
        const body = await bodyOf(answer, request, kubeAnswerBytes, leftMs(untilMs));
        return parsed(() => JSON.parse(body.toString()), request, answer.peer);
      }),
    items: (request, make) =>
      tried(request, async (untilMs) => {
        const answer = await accepted(request, "calls", untilMs);
        const made: ReturnType<typeof make>[] = [];
        const list = createListItems((item) => made.push(make(item)));
        const write = (chunk: Buffer) => parsed(() => list.write(chunk), request, answer.peer);
        await eachChunk(answer, request, kubeAnswerBytes, leftMs(untilMs), write);
        return { made, rest: parsed(list.end, request, answer.peer) };
      }),
    stream: (request) => tried(request, (untilMs) => accepted(request, "streams", untilMs)),
    proxied: (request) =>
      tried({ ...request, once: true }, async (untilMs) => {
        const asked = { ...request, method: "GET", headers: {}, body: undefined };
        const answer = await send({ ...asked, lane: "proxied", neverTwice: true }, untilMs);
        const { status, headers } = answer;
        return { status, headers, body: await bodyOf(answer, request, request.mostBytes, leftMs(untilMs)) };
      }),
    peer: () => transport.peer(),
    counts,
  };
}

/** Reads bodies up to a size and within a time. */
function createBodyReader(clock: Clock) {
  async function bodyOf(answer: KubeAnswer, request: Operation, most: number, leftMs: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    await eachChunk(answer, request, most, leftMs, (chunk) => chunks.push(chunk));
    return Buffer.concat(chunks);
  }

  async function eachChunk(
    { body, peer }: KubeAnswer,
    request: Operation,
    most: number,
    leftMs: number,
    take: (chunk: Buffer) => void,
  ): Promise<void> {
    const limitMs = Math.min(kubeCallMs, leftMs);
    const readAll = async () => {
      let bytes = 0;
      for await (const chunk of body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > most) throw answerTooLarge(most, request, peer);
        take(chunk);
      }
    };
    const late = () => {
      throw new Error(`the answer did not end within ${limitMs} ms`);
    };
    try {
      await withDeadline(clock, limitMs, readAll(), late);
    } catch (thrown) {
      throw connectionError(thrown, request, peer);
    } finally {
      body.destroy();
    }
  }

  return { bodyOf, eachChunk };
}

/** A create or a patch that may have happened must not happen twice; all else says what should be, however often. */
function mayTryAgain({ method = "GET", neverTwice = false }: Trying, thrown: unknown, tries: number): boolean {
  // The token may just have been renewed: what it was is forgotten by now, so once more.
  if (ProviderError.is(thrown, "AKP_KUBE_UNAUTHORIZED")) return tries === 1;
  if (ProviderError.is(thrown, "AKP_KUBE_BUSY")) return true;
  if (method === "POST" || neverTwice) return false;
  return mayHaveHappened(thrown);
}

/** The answer was lost on its way, or somebody else answered who does not know: a balancer, a server that stops. */
function mayHaveHappened(thrown: unknown): boolean {
  return ProviderError.is(thrown, "AKP_KUBE_UNREACHABLE") || ProviderError.is(thrown, "AKP_KUBE_FAILED");
}

function sentOf({ method = "GET", body, contentType = "application/json", ...rest }: Request): SentRequest {
  const { verb, resource, path, signal, answerMs } = rest;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const content = text === undefined ? {} : { "content-type": contentType };
  const headers = { accept: "application/json", ...content };
  // What was deleted by a request that is sent again in silence would look as if it had never been there.
  const neverTwice = method === "DELETE" || (rest.neverTwice ?? false);
  return { verb, resource, path, signal, method, headers, body: text, neverTwice, ...(answerMs && { answerMs }) };
}

function parsed<T>(parse: () => T, asked: Operation, peer: Peer): T {
  try {
    return parse();
  } catch (thrown) {
    throw thrown instanceof SyntaxError ? malformedAnswer(reasonOf(thrown), asked, peer) : thrown;
  }
}

/** Texts of warnings that are remembered, so that each is logged once: a cluster has a few dozen. */
export const kubeWarnings = 256;

interface Warned extends Pick<KubeAnswer, "headers" | "peer"> {
  /** Takes out of a text what we sent in confidence. */
  readonly hide: (text: string) => string;
}

/** Reads the warnings of an answer; each text is logged once. */
export function createWarnings(log: Log, counts: KubeCounts) {
  const told = new Set<string>();
  return ({ headers, peer, hide }: Warned, { verb, resource }: Operation): readonly string[] => {
    const { warning } = headers;
    if (warning === undefined) return none;
    const texts = readWarnings(warning).map((text) => hide(peer.mask?.(text) ?? text));
    counts.warnings += texts.length;
    for (const text of texts) {
      if (told.has(text)) continue;
      if (told.size >= kubeWarnings) told.clear();
      told.add(text);
      log.info("API server warning", { verb, resource, warning: text });
    }
    return texts;
  };
}

const none: readonly string[] = [];

/** `299 - "text", 299 - "another"`, in which a backslash stands before quotes and backslashes. */
export function readWarnings(header: string | readonly string[]): string[] {
  const texts = [header].flat().flatMap((line) => [...line.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)]);
  return texts.slice(0, kubeCauses).map(([, text = ""]) => text.replaceAll(/\\(.)/g, "$1").slice(0, kubeReasonChars));
}

/** Hides the secrets of what was sent in what came back: servers and webhooks repeat what they reject, and we log that. */
export function hideSent(body: unknown): (text: string) => string {
  let forms: readonly string[] | undefined;
  return (text) => {
    forms ??= [...new Set([...secretsIn(body)].flatMap(formsOf))].sort(longestFirst);
    return forms.reduce(hide, text);
  };
}

/** So that of two that begin alike the whole of the longer one is hidden. */
function longestFirst(a: string, b: string): number {
  return b.length - a.length;
}

/** What a tenant gives a container to know: its environment and its arguments. And what secrets and credentials hold. */
function* secretsIn(value: unknown): Iterable<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    if (name === "env") yield* listOf(part).map(variableValue);
    else if (name === "command" || name === "args") yield* textsIn(listOf(part));
    else if (name === "data" || name === "credentials") yield* textsIn(Object.values(fieldsOf(part)));
    else yield* secretsIn(part);
  }
}

/** Of a container's variable, or of one as a manifest has it. What has no value may be one with its name forgotten. */
function variableValue(variable: unknown): string {
  if (typeof variable !== "string") return `${fieldsOf(variable)["value"] ?? fieldsOf(variable)["name"] ?? ""}`;
  return variable.slice(variable.indexOf("=") + 1);
}

function textsIn(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === "string");
}

/** As it stands in a text, in the JSON of an answer, and quoted in that; Go escapes some more signs there. */
function formsOf(secret: string): string[] {
  if (secret.length < redactorSecretLeastChars) return [];
  const json = inside(JSON.stringify(secret));
  return [secret, json, inside(JSON.stringify(json)), inside(goJson(secret)), inside(goJson(json))];
}

/** Of a text in quotes. */
function inside(quoted: string): string {
  return quoted.slice(1, -1);
}

/** Beyond this a value is known by its beginning: whoever repeats a long one may cut it off. */
const tellingChars = 64;

function hide(text: string, form: string): string {
  const beginning = form.slice(0, tellingChars);
  let [shown, from] = ["", 0];
  for (let at = text.indexOf(beginning); at !== -1; at = text.indexOf(beginning, from)) {
    let chars = beginning.length;
    while (chars < form.length && text[at + chars] === form[chars]) chars += 1;
    shown += text.slice(from, at) + redacted;
    from = at + chars;
  }
  return shown + text.slice(from);
}
