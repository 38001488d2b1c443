/**
 * Who a token is from. What costs nothing is looked at first, so that nobody can have the chain asked or a signature checked
 * with a token that is no good anyway; one whose signature was found good is remembered until its end.
 */
import { hash } from "node:crypto";
import type { Address } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createFairTurns } from "../../runtime/fair-turns.ts";
import { createRecent } from "../../runtime/recent.ts";
import type { AccountKeys } from "./account-keys.ts";
import { adr36Document } from "./adr36.ts";
import { type Claims, checkTimes, readClaims } from "./claims.ts";
import type { Identity } from "./identity.ts";
import { identityOf } from "./permissions.ts";
import { isSignedBy } from "./signature.ts";
import { malformedToken, readToken, type Token } from "./token.ts";

/** Tools make one per request, which is asked for once; consoles keep theirs for minutes. Some 1 KB each. */
const verifiedTokens = 4_096;
/** Of all tokens that are remembered together: one with a long list of deployments takes several times its length. */
const verifiedTokenChars = 2_097_152;
/** Signatures that are checked at once, by threads that files need too. Each takes 0.4 ms, which anybody can make us spend. */
export const tokenSignatureChecks = 2;

export interface TokenAuthDeps {
  readonly provider: Address;
  readonly keys: AccountKeys;
  readonly clock: Clock;
}

type IdentifyToken = (text: string, source: string) => Identity | Promise<Identity>;

interface Verified {
  readonly claims: Claims;
  readonly identity: Identity;
}

export function createTokenAuth({ provider, keys, clock }: TokenAuthDeps): IdentifyToken {
  const verified = createRecent<Verified>({ most: verifiedTokens, mostWeight: verifiedTokenChars });

  const turns = createFairTurns(tokenSignatureChecks);

  async function isGood(token: Token, { issuer }: Claims, source: string): Promise<boolean> {
    const key = await keys.keyOf(issuer, source);
    if (key.kind !== "key") return false;
    const { algorithm, signed, signature } = token;
    const text = algorithm === "ES256K" ? signed : adr36Document(issuer, signed);
    return turns(source, () => isSignedBy(key.key, text, signature));
  }

  async function firstSeen(text: string, digest: string, source: string): Promise<Identity> {
    const token = readToken(text);
    const claims = readClaims(token.claims, provider);
    checkTimes(claims, clock.now());
    if (!(await isGood(token, claims, source))) throw malformedToken();
    // Asking the chain may have taken its time.
    checkTimes(claims, clock.now());
    const identity = identityOf(claims.issuer, claims.grant, claims.untilMs);
    verified.set(digest, { claims, identity }, text.length);
    return identity;
  }

  return (text, source) => {
    const digest = hash("sha256", text, "base64");
    const known = verified.get(digest);
    if (!known) return firstSeen(text, digest, source);
    checkTimes(known.claims, clock.now());
    return known.identity;
  };
}
