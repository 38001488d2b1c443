/** What the API server's refusals and broken connections mean to us. */

import { growingPauseMs } from "../../runtime/back-off.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf, systemCodeOf } from "../../runtime/errors.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import { fieldsOf } from "../json-fields.ts";

/** What is kept of a refusal: a sentence or two, and of what was wrong the first few things. */
export const kubeReasonChars = 2_000;
export const kubeCauses = 20;
/** The longest pause that the server may ask of us; flow control asks for seconds. */
const kubeRetryAfterMostMs = 30 * second;

/** What was asked, for messages: "watch" "pods", "delete" "services web of q9f6…". */
export interface Operation {
  readonly verb: string;
  readonly resource: string;
}

export interface Peer {
  readonly server: URL;
  readonly path: string;
  /** Takes our credentials out of what it says: a proxy may repeat a whole request, and refusals are shown to many. */
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

/** One thing that was wrong, for programs: "FieldManagerConflict" of ".spec.replicas". */
interface Cause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** Takes what we sent in confidence out of what is shown; what kind of refusal it is, the server's own words say. */
  readonly hide?: (text: string) => string;
}

export function apiError(refusal: Refusal, asked: Operation, peer: Peer): ProviderError {
  const { status, headers = {}, hide = (text) => text } = refusal;
  const body = peer.mask?.(refusal.body) ?? refusal.body;
  const said = readStatus(body);
  const reason = said.message || body.trim() || `status ${status}`;
  const shown = said.message ? cut(hide(reason)) : hide(reason).slice(0, 300);
  const causes = (said.details?.causes ?? []).slice(0, kubeCauses);
  // The server's own word for it, and what exactly was wrong, for whoever must tell more refusals apart than we do.
  const shownCauses = causes.map(({ message, ...cause }) => ({
    ...cause,
    ...(message && { message: cut(hide(message)) }),
  }));
  const details = { ...wordsOf(asked), status, reason: shown, statusReason: said.reason, causes: shownCauses };
  if (status === 401) return new ProviderError("AKP_KUBE_UNAUTHORIZED", { ...wordsOf(asked), ...about(peer) });
  if (status === 403) return new ProviderError(forbiddenBy(causes, reason), details);
  // For an object the status names it; a path that the server does not serve is another thing.
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

/** The server repeats what it refuses, at whatever length. */
function cut(text: string): string {
  return text.slice(0, kubeReasonChars);
}

/** Who says no: the rules about rights, a namespace on its way out, a rule about objects, or a quota, which give no cause but their words. */
function forbiddenBy(causes: readonly Cause[], message: string) {
  if (causes.some(({ reason }) => reason === "NamespaceTerminating")) return "AKP_KUBE_TERMINATING";
  if (deniedByRule.test(message)) return "AKP_KUBE_REFUSED";
  return message.includes("exceeded quota: ") ? "AKP_KUBE_QUOTA" : "AKP_KUBE_FORBIDDEN";
}

/** A rule about what may be there at all, such as Gatekeeper's: it says 403 too, and more rights would not help. */
const deniedByRule =
  /^admission webhook "[^"]{1,253}" denied the request|ValidatingAdmissionPolicy '[^']{1,253}' with binding '[^']{1,253}' denied request/;

function conflictOf(word: string | undefined, causes: readonly Cause[], message: string) {
  if (word === "AlreadyExists") return "AKP_KUBE_EXISTS";
  if (causes.some(({ reason }) => reason === "FieldManagerConflict")) return "AKP_KUBE_OWNED";
  // The first of an object that has another uid; the second of one that is to be applied and is not there at all.
  if (/UID in (the )?precondition|uid mismatch/.test(message)) return "AKP_KUBE_OTHER_UID";
  return "AKP_KUBE_CONFLICT";
}

/** All that the server says of a JSON patch that does not fit the object. */
const patchMissed = /^the server rejected our request due to an error in our request$/;

/** The server calls it a failure of its own when an applied object has a field that its kind does not have. */
const notOfItsKind = /^failed to create typed patch object/;

/** An error that came in the middle of a watch. */
export function statusEventError(object: unknown, asked: Operation, peer: Peer): ProviderError {
  const status = Number(fieldsOf(object)["code"]) || 500;
  return apiError({ status, body: JSON.stringify(object ?? null) }, asked, peer);
}

/** What OpenSSL says about a certificate that it does not like begins with one of these. */
const distrust = /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH)/;

export function connectionError(thrown: unknown, asked: Operation, peer: Peer): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  const details = { ...wordsOf(asked), ...about(peer), reason: reasonOf(thrown) };
  const code = distrust.test(systemCodeOf(thrown) ?? "") ? "AKP_KUBE_UNTRUSTED" : "AKP_KUBE_UNREACHABLE";
  return new ProviderError(code, details, { cause: thrown });
}

export function answerTooLarge(bytes: number, asked: Operation, peer: Peer): ProviderError {
  return new ProviderError("AKP_KUBE_ANSWER_TOO_LARGE", { ...wordsOf(asked), ...about(peer), bytes });
}

export function malformedAnswer(reason: string, asked: Operation, peer: Peer): ProviderError {
  return new ProviderError("AKP_KUBE_ANSWER_MALFORMED", { ...wordsOf(asked), ...about(peer), reason });
}

/** What goes away by itself: a restart of the API server or of the node's agent. */
export function isPassing(thrown: unknown): boolean {
  const passing = ["AKP_KUBE_UNREACHABLE", "AKP_KUBE_FAILED", "AKP_KUBE_BUSY", "AKP_KUBE_UNAUTHORIZED"];
  return thrown instanceof ProviderError && passing.includes(thrown.code);
}

/** Of a dry run: somebody whom the server asks about writes cannot be asked without writing. */
export function cannotBeTried(thrown: unknown): boolean {
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

/** How long the server asked us to wait, if it did. */
export function retryAfterMsOf(error: unknown): number | undefined {
  const asked = error instanceof ProviderError ? error.details["retryAfterMs"] : undefined;
  return typeof asked === "number" ? asked : undefined;
}

/** Only these: what was asked may be a whole request, with a token and a tenant's secrets in it. */
function wordsOf({ verb, resource }: Operation): Operation {
  return { verb, resource };
}

function about({ server, path }: Peer): { server: string; path: string } {
  return { server: server.origin, path };
}

function readRetryAfter(header: string | string[] | undefined, told: number | undefined): number | undefined {
  const seconds = typeof header === "string" && /^\d+$/.test(header) ? Number(header) : told;
  return seconds === undefined ? undefined : Math.min(seconds * 1_000, kubeRetryAfterMostMs);
}

/** A proxy in between, or a path that nobody serves, answers in plain words. */
function readStatus(body: string): Status {
  return fieldsOf(parseJson(body)) as Status;
}

/** How long to wait before the next try: what the server asked for, or longer with every failure. */
export const kubeRetryFirstMs = 250;
/** An API server that came back is noticed this soon. */
export const kubeRetryMostMs = 5 * second;

/** How much later than asked at most, so that not everybody who was asked comes back in the same instant. */
const laterShare = 0.2;

export function backOffMs(random: Random, failures: number, thrown?: unknown): number {
  const asked = retryAfterMsOf(thrown);
  // Never sooner than asked, only spread. A server that asks for no pause at all gets ours.
  if (asked) return asked * (1 + laterShare * random.next());
  return jitter(random, growingPauseMs(kubeRetryFirstMs, kubeRetryMostMs, failures));
}
