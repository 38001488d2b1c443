/** Errors of the API server and of broken connections. */
import { growingPauseMs } from "../../runtime/back-off.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf, systemCodeOf } from "../../runtime/errors.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import { fieldsOf } from "../json-fields.ts";

/** Bounds of what is kept of an error response: characters of its message, and causes. */
export const kubeReasonChars = 2_000;
export const kubeCauses = 20;
/** Upper bound of the server's Retry-After; flow control sends seconds. */
const kubeRetryAfterMostMs = 30 * second;

/** For messages: "watch" "pods", "delete" "services web of q9f6…". */
export interface Operation {
  readonly verb: string;
  readonly resource: string;
}

export interface Peer {
  readonly server: URL;
  readonly path: string;
  /** Masks our credentials: a proxy may repeat a whole request in its response. */
  readonly mask?: (text: string) => string;
}

interface Status {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly name?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly Cause[];
  };
}

/** "FieldManagerConflict" of ".spec.replicas" */
interface Cause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

interface ErrorResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** Hides secrets of the request in what is shown; the error is classified by the whole message. */
  readonly hide?: (text: string) => string;
}

export function apiError(response: ErrorResponse, operation: Operation, peer: Peer): ProviderError {
  const { status, headers = {}, hide = (text) => text } = response;
  const body = peer.mask?.(response.body) ?? response.body;
  const said = readStatus(body);
  const reason = said.message || body.trim() || `status ${status}`;
  const shown = said.message ? cut(hide(reason)) : hide(reason).slice(0, 300);
  const causes = (said.details?.causes ?? []).slice(0, kubeCauses);
  // With the server's reason and causes, for callers that distinguish more errors than our codes.
  const shownCauses = causes.map(({ message, ...cause }) => ({
    ...cause,
    ...(message && { message: cut(hide(message)) }),
  }));
  const details = { ...wordsOf(operation), status, reason: shown, statusReason: said.reason, causes: shownCauses };
  if (status === 401) return new ProviderError("AKP_KUBE_UNAUTHORIZED", { ...wordsOf(operation), ...about(peer) });
  if (status === 403) return new ProviderError(forbiddenBy(causes, reason), details);
  // The status names an object; without a name the path is not served.
  if (status === 404)
    return new ProviderError(said.details?.name ? "AKP_KUBE_NOT_FOUND" : "AKP_KUBE_KIND_MISSING", details);
  if (status === 409) return new ProviderError(conflictOf(said.reason, causes, reason), details);
  if (status === 410) return new ProviderError("AKP_KUBE_GONE", details);
  const retryAfterMs = readRetryAfter(headers["retry-after"], said.details?.retryAfterSeconds);
  if (status === 429) return new ProviderError("AKP_KUBE_BUSY", { ...details, retryAfterMs });
  if (status === 422 && patchMissed.test(reason)) {
    const missed = "a test of the patch failed, or a path of it leads nowhere";
    return new ProviderError("AKP_KUBE_CONFLICT", { ...details, reason: missed });
  }
  if (status >= 500 && !notOfItsKind.test(reason))
    return new ProviderError("AKP_KUBE_FAILED", { ...details, retryAfterMs });
  return new ProviderError("AKP_KUBE_REFUSED", details);
}

/** The server repeats the rejected object, at any length. */
function cut(text: string): string {
  return text.slice(0, kubeReasonChars);
}

/** RBAC, a terminating namespace, an admission policy, or a quota, distinguished by the message. */
function forbiddenBy(causes: readonly Cause[], message: string) {
  if (causes.some(({ reason }) => reason === "NamespaceTerminating")) return "AKP_KUBE_TERMINATING";
  if (deniedByRule.test(message)) return "AKP_KUBE_REFUSED";
  return message.includes("exceeded quota: ") ? "AKP_KUBE_QUOTA" : "AKP_KUBE_FORBIDDEN";
}

/** An admission policy, such as Gatekeeper's: also a 403, but more permissions would not help. */
const deniedByRule =
  /^admission webhook "[^"]{1,253}" denied the request|ValidatingAdmissionPolicy '[^']{1,253}' with binding '[^']{1,253}' denied request/;

function conflictOf(word: string | undefined, causes: readonly Cause[], message: string) {
  if (word === "AlreadyExists") return "AKP_KUBE_EXISTS";
  if (causes.some(({ reason }) => reason === "FieldManagerConflict")) return "AKP_KUBE_OWNED";
  // The second where the applied object does not exist.
  if (/UID in (the )?precondition|uid mismatch/.test(message)) return "AKP_KUBE_OTHER_UID";
  return "AKP_KUBE_CONFLICT";
}

/** The message for a JSON patch that does not fit the object. */
const patchMissed = /^the server rejected our request due to an error in our request$/;

/** The server responds 500 to an applied object with an unknown field. */
const notOfItsKind = /^failed to create typed patch object/;

/** An ERROR event of a watch. */
export function statusEventError(object: unknown, operation: Operation, peer: Peer): ProviderError {
  const status = Number(fieldsOf(object)["code"]) || 500;
  return apiError({ status, body: JSON.stringify(object ?? null) }, operation, peer);
}

/** Codes of OpenSSL for certificates that do not verify. */
const distrust = /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH)/;

export function connectionError(thrown: unknown, operation: Operation, peer: Peer): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  const details = { ...wordsOf(operation), ...about(peer), reason: reasonOf(thrown) };
  const code = distrust.test(systemCodeOf(thrown) ?? "") ? "AKP_KUBE_UNTRUSTED" : "AKP_KUBE_UNREACHABLE";
  return new ProviderError(code, details, { cause: thrown });
}

export function answerTooLarge(bytes: number, operation: Operation, peer: Peer): ProviderError {
  return new ProviderError("AKP_KUBE_ANSWER_TOO_LARGE", { ...wordsOf(operation), ...about(peer), bytes });
}

export function malformedAnswer(reason: string, operation: Operation, peer: Peer): ProviderError {
  return new ProviderError("AKP_KUBE_ANSWER_MALFORMED", { ...wordsOf(operation), ...about(peer), reason });
}

/** Transient: a restart of the API server or of the kubelet. */
export function isTransient(thrown: unknown): boolean {
  const transient = ["AKP_KUBE_UNREACHABLE", "AKP_KUBE_FAILED", "AKP_KUBE_BUSY", "AKP_KUBE_UNAUTHORIZED"];
  return thrown instanceof ProviderError && transient.includes(thrown.code);
}

/** An admission webhook that has side effects. */
export function isDryRunUnsupported(thrown: unknown): boolean {
  if (!ProviderError.is(thrown, "AKP_KUBE_REFUSED")) return false;
  return /^admission webhook ".*" does not support dry run$/.test(String(thrown.details["reason"]));
}

/** Whether the server rejects the object itself, by schema, webhook or policy, rather than our request. */
export function isObjectRejected(thrown: unknown): boolean {
  if (!ProviderError.is(thrown, "AKP_KUBE_REFUSED")) return false;
  const reason = String(thrown.details["reason"]);
  const isAboutObject = thrown.details["status"] === 422 || deniedByRule.test(reason) || notOfItsKind.test(reason);
  return isAboutObject && !reason.includes("field not declared in schema");
}

/** Only these two fields: the operation may be a whole request with secrets. */
function wordsOf({ verb, resource }: Operation): Operation {
  return { verb, resource };
}

function about({ server, path }: Peer): { server: string; path: string } {
  return { server: server.origin, path };
}

function readRetryAfter(header: string | string[] | undefined, given: number | undefined): number | undefined {
  const seconds = typeof header === "string" && /^\d+$/.test(header) ? Number(header) : given;
  return seconds === undefined ? undefined : Math.min(seconds * 1_000, kubeRetryAfterMostMs);
}

/** Empty for a body in plain text, as proxies send it. */
function readStatus(body: string): Status {
  return fieldsOf(parseJson(body)) as Status;
}

/** Pauses between tries grow from this one, unless the server requests another. */
export const kubeRetryFirstMs = 250;
/** The longest pause, so that an API server that is back is noticed soon. */
export const kubeRetryMostMs = 5 * second;

/** How much later than requested at most, so that not all clients come back in the same instant. */
const retryAfterSpread = 0.2;

export function backOffMs(random: Random, failures: number, thrown?: unknown): number {
  const requestedMs = thrown instanceof ProviderError ? thrown.details["retryAfterMs"] : undefined;
  // Never sooner than the server wants, only spread.
  if (typeof requestedMs === "number" && requestedMs > 0) return requestedMs * (1 + retryAfterSpread * random.next());
  return jitter(random, growingPauseMs(kubeRetryFirstMs, kubeRetryMostMs, failures));
}
