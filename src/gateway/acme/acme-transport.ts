/**
 * How acme-client's requests reach the authority. In the place of its own way, which repeats by itself for as long as the
 * authority wants, cannot be ended, and loses why nobody could be reached.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type Clock, parseTime } from "../../runtime/clock.ts";
import { hour, second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { bodyOf, inTime } from "../../runtime/fetch-text.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { parseJson } from "../../runtime/parse-json.ts";

/** Of an authority to one request; those that make us wait longer are asked again. */
const acmeAnswerMs = 30 * second;
/** A chain of certificates has 10 KB. */
export const acmeAnswerBytes = 256 * 1024;
/** Of what an authority says is wrong. */
const acmeReasonChars = 400;
/** … and at most, also where the authority names a time: then a person may have put it right long ago. */
export const acmePauseMostMs = 6 * hour;

interface AcmeRequest {
  readonly url?: string;
  readonly method?: string;
  readonly data?: string;
}

interface Call {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const call = new AsyncLocalStorage<Call>();

/** What is asked of the authority while `ask` runs ends with the signal. */
export function withCall<T>(under: Call, ask: () => Promise<T>): Promise<T> {
  return call.run(under, ask);
}

/** What acme-client calls an adapter. */
export async function carry<Request extends AcmeRequest>(request: Request) {
  const { url = "", method = "get", data } = request;
  const { clock, signal } = call.getStore() ?? {};
  if (!clock || !signal) throw new Error("the authority is asked outside of a call");
  const { answer, text } = await inTime({ limitMs: acmeAnswerMs, clock, signal }, async (late) => {
    const isPost = method.toLowerCase() === "post";
    const fetched = await fetch(url, {
      method: method.toUpperCase(),
      headers: { "content-type": "application/jose+json", "user-agent": "akash-provider" },
      ...(data !== undefined && { body: data }),
      // What is signed is for one address and no other.
      redirect: isPost ? "error" : "follow",
      signal: late,
    });
    return { answer: fetched, text: await bodyOf(fetched, acmeAnswerBytes) };
  }).catch((cause) => {
    signal.throwIfAborted();
    throw new ProviderError("AKP_ACME_UNREACHABLE", { url, reason: reasonOf(cause) }, { cause });
  });
  refuse(url, answer, text, clock);
  return { data: text, status: answer.status, statusText: "", headers: headersOf(answer), config: request };
}

/** Throws what the authority says is wrong. */
function refuse(url: string, { status, headers }: Response, text: string, clock: Clock): void {
  if (status < 400) return;
  const problem = parseJson(text);
  const { type, detail, subproblems } = isRecord(problem) ? problem : {};
  const kind = typeof type === "string" ? type.replace("urn:ietf:params:acme:error:", "") : "";
  // acme-client asks again by itself.
  if (kind === "badNonce") return;
  const said = [detail, ...(Array.isArray(subproblems) ? subproblems.map(detailOf) : [])].filter(Boolean).join("; ");
  throw new ProviderError("AKP_ACME_REFUSED", {
    ...{ url, status, kind: inBrief(kind || "no reason given") },
    reason: inBrief(said || `status ${status}`),
    retryAfterMs: retryAfterMs(headers.get("retry-after"), clock),
  });
}

export function detailOf(problem: unknown): string {
  return isRecord(problem) && typeof problem["detail"] === "string" ? inBrief(problem["detail"]) : "";
}

/** For logs and people: an authority's words may be long. */
export function inBrief(text: string, chars: number = acmeReasonChars): string {
  return text.replaceAll(/\s+/g, " ").slice(0, chars);
}

function retryAfterMs(text: string | null, clock: Clock): number {
  if (!text) return 0;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : parseTime(text) - clock.now();
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), acmePauseMostMs) : 0;
}

function headersOf({ headers }: Response): Record<string, string> {
  return Object.fromEntries(headers);
}
