/** Reads a JWT without verifying its signature. */
import { type Address, findAddress } from "../../market/address.ts";
import { type GoJson, type GoObject, isList, isNumber, readFirstValue, readUint } from "../../market/go-json.ts";
import { AuthError, type DeploymentGrant, type Grant, scopes, type TokenScope } from "./identity.ts";

/** A token for ten deployments has 2,000. */
export const tokenChars = 16_384;
/** Claims that are read have four levels; other claims may have more. */
const tokenJsonDepth = 32;
const tokenJsonValues = 4_096;

const algorithms = ["ES256K", "ES256KADR36"] as const;

/** One message for all faults, as in the Go provider: it does not reveal which check failed. */
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

export function readToken(text: string) {
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
  const text = bytesOf(part).toString();
  try {
    const json = readFirstValue(text, { mostDepth: tokenJsonDepth, mostValues: tokenJsonValues, alone: true });
    if (isObject(json)) return json;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw malformedToken();
}

function isObject(json: GoJson): json is GoObject {
  return json !== null && typeof json === "object" && !isList(json) && !isNumber(json);
}

/** Node also takes characters that are not base64 and unused bits: one token would have several texts. */
function bytesOf(part: string): Buffer {
  const bytes = Buffer.from(part, "base64url");
  if (bytes.length === 0 || bytes.toString("base64url") !== part) throw malformedToken();
  return bytes;
}

// Claims, as the Go provider reads them: an unreadable one makes the token invalid, a wrong one its claims, an unknown one is ignored.

/** How far a tenant's clock may be ahead of ours. The expiry is exact. */
export const tokenClockSkewMs = 10_000;

export type Claims = ReturnType<typeof readClaims>;

export function readClaims(json: GoJson, provider: Address) {
  const claims = fieldsOf(json);
  const issuer = addressIn(stringOf(claims.get("iss")));
  const [issuedMs, fromMs, untilMs] = ["iat", "nbf", "exp"].map((name) => timeOf(claims.get(name)));
  const version = stringOf(claims.get("version"));
  const leases = permissionOf(claims.get("leases"));
  const permissions = listOf(fieldsOf(claims.get("leases")).get("permissions"), permissionOf);
  check(issuedMs !== undefined && version === "v1");
  if (fromMs === undefined || untilMs === undefined) throw invalidClaims();
  return { issuer, fromMs, untilMs, grant: grantOf(leases, permissions, provider) };
}

/** Checked for every request, as a cached token expires. */
export function checkTimes({ fromMs, untilMs }: Claims, nowMs: number): void {
  check(nowMs >= fromMs - tokenClockSkewMs);
  if (nowMs >= untilMs) throw new AuthError(401, "JWT is expired");
}

type Permission = ReturnType<typeof permissionOf>;

function permissionOf(json: GoJson | undefined) {
  const fields = fieldsOf(json);
  const provider = stringOf(fields.get("provider"));
  return {
    access: stringOf(fields.get("access")),
    provider: provider && addressIn(provider),
    scope: listOf(fields.get("scope"), stringOf),
    deployments: listOf(fields.get("deployments"), deploymentOf),
  };
}

function deploymentOf(json: GoJson) {
  const fields = fieldsOf(json);
  return {
    dseq: uintOf(fields.get("dseq"), 64),
    gseq: Number(uintOf(fields.get("gseq"), 32)),
    oseq: Number(uintOf(fields.get("oseq"), 32)),
    scope: listOf(fields.get("scope"), stringOf),
    services: listOf(fields.get("services"), stringOf),
  };
}

/** All of it must be valid, then the permission for this provider counts. */
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

/** Of an access without a list of permissions; undefined where it is granular. */
function plainGrant(access: string, scope: Permission["scope"], list: readonly unknown[] | undefined) {
  if (access === "full") {
    check(!scope?.length && !list?.length);
    return { access } as const;
  }
  check(access === "granular" || (access === "scoped" && list === undefined));
  return access === "scoped" ? ({ access, scopes: scopesIn(scope) } as const) : undefined;
}

function grantForDeployment(deployment: ReturnType<typeof deploymentOf>): DeploymentGrant {
  const { dseq, gseq, oseq, scope, services } = deployment;
  check(dseq > 0n && (oseq === 0 || gseq !== 0) && isDistinct(services));
  return { dseq, gseq, oseq, scopes: scopesIn(scope), services: new Set(services) };
}

/** Unknown ones, of newer tools, are ignored. */
function scopesIn(list: readonly string[] | undefined): ReadonlySet<TokenScope> {
  check(isDistinct(list));
  return new Set(scopes.filter((known) => list?.includes(known)));
}

/** Not empty, and without duplicates. */
function isDistinct(list: readonly string[] | undefined): boolean {
  return !!list?.length && new Set(list).size === list.length;
}

function check(holds: boolean): void {
  if (!holds) throw invalidClaims();
}

function invalidClaims(): AuthError {
  return new AuthError(400, "JWT has invalid claims");
}

// What Go's decoder makes of JSON: null is as if absent.

function fieldsOf(json: GoJson | undefined): ReadonlyMap<string, GoJson> {
  if (json === null || json === undefined) return new Map();
  if (!isObject(json)) throw malformedToken();
  return new Map(json.fields);
}

function stringOf(json: GoJson | undefined): string {
  if (json === null || json === undefined) return "";
  if (typeof json !== "string") throw malformedToken();
  return json;
}

function listOf<T>(json: GoJson | undefined, read: (item: GoJson) => T): readonly T[] | undefined {
  if (json === null || json === undefined) return undefined;
  if (!isList(json)) throw malformedToken();
  return json.map(read);
}

function uintOf(json: GoJson | undefined, bits: number): bigint {
  if (json === null || json === undefined) return 0n;
  const value = readUint(json, bits);
  if (value === undefined) throw malformedToken();
  return value;
}

const decimal = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Seconds, as a number or as a string; fractions are dropped. */
function timeOf(json: GoJson | undefined): number | undefined {
  if (json === null || json === undefined) return undefined;
  const digits = isNumber(json) ? json.digits : stringOf(json);
  const seconds = Math.trunc(Number(digits));
  if (!decimal.test(digits) || !Number.isFinite(seconds)) throw malformedToken();
  return seconds * 1_000;
}

function addressIn(text: string): Address {
  const address = findAddress(text);
  if (!address) throw malformedToken();
  return address;
}
