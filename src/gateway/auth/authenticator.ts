/** Authenticates a request by token or client certificate. Checked for every request, as connections outlive revocations. */
import { createPublicKey, hash, type KeyObject, verify, X509Certificate } from "node:crypto";
import { clientAuth, commonName, serialOf } from "../../chain/certificates/certificate-file.ts";
import { type Address, findAddress } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { createFairSemaphore } from "../../runtime/semaphore.ts";
import type { AccountKeys } from "./account-keys.ts";
import type { ChainCertificates } from "./chain-certificates.ts";
import { AuthError, type Authenticator, anonymous, type CallerIdentity, identityOf } from "./identity.ts";
import { bearerToken, type Claims, checkTimes, malformedToken, readClaims, readToken } from "./token.ts";

interface AuthenticatorDeps {
  readonly provider: Address;
  readonly keys: Pick<AccountKeys, "keyOf">;
  readonly certificates: Pick<ChainCertificates, "certificateOf">;
  readonly clock: Clock;
}

export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const byToken = createTokenAuth(deps);
  const byCertificate = createCertificateAuth(deps);
  return {
    identify({ authorization, certificates, source }) {
      const token = bearerToken(authorization);
      if (certificates.length === 0) return token === undefined ? anonymous : byToken(token, source);
      if (token === undefined) return byCertificate(certificates, source);
      throw new AuthError(400, "auth: ambiguous authentication. may not use mTLS and JWT at the same time");
    },
  };
}

/** One or two per connected tenant, of some 2 KB each. */
const parsedCertificates = 1_024;

function createCertificateAuth({ certificates, clock }: AuthenticatorDeps) {
  const parsed = createLruCache<ReturnType<typeof readClientCertificate>>({ most: parsedCertificates });

  return ([der, ...more]: readonly Uint8Array[], source: string): CallerIdentity | Promise<CallerIdentity> => {
    if (!der || more.length > 0) throw unauthorized("tls: too many peer certificates");
    const digest = hash("sha256", der, "base64");
    const certificate = parsed.get(digest) ?? readClientCertificate(der);
    parsed.set(digest, certificate);
    const nowMs = clock.now();
    if (nowMs < certificate.fromMs || nowMs > certificate.untilMs)
      throw unauthorized("x509: certificate has expired or is not yet valid");
    const onChain = certificates.certificateOf(certificate.owner, certificate.serial, source);
    return onChain instanceof Promise ? onChain.then(compare) : compare(onChain);

    // The same bytes have the same key, and the handshake proved that the client has it.
    function compare(found: Uint8Array | undefined): CallerIdentity {
      if (!found || Buffer.compare(found, der as Uint8Array) !== 0) throw unknownCertificate();
      return certificate.identity;
    }
  };
}

export function readClientCertificate(der: Uint8Array) {
  const certificate = parse(der);
  const name = commonName(certificate.subject);
  const owner = findAddress(name);
  if (!owner || commonName(certificate.issuer) !== name)
    throw unauthorized("tls: invalid certificate's subject common name");
  if (!/^[0-9A-F]+$/.test(certificate.serialNumber)) throw unknownCertificate();
  if (!certificate.keyUsage?.includes(clientAuth))
    throw unauthorized("x509: certificate specifies an incompatible key usage");
  const [fromMs, untilMs] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
  const identity = identityOf(owner, { access: "full" }, untilMs);
  return { owner, serial: serialOf(certificate), fromMs, untilMs, identity };
}

function parse(der: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch {
    throw unknownCertificate();
  }
}

function unknownCertificate(): AuthError {
  return unauthorized("tls: attempt to use non-existing or revoked certificate");
}

function unauthorized(message: string): AuthError {
  return new AuthError(401, message);
}

// Cheap checks come first, so that a bad token causes no look-up and no signature check; a verified one is cached until it expires.

/** Tools make one per request, consoles keep theirs for minutes. Some 1 KB each. */
const verifiedTokens = 4_096;
/** Total length of the cached tokens: one with a long list of deployments takes several times its length. */
const verifiedTokenChars = 2_097_152;
/** Signatures verified at once, on threads that files need too. Each takes 0.4 ms, which any client can cause. */
export const tokenSignatureChecks = 2;

function createTokenAuth({ provider, keys, clock }: AuthenticatorDeps) {
  const verified = createLruCache<{ readonly claims: Claims; readonly identity: CallerIdentity }>({
    ...{ most: verifiedTokens, mostWeight: verifiedTokenChars },
  });
  const inTurn = createFairSemaphore(tokenSignatureChecks);

  async function verifyToken(text: string, digest: string, source: string): Promise<CallerIdentity> {
    const token = readToken(text);
    const claims = readClaims(token.claims, provider);
    const { issuer } = claims;
    checkTimes(claims, clock.now());
    const key = await keys.keyOf(issuer, source);
    const signed = token.algorithm === "ES256K" ? token.signed : adr36Document(issuer, token.signed);
    if (!key || !(await inTurn(source, () => isSignedBy(key, signed, token.signature)))) throw malformedToken();
    // Reading the key from the chain takes time.
    checkTimes(claims, clock.now());
    const identity = identityOf(issuer, claims.grant, claims.untilMs);
    verified.set(digest, { claims, identity }, text.length);
    return identity;
  }

  return (text: string, source: string): CallerIdentity | Promise<CallerIdentity> => {
    const digest = hash("sha256", text, "base64");
    const known = verified.get(digest);
    if (!known) return verifyToken(text, digest, source);
    checkTimes(known.claims, clock.now());
    return known.identity;
  };
}

/** ADR-36: a transaction that can never be sent, for wallets that sign nothing else. These very bytes are signed. */
export function adr36Document(signer: Address, text: string): string {
  const data = Buffer.from(text).toString("base64");
  const msgs = [{ type: "sign/MsgSignData", value: { data, signer } }];
  const fee = { amount: [], gas: "0" };
  return JSON.stringify({ account_number: "0", chain_id: "", fee, memo: "", msgs, sequence: "0" });
}

/** The DER header that makes a compressed secp256k1 key one that OpenSSL reads. */
const keyPrefix = Buffer.from("3036301006072a8648ce3d020106052b8104000a032200", "hex");
const signatureBytes = 64;
/** Of the two equivalent signatures, with S and with the curve's order less S, the network takes the one with the lower S. */
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

/** Undefined where it is not a point on the curve. */
function readKey(key: Uint8Array): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.concat([keyPrefix, key]), format: "der", type: "spki" });
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}
