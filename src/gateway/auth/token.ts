/** A token's three parts, read and not yet believed. */

import { type Address, findAddress } from "../../market/address.ts";
import { type GoJson, type GoObject, isList, isNumber, readFirstValue, readUint } from "../../market/go-json.ts";
import { AuthError, type DeploymentGrant, type Grant, scopes, type TokenScope } from "./identity.ts";

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
export function malformedToken(): AuthError {
  return new AuthError(401, "JWT is invalid");
}

export function bearerToken(header: string | undefined): string | undefined {
  if (!header) return undefined;
  const [scheme = "", token, ...more] = header.trim().split(/[ \t]+/, 3);
  if (token === undefined || more.length > 0 || scheme.toLowerCase() !== "bearer") {
    throw new AuthError(400, "invalid authorization header");
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

// Claims, read as the network's provider reads them: unreadable makes the token invalid, senseless is a fault of its claims, unknown is ignored.

/** How far a tenant's clock may be ahead of ours; machines without NTP are seconds off. A token's end is not put off. */
export const tokenClockSkewMs = 10_000;

export interface Claims {
  readonly issuer: Address;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly grant: Grant;
}

export function readClaims(json: GoJson, provider: Address): Claims {
  const claims = fieldsOf(json);
  const issuer = addressIn(textOf(claims.get("iss")));
  const times = ["iat", "nbf", "exp"].map((name) => timeOf(claims.get(name)));
  const version = textOf(claims.get("version"));
  const leases = permissionOf(claims.get("leases"));
  const permissions = listOf(fieldsOf(claims.get("leases")).get("permissions"), permissionOf);
  const [issuedMs, fromMs, untilMs] = times;
  check(issuedMs !== undefined && version === "v1");
  if (fromMs === undefined || untilMs === undefined) throw invalidClaims();
  return { issuer, fromMs, untilMs, grant: grantOf(leases, permissions, provider) };
}

/** Asked for every request: a token that was good a second ago may be over. */
export function checkTimes({ fromMs, untilMs }: Claims, nowMs: number): void {
  check(nowMs >= fromMs - tokenClockSkewMs);
  if (nowMs >= untilMs) throw new AuthError(401, "JWT is expired");
}

interface Permission {
  readonly access: string;
  readonly provider: Address | "";
  readonly scope: readonly string[] | undefined;
  readonly deployments: readonly Deployment[] | undefined;
}

interface Deployment {
  readonly dseq: bigint;
  readonly gseq: number;
  readonly oseq: number;
  readonly scope: readonly string[] | undefined;
  readonly services: readonly string[] | undefined;
}

function permissionOf(json: GoJson | undefined): Permission {
  const fields = fieldsOf(json);
  const provider = textOf(fields.get("provider"));
  return {
    access: textOf(fields.get("access")),
    provider: provider && addressIn(provider),
    scope: listOf(fields.get("scope"), textOf),
    deployments: listOf(fields.get("deployments"), deploymentOf),
  };
}

function deploymentOf(json: GoJson): Deployment {
  const fields = fieldsOf(json);
  return {
    dseq: wholeOf(fields.get("dseq"), 64),
    gseq: Number(wholeOf(fields.get("gseq"), 32)),
    oseq: Number(wholeOf(fields.get("oseq"), 32)),
    scope: listOf(fields.get("scope"), textOf),
    services: listOf(fields.get("services"), textOf),
  };
}

/** All of it must make sense, and then what is for us counts. */
function grantOf({ access, scope }: Permission, permissions: readonly Permission[] | undefined, us: Address): Grant {
  const plain = plainGrant(access, scope, permissions);
  if (plain) return plain;
  check(isDistinct(permissions?.map(({ provider }) => provider)));
  const grants = (permissions ?? []).map((each) => [each.provider, grantAtProvider(each)] as const);
  return grants.find(([provider]) => provider === us)?.[1] ?? { access: "none" };
}

function grantAtProvider({ provider, access, scope, deployments }: Permission): Grant {
  check(provider !== "");
  const plain = plainGrant(access, scope, deployments);
  if (plain) return plain;
  check(scope === undefined && !!deployments?.length);
  return { access: "granular", deployments: (deployments ?? []).map(grantForDeployment) };
}

/** One that goes into nothing, so that there may be no list of what it is for; undefined where it does. */
function plainGrant(access: string, scope: Permission["scope"], list: readonly unknown[] | undefined) {
  if (access === "full") {
    check(!scope?.length && !list?.length);
    return { access } as const;
  }
  check(access === "granular" || (access === "scoped" && list === undefined));
  return access === "scoped" ? ({ access, scopes: scopesIn(scope) } as const) : undefined;
}

function grantForDeployment({ dseq, gseq, oseq, scope, services }: Deployment): DeploymentGrant {
  check(dseq > 0n && (oseq === 0 || gseq !== 0) && isDistinct(services));
  return { dseq, gseq, oseq, scopes: scopesIn(scope), services: new Set(services) };
}

/** Those that we do not know are of a tool that is newer than we are; they open nothing here. */
function scopesIn(list: readonly string[] | undefined): ReadonlySet<TokenScope> {
  check(isDistinct(list));
  return new Set(scopes.filter((known) => list?.includes(known)));
}

/** There is something in it, and nothing twice. */
function isDistinct(list: readonly string[] | undefined): boolean {
  return !!list?.length && new Set(list).size === list.length;
}

function check(holds: boolean): void {
  if (!holds) throw invalidClaims();
}

function invalidClaims(): AuthError {
  return new AuthError(400, "JWT has invalid claims");
}

// From here on: what Go's decoder makes of JSON. What is null is as good as not given.

function fieldsOf(json: GoJson | undefined): ReadonlyMap<string, GoJson> {
  if (json === null || json === undefined) return new Map();
  if (typeof json !== "object" || isList(json) || isNumber(json)) throw malformedToken();
  return new Map(json.fields);
}

function textOf(json: GoJson | undefined): string {
  if (json === null || json === undefined) return "";
  if (typeof json !== "string") throw malformedToken();
  return json;
}

function listOf<T>(json: GoJson | undefined, read: (item: GoJson) => T): readonly T[] | undefined {
  if (json === null || json === undefined) return undefined;
  if (!isList(json)) throw malformedToken();
  return json.map(read);
}

function wholeOf(json: GoJson | undefined, bits: number): bigint {
  if (json === null || json === undefined) return 0n;
  const whole = readUint(json, bits);
  if (whole === undefined) throw malformedToken();
  return whole;
}

const numeral = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Seconds, and what is behind their point is dropped; a number in quotes does too. */
function timeOf(json: GoJson | undefined): number | undefined {
  if (json === null || json === undefined) return undefined;
  const digits = isNumber(json) ? json.digits : textOf(json);
  const seconds = Math.trunc(Number(digits));
  if (!numeral.test(digits) || !Number.isFinite(seconds)) throw malformedToken();
  return seconds * 1_000;
}

function addressIn(text: string): Address {
  const address = findAddress(text);
  if (!address) throw malformedToken();
  return address;
}
