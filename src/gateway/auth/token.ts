/** A token's three parts, read and not yet believed. */
import { type GoJson, type GoObject, isList, isNumber, readFirstValue } from "../../market/go-json.ts";
import { AuthRefusal } from "./identity.ts";

/** A token for ten deployments has 2,000; this many deployments more than anybody names one by one. */
export const tokenChars = 16_384;
/** Of what a token says: three levels of lists and objects, and the list of services. Others that it says may be deeper. */
const tokenJsonDepth = 32;
const tokenJsonValues = 4_096;

export interface Token {
  readonly algorithm: Algorithm;
  /** What was signed, as it stands in the token. */
  readonly signed: string;
  readonly claims: GoJson;
  readonly signature: Uint8Array;
}

const algorithms = ["ES256K", "ES256KADR36"] as const;
type Algorithm = (typeof algorithms)[number];

/** The network tells none of these apart, and a stranger need not learn how far his token came. */
export function malformedToken(): AuthRefusal {
  return new AuthRefusal(401, "JWT is invalid");
}

/** The token in an Authorization header; undefined where there is none. */
export function bearerToken(header: string | undefined): string | undefined {
  if (!header) return undefined;
  const [scheme = "", token, ...more] = header.trim().split(/[ \t]+/, 3);
  if (token === undefined || more.length > 0 || scheme.toLowerCase() !== "bearer") {
    throw new AuthRefusal(400, "invalid authorization header");
  }
  return token;
}

export function readToken(text: string): Token {
  if (text.length > tokenChars) throw malformedToken();
  const [header = "", payload = "", signature = "", ...more] = text.split(".", 4);
  if (more.length > 0) throw malformedToken();
  const { alg } = Object.fromEntries(objectIn(header).fields);
  const algorithm = algorithms.find((known) => known === alg);
  if (!algorithm) throw malformedToken();
  const signed = `${header}.${payload}`;
  return { algorithm, signed, claims: objectIn(payload), signature: bytesOf(signature) };
}

function objectIn(part: string): GoObject {
  const json = jsonIn(bytesOf(part).toString());
  if (json === null || typeof json !== "object" || isList(json) || isNumber(json)) throw malformedToken();
  return json;
}

function jsonIn(text: string): GoJson {
  try {
    return readFirstValue(text, { mostDepth: tokenJsonDepth, mostValues: tokenJsonValues, alone: true });
  } catch (error) {
    if (error instanceof SyntaxError) throw malformedToken();
    throw error;
  }
}

/** Node's reader takes what is not base64 as well, and bits that belong to no byte: one token would have several texts. */
function bytesOf(part: string): Buffer {
  const bytes = Buffer.from(part, "base64url");
  if (bytes.length === 0 || bytes.toString("base64url") !== part) throw malformedToken();
  return bytes;
}
