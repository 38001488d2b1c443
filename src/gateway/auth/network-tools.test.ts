/** Credentials made by the network's own code from npm, as its tools and Akash Console make them. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { certificateManager, JwtTokenManager } from "@akashnetwork/chain-sdk";
import { createAuthStage } from "../../../test/support/stages/auth-stage.ts";
import { sortedJson } from "../../market/sorted-json.ts";
import type { CallerIdentity } from "./identity.ts";

const lease = { dseq: 7n, gseq: 1, oseq: 1 };

/** Their code looks at the real time before it signs. */
function toolStage() {
  const stage = createAuthStage(Date.now());
  const { address, publicKey, sign } = stage.tenant;
  const signed = (bytes: string | Uint8Array) => ({
    pub_key: { type: "tendermint/PubKeySecp256k1", value: Buffer.from(publicKey).toString("base64") },
    signature: Buffer.from(sign(Buffer.from(bytes))).toString("base64"),
  });
  const now = Math.floor(stage.clock.now() / 1_000);
  const claims = { version: "v1", iss: address, iat: now, nbf: now, exp: now + 900 } as const;
  return { stage, address, claims, signed };
}

test("a token that a wallet signed as it signs transactions is good", async () => {
  const { stage, address, claims, signed } = toolStage();
  const wallet = new JwtTokenManager({
    getAccounts: async () => [{ address, algo: "secp256k1" as const, pubkey: stage.tenant.publicKey }],
    signAmino: async (_, document) => ({ signed: document, signature: signed(sortedJson(document)) }),
  });
  const token = await wallet.generateToken({ ...claims, leases: { access: "full" } });
  const { owner, mayUseLease } = (await stage.askWithToken(token)) as CallerIdentity;
  assert.equal(owner, address);
  assert.equal(mayUseLease(lease, "shell"), true);
});

test("a token that a key signed by itself is good, for what it says", async () => {
  const { stage, address, claims, signed } = toolStage();
  const key = new JwtTokenManager({ algorithm: "ES256K", signArbitrary: async (_, data) => signed(data) });
  const deployments = [{ dseq: 7, scope: ["logs" as const, "status" as const], services: ["web"] }];
  const permissions = [{ provider: stage.provider, access: "granular" as const, deployments }];
  const leases = { access: "granular" as const, permissions };
  const identity = (await stage.askWithToken(await key.generateToken({ ...claims, leases }))) as CallerIdentity;
  assert.equal(identity.owner, address);
  assert.equal(identity.mayUseLease(lease, "status"), true);
  assert.equal(identity.mayUseLease(lease, "shell"), false);
  assert.deepEqual(identity.servicesOf(lease, "logs"), new Set(["web"]));
  // A signer cannot issue tokens for another account.
  const forged = await key.generateToken({ ...claims, iss: stage.otherTenant.address, leases });
  assert.equal(await stage.askWithToken(forged), "401 JWT is invalid");
});

test("a certificate of the network's tools is its owner's when it is on the chain", async () => {
  const { stage, address } = toolStage();
  const validFrom = new Date(stage.clock.now());
  const { cert } = await certificateManager.generatePEM(address, { validFrom });
  const { raw, serialNumber } = new X509Certificate(cert);
  const unknown = "401 tls: attempt to use non-existing or revoked certificate";
  assert.equal(await stage.ask({ certificates: [raw] }), unknown);
  stage.onChain.set(`${address}/${BigInt(`0x${serialNumber}`)}`, raw);
  assert.equal(((await stage.ask({ certificates: [raw] })) as CallerIdentity).owner, address);
});
