/**
 * Recorded answers of the Go gateway, and their comparison with ours. Values of the recording that differ elsewhere
 * (addresses, numbers of deployments, names of pods) are mapped to ours; what differs on purpose is a row with its reason.
 */
import assert from "node:assert/strict";
import type { GatewayRequest, GatewayResponse } from "../support/gateway-client.ts";
import { readJsonRecording } from "../support/recordings.ts";

type Pairs = readonly (readonly [name: string, value: string])[];

interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Pairs;
  readonly body?: string;
  /** The client, in the recorder's words. */
  readonly auth?: string;
  /** Instead of method and path: the bytes that were sent. */
  readonly raw?: string;
  readonly upgrade?: boolean;
  readonly [more: string]: unknown;
}

interface RecordedAnswer {
  readonly status?: number;
  readonly line?: string;
  readonly headers?: Pairs;
  readonly body?: string;
  readonly [more: string]: unknown;
}

export interface RecordedVector {
  readonly name: string;
  readonly request: RecordedRequest;
  readonly answer: RecordedAnswer;
  readonly note?: string;
  readonly [more: string]: unknown;
}

interface RecordedFile {
  /** What differs elsewhere, by the recorder's names for it. */
  readonly volatile: Readonly<Record<string, string>>;
  readonly vectors: readonly RecordedVector[];
}

interface RawFile {
  readonly volatile: Record<string, string>;
  readonly headerSets?: Record<string, Pairs>;
  readonly vectors: RawVector[];
}

interface RawVector {
  readonly name: string;
  readonly request: RecordedRequest;
  readonly note?: string;
  readonly answer?: Record<string, unknown>;
}

/** `name` like "public.json". Sets of headers and bodies that are the same elsewhere are put in. */
export function readGatewayVectors(name: string): RecordedFile {
  const { volatile, headerSets = {}, vectors } = readJsonRecording<RawFile>(`gateway/${name}`);
  return {
    volatile,
    vectors: vectors.map(({ answer = {}, ...vector }): RecordedVector => {
      const { headers, body, ...rest } = answer;
      const pairs = typeof headers === "string" ? headerSets[headers] : (headers as Pairs | undefined);
      const text = body === undefined ? undefined : bodyText(body);
      return {
        ...vector,
        answer: { ...rest, ...(pairs && { headers: pairs }), ...(text !== undefined && { body: text }) },
      };
    }),
  };
}

function bodyText(body: unknown): string {
  if (typeof body === "string") return body;
  const { base64, same } = body as { base64?: string; same?: string };
  if (base64 !== undefined) return Buffer.from(base64, "base64").toString();
  const [file = "", name = ""] = (same ?? "").split(/: (.*)/s);
  const found = readGatewayVectors(file).vectors.find((vector) => vector.name === name);
  assert(found, `a recording named ${same}`);
  return found.answer.body ?? "";
}

/** Recorded values and ours, the longest first, so that none is taken for a part of another. */
export function createTranslation(pairs: Readonly<Record<string, string>>): (recorded: string) => string {
  const sorted = Object.entries(pairs).sort(([a], [b]) => b.length - a.length);
  return (recorded) => sorted.reduce((text, [theirs, ours]) => text.replaceAll(theirs, ours), recorded);
}

/** The recorded request for our gateway, without the credentials that `auth` names. */
export function requestOf({ request }: RecordedVector, translate: (recorded: string) => string): GatewayRequest {
  const { method, path, headers, body } = request;
  const others = headers
    ?.filter(([name]) => name !== "Authorization")
    .map(([name, value]) => [name, translate(value)] as const);
  return {
    method,
    path: translate(path),
    ...(others && { headers: others }),
    ...(body !== undefined && { body: translate(body) }),
  };
}

/** An intended difference: only the given fields differ. */
export interface IntendedAnswer {
  readonly why: string;
  /** Names of the recordings. */
  readonly of: RegExp;
  readonly status?: number;
  readonly line?: string;
  readonly headers?: Pairs;
  readonly body?: string | RegExp;
}

const framing: Pairs = [
  ["Date", "<date>"],
  ["Content-Length", "<length>"],
];

/** Headers of ours, by what the body is. */
export const sent = {
  nothing: framing,
  json: [["Content-Type", "application/json; charset=UTF-8"], ...framing],
  plainJson: [["Content-Type", "application/json"], ...framing],
  text: [["Content-Type", "text/plain; charset=utf-8"], ["X-Content-Type-Options", "nosniff"], ...framing],
} as const satisfies Record<string, Pairs>;

export function rejectedWith(message: string): Pick<IntendedAnswer, "status" | "headers" | "body"> {
  return { status: 401, headers: sent.plainJson, body: JSON.stringify({ message }) };
}

/** Holds our answers against recorded ones; at the end, every intended difference must have been seen. */
export function createComparison(intended: readonly IntendedAnswer[], translate: (recorded: string) => string) {
  const unseen = new Set(intended);
  return {
    compare({ name, answer }: RecordedVector, ours: GatewayResponse): void {
      const row = intended.find(({ of }) => of.test(name));
      if (row) unseen.delete(row);
      const { why: _, of: __, ...other } = row ?? { why: "", of: / / };
      const wanted = { ...answer, ...other };
      const of = `${name}${row ? ` (${row.why})` : ""}`;
      assert.equal(ours.status, wanted.status, `status of ${of}: ${ours.body}`);
      if (wanted.line !== undefined) assert.equal(ours.line, wanted.line, `status line of ${of}`);
      if (wanted.body instanceof RegExp) assert.match(ours.body, wanted.body, `body of ${of}`);
      else assert.equal(ours.body, translate(wanted.body ?? ""), `body of ${of}`);
      if (wanted.headers)
        assert.deepEqual(shownHeaders(ours.headers), shownHeaders(wanted.headers), `headers of ${of}`);
    },
    finish: () => checkAllSeen(unseen),
  };
}

export function checkAllSeen(unseen: ReadonlySet<{ readonly why: string }>): void {
  const left = [...unseen].map(({ why }) => why);
  assert.deepEqual(left, [], "intended differences that nothing shows");
}

/** Recordings that are not replayed yet; at the end, none may be left. */
export function createRecordings<Vector extends RecordedVector>(vectors: readonly Vector[]) {
  const waiting = new Set(vectors);
  return {
    /** Those with such a name, in the order of the recording. */
    take(...names: readonly RegExp[]): Vector[] {
      const chosen = [...waiting].filter(({ name }) => names.some((each) => each.test(name)));
      assert.ok(chosen.length > 0, `recordings named ${names}`);
      for (const vector of chosen) waiting.delete(vector);
      return chosen;
    },
    finish(): void {
      const left = [...waiting].map(({ name }) => name);
      assert.deepEqual(left, [], "not replayed");
    },
  };
}

/** Ours always says how long it is: how a body is cut into pieces no client can see. */
function shownHeaders(headers: Pairs): string[] {
  return headers.map(([name, value]) => {
    if (name === "Date") return /^<date>$|GMT$/.test(value) ? "Date" : `Date: ${value}`;
    if (name === "Age") return name;
    if (name === "Content-Length" || (name === "Transfer-Encoding" && value === "chunked")) return "Content-Length";
    return `${name}: ${value}`;
  });
}
