/** Who makes a request: by token or client certificate. The chain's word counts for every request, as connections outlive revocations. */
import { createPublicKey, hash, type KeyObject, verify, X509Certificate } from "node:crypto";
import { clientAuth, commonName, serialOf } from "../../chain/certificates/certificate-file.ts";
import { type Address, findAddress } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { createFairSemaphore } from "../../runtime/semaphore.ts";
import type { AccountKeys } from "./account-keys.ts";
import type { ChainCertificates } from "./chain-certificates.ts";
import { AuthError, type Authenticator, anonymous, type CallerIdentity, identityOf } from "./identity.ts";
import { bearerToken, type Claims, checkTimes, malformedToken, readClaims, readToken, type Token } from "./token.ts";

export function createAuthenticator(deps: TokenAuthDeps & CertificateAuthDeps): Authenticator {
  const byToken = createTokenAuth(deps);
  const byCertificates = createCertificateAuth(deps);
  return {
    identify({ authorization, certificates, source }) {
      const token = bearerToken(authorization);
      if (certificates.length === 0) return token === undefined ? anonymous : byToken(token, source);
      if (token === undefined) return byCertificates(certificates, source);
      throw new AuthError(400, "auth: ambiguous authentication. may not use mTLS and JWT at the same time");
    },
  };
}

/** One or two per tenant who is connected now. Some 2 KB each. */
const readCertificates = 1_024;

interface CertificateAuthDeps {
  readonly certificates: ChainCertificates;
  readonly clock: Clock;
}

type IdentifyCertificates = (
  presented: readonly Uint8Array[],
  source: string,
) => CallerIdentity | Promise<CallerIdentity>;

interface Read {
  readonly certificate: ClientCertificate;
  readonly identity: CallerIdentity;
}

function createCertificateAuth({ certificates, clock }: CertificateAuthDeps): IdentifyCertificates {
  const recent = createLruCache<Read>({ most: readCertificates });

  function read(der: Uint8Array): Read {
    const digest = hash("sha256", der, "base64");
    const known = recent.get(digest);
    if (known) return known;
    const certificate = readClientCertificate(der);
    const identity = identityOf(certificate.owner, { access: "full" }, certificate.untilMs);
    recent.set(digest, { certificate, identity });
    return { certificate, identity };
  }

  return ([der, ...more], source) => {
    if (!der || more.length > 0) throw tooManyCertificates();
    const { certificate, identity } = read(der);
    checkValidity(certificate, clock.now());
    const onChain = certificates.certificateOf(certificate.owner, certificate.serial, source);
    return onChain instanceof Promise ? onChain.then((found) => compare(found)) : compare(onChain);

    // The same bytes have the same key, and the handshake proved that the client has it.
    function compare(found: Uint8Array | undefined): CallerIdentity {
      if (!found || Buffer.compare(found, der as Uint8Array) !== 0) throw unknownCertificate();
      return identity;
    }
  };
}

interface ClientCertificate {
  readonly owner: Address;
  readonly serial: bigint;
  readonly fromMs: number;
  readonly untilMs: number;
}

export function readClientCertificate(der: Uint8Array): ClientCertificate {
  const certificate = parse(der);
  const name = commonName(certificate.subject);
  const owner = findAddress(name);
  if (!owner || commonName(certificate.issuer) !== name) {
    throw refuse("tls: invalid certificate's subject common name");
  }
  if (!/^[0-9A-F]+$/.test(certificate.serialNumber)) throw unknownCertificate();
  if (!certificate.keyUsage?.includes(clientAuth))
    throw refuse("x509: certificate specifies an incompatible key usage");
  return {
    owner,
    serial: serialOf(certificate),
    fromMs: certificate.validFromDate.getTime(),
    untilMs: certificate.validToDate.getTime(),
  };
}

/** Asked for every request: a connection may last longer than its certificate. */
function checkValidity({ fromMs, untilMs }: ClientCertificate, nowMs: number): void {
  if (nowMs >= fromMs && nowMs <= untilMs) return;
  throw refuse("x509: certificate has expired or is not yet valid");
}

function unknownCertificate(): AuthError {
  return refuse("tls: attempt to use non-existing or revoked certificate");
}

function tooManyCertificates(): AuthError {
  return refuse("tls: too many peer certificates");
}

function refuse(message: string): AuthError {
  return new AuthError(401, message);
}

function parse(der: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch (error) {
    if (error instanceof Error) throw unknownCertificate();
    throw error;
  }
}

// Cheap checks come first, so that a bad token causes no look-up and no signature check; a verified one is remembered until its end.

/** Tools make one per request, which is asked for once; consoles keep theirs for minutes. Some 1 KB each. */
const verifiedTokens = 4_096;
/** Of all tokens that are remembered together: one with a long list of deployments takes several times its length. */
const verifiedTokenChars = 2_097_152;
/** Signatures that are checked at once, by threads that files need too. Each takes 0.4 ms, which anybody can make us spend. */
export const tokenSignatureChecks = 2;

interface TokenAuthDeps {
  readonly provider: Address;
  readonly keys: AccountKeys;
  readonly clock: Clock;
}

type IdentifyToken = (text: string, source: string) => CallerIdentity | Promise<CallerIdentity>;

interface Verified {
  readonly claims: Claims;
  readonly identity: CallerIdentity;
}

function createTokenAuth({ provider, keys, clock }: TokenAuthDeps): IdentifyToken {
  const verified = createLruCache<Verified>({ most: verifiedTokens, mostWeight: verifiedTokenChars });

  const turns = createFairSemaphore(tokenSignatureChecks);

  async function isGood(token: Token, { issuer }: Claims, source: string): Promise<boolean> {
    const key = await keys.keyOf(issuer, source);
    if (key.kind !== "key") return false;
    const { algorithm, signed, signature } = token;
    const text = algorithm === "ES256K" ? signed : adr36Document(issuer, signed);
    return turns(source, () => isSignedBy(key.key, text, signature));
  }

  async function firstSeen(text: string, digest: string, source: string): Promise<CallerIdentity> {
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

// ADR-36: a transaction that can never be sent, with the text in it, for wallets that sign nothing else.

/** The keys are in order and nothing is between them: these very bytes are signed. */
export function adr36Document(signer: Address, text: string): string {
  const data = Buffer.from(text).toString("base64");
  const msgs = [{ type: "sign/MsgSignData", value: { data, signer } }];
  const fee = { amount: [], gas: "0" };
  return JSON.stringify({ account_number: "0", chain_id: "", fee, memo: "", msgs, sequence: "0" });
}

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
