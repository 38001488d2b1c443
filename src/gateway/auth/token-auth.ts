/**
 * Who a token is from. What costs nothing is looked at first, so that nobody can have the chain asked or a signature checked
 * with a token that is no good anyway; one whose signature was found good is remembered until its end.
 */
import { createPublicKey, hash, type KeyObject, verify } from "node:crypto";
import type { Address } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createFairTurns } from "../../runtime/fair-turns.ts";
import { createRecent } from "../../runtime/recent.ts";
import type { AccountKeys } from "./account-keys.ts";
import { type Claims, checkTimes, readClaims } from "./claims.ts";
import type { Identity } from "./identity.ts";
import { identityOf } from "./permissions.ts";
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

// What a wallet signs that signs nothing but transactions: one that can never be sent, with the text in it.

/** The keys are in order and nothing is between them: these very bytes are signed. */
export function adr36Document(signer: Address, text: string): string {
  const data = Buffer.from(text).toString("base64");
  const msgs = [{ type: "sign/MsgSignData", value: { data, signer } }];
  const fee = { amount: [], gas: "0" };
  return JSON.stringify({ account_number: "0", chain_id: "", fee, memo: "", msgs, sequence: "0" });
}

// Checks signatures of accounts, outside of the event loop.

/** What stands before a compressed secp256k1 key to make it one that OpenSSL reads: its kind, its curve, its length. */
const keyPrefix = Buffer.from("3036301006072a8648ce3d020106052b8104000a032200", "hex");
const signatureBytes = 64;
/** Of every signature there are two, with S and with the curve's order less S; the network takes the one with the lower S. */
const highestS = Buffer.from("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0", "hex");

/** R and S in 32 bytes each, over the SHA-256 of the text. */
export async function isSignedBy(key: Uint8Array, text: string, signature: Uint8Array): Promise<boolean> {
  if (signature.length !== signatureBytes || highestS.compare(signature, 32) < 0) return false;
  const publicKey = readKey(key);
  if (!publicKey) return false;
  return new Promise((resolve, reject) =>
    verify("sha256", Buffer.from(text), { key: publicKey, dsaEncoding: "ieee-p1363" }, signature, (error, isGood) => {
      if (error) reject(error);
      else resolve(isGood);
    }),
  );
}

/** Undefined where it is no point of the curve; nobody can have signed with it. */
function readKey(key: Uint8Array): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.concat([keyPrefix, key]), format: "der", type: "spki" });
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}
