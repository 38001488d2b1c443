/** Tokens of a tenant's commands. */
import type { Signer } from "../../chain/keys/signer.ts";
import type { Scope } from "../auth/identity.ts";

type TokenSigner = Pick<Signer, "address" | "sign">;

/** Long enough for any request and for clocks that differ; who steals one has no more time than that. */
const lifeSeconds = 15 * 60;

/** A stream ends with its token: a day's work at a shell, or a log that is followed over night. */
const streamLifeSeconds = 24 * 3_600;

/** As the network's CLI issues them: good for everything that the account may do, for a quarter of an hour. */
export function issueToken(signer: TokenSigner, nowMs: number): string {
  return issue(signer, nowMs, lifeSeconds, { access: "full" });
}

interface StreamLimits {
  readonly scope: Scope;
  /** Undefined where nobody knows whose server it is. */
  readonly provider: string | undefined;
}

/** It lasts, so it opens no more than its stream needs. */
export function issueStreamToken(signer: TokenSigner, nowMs: number, { scope, provider }: StreamLimits): string {
  const scoped = { access: "scoped", scope: [scope] };
  const leases = provider === undefined ? scoped : { access: "granular", permissions: [{ provider, ...scoped }] };
  return issue(signer, nowMs, streamLifeSeconds, leases);
}

function issue(signer: TokenSigner, nowMs: number, seconds: number, leases: object): string {
  const now = Math.floor(nowMs / 1_000);
  const header = { alg: "ES256K", typ: "JWT" };
  const claims = { iss: signer.address, iat: now, nbf: now, exp: now + seconds, version: "v1", leases };
  const signed = `${encoded(JSON.stringify(header))}.${encoded(JSON.stringify(claims))}`;
  return `${signed}.${encoded(signer.sign(Buffer.from(signed)))}`;
}

function encoded(content: string | Uint8Array): string {
  return Buffer.from(content as Uint8Array).toString("base64url");
}
