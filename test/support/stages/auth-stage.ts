/** An authenticator with accounts and certificates of its own on the virtual clock, and tokens in any shape, good or bad. */
import { X509Certificate } from "node:crypto";
import { makeCertificate } from "../../../src/chain/certificates/make-certificate.ts";
import { createSigner, type Signer } from "../../../src/chain/keys/signer.ts";
import type { SigningKey } from "../../../src/gateway/auth/account-keys.ts";
import { adr36Document, createAuthenticator } from "../../../src/gateway/auth/authenticator.ts";
import { AuthError, type CallerCredentials, type CallerIdentity } from "../../../src/gateway/auth/identity.ts";
import type { Address } from "../../../src/market/address.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock } from "../virtual-clock.ts";

type Json = Readonly<Record<string, unknown>>;

/** Others than those of a gateway stage. */
const random = createSeededRandom(1_001);

/** An account that is the same in every run. */
export function newSigner(): Signer {
  return createSigner(random.bytes(32));
}

export function createAuthStage(startMs?: number) {
  const clock = createVirtualClock(startMs);
  const [tenant, otherTenant, provider] = [newSigner(), newSigner(), newSigner()];
  const keys = new Map<string, SigningKey>();
  for (const { address, publicKey } of [tenant, otherTenant]) keys.set(address, publicKey);
  const onChain = new Map<string, Uint8Array>();
  const lookups: string[] = [];
  const authenticator = createAuthenticator({
    provider: provider.address,
    clock,
    keys: {
      keyOf(address) {
        lookups.push(address);
        return keys.get(address);
      },
    },
    certificates: {
      certificateOf(owner, serial) {
        lookups.push(`${owner}/${serial}`);
        return onChain.get(`${owner}/${serial}`);
      },
    },
  });

  return {
    ...{ clock, tenant, otherTenant, provider: provider.address, keys, onChain, lookups, authenticator },
    /** Claims of the tenant, good for everything and 15 minutes. */
    claims(other: Json = {}): Json {
      const now = Math.floor(clock.now() / 1_000);
      const times = { iat: now, nbf: now, exp: now + 900 };
      return { iss: tenant.address, ...times, version: "v1", leases: { access: "full" }, ...other };
    },
    /** Published unless it is said otherwise. */
    certificate(owner: Address, { fromMs = 0, untilMs = 0, isPublished = true } = {}): Uint8Array {
      const { certificate, serial } = makeCertificate({
        ...{ owner, hosts: [], isServer: false, serial: BigInt(onChain.size + 1) },
        ...{ fromMs: clock.now() + fromMs, untilMs: clock.now() + (untilMs || 3_600_000) },
      });
      const der = new X509Certificate(certificate).raw;
      if (isPublished) onChain.set(`${owner}/${serial}`, der);
      return der;
    },
    /** Who that is, or the rejection as it is sent. */
    async ask(credentials: Partial<CallerCredentials>): Promise<CallerIdentity | string> {
      try {
        const nothing = { authorization: undefined, certificates: [], source: "192.0.2.1" };
        return await authenticator.identify({ ...nothing, ...credentials });
      } catch (error) {
        if (error instanceof AuthError) return `${error.status} ${error.message}`;
        throw error;
      }
    },
    async askWithToken(token: string): Promise<CallerIdentity | string> {
      return this.ask({ authorization: `Bearer ${token}` });
    },
  };
}

export type AuthStage = ReturnType<typeof createAuthStage>;

/** Any header and any claims, signed as the header says. */
export function makeToken(signer: Signer, claims: Json | string, header: Json = {}): string {
  const { alg, ...others } = { alg: "ES256K", typ: "JWT", ...header };
  const payload = typeof claims === "string" ? claims : JSON.stringify(claims);
  const signed = `${base64(JSON.stringify({ alg, ...others }))}.${base64(payload)}`;
  const text = alg === "ES256KADR36" ? adr36Document(signer.address, signed) : signed;
  return `${signed}.${base64(signer.sign(Buffer.from(text)))}`;
}

export function base64(bytes: string | Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}
