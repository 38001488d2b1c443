/** Tokens as the network's CLI issues them: good for everything that the account may do, for a quarter of an hour. */
import type { Signer } from "../../chain/keys/signer.ts";

/** Long enough for any request and for clocks that differ; who steals one has no more time than that. */
const lifeSeconds = 15 * 60;

export function issueToken(signer: Pick<Signer, "address" | "sign">, nowMs: number): string {
  const now = Math.floor(nowMs / 1_000);
  const header = { alg: "ES256K", typ: "JWT" };
  const claims = {
    ...{ iss: signer.address, iat: now, nbf: now, exp: now + lifeSeconds },
    ...{ version: "v1", leases: { access: "full" } },
  };
  const signed = `${encoded(JSON.stringify(header))}.${encoded(JSON.stringify(claims))}`;
  return `${signed}.${encoded(signer.sign(Buffer.from(signed)))}`;
}

function encoded(content: string | Uint8Array): string {
  return Buffer.from(content as Uint8Array).toString("base64url");
}
