import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { createAuthStage, makeToken, newSigner } from "../../../test/support/stages/auth-stage.ts";
import { makeCertificate } from "../../../test/support/test-certificate.ts";
import { isSignedBy, readClientCertificate, tokenSignatureChecks } from "./authenticator.ts";
import type { CallerIdentity } from "./identity.ts";
import { tokenChars, tokenClockSkewMs } from "./token.ts";

const unknown = "401 tls: attempt to use non-existing or revoked certificate";
const lease = { dseq: 1n, gseq: 1, oseq: 1 };

test("no credentials or an empty header → anonymous", async () => {
  const stage = createAuthStage();
  for (const authorization of [undefined, ""]) {
    const { owner, mayUseProvider } = (await stage.ask({ authorization })) as CallerIdentity;
    assert.deepEqual([owner, mayUseProvider], [undefined, false]);
  }
});

test("a token is good until its end and not a moment longer, however often it was good before", async () => {
  const stage = createAuthStage();
  const token = makeToken(stage.tenant, stage.claims());
  assert.equal(ownerOf(await stage.askWithToken(token)), stage.tenant.address);
  stage.clock.jump(899_999);
  assert.equal(ownerOf(await stage.askWithToken(token)), stage.tenant.address);
  stage.clock.jump(1);
  assert.equal(await stage.askWithToken(token), "401 JWT is expired");
  assert.equal(stage.lookups.length, 1);
});

test("token issued by a clock that is seconds ahead → valid", async () => {
  const stage = createAuthStage();
  const nbf = stage.clock.now() / 1_000 + tokenClockSkewMs / 1_000;
  assert.equal(ownerOf(await stage.askWithToken(makeToken(stage.tenant, stage.claims({ nbf })))), stage.tenant.address);
  const later = makeToken(stage.tenant, stage.claims({ nbf: nbf + 1 }));
  assert.equal(await stage.askWithToken(later), "400 JWT has invalid claims");
});

test("token verified before → accepted synchronously, without a key look-up", async () => {
  const stage = createAuthStage();
  const authorization = `Bearer ${makeToken(stage.tenant, stage.claims())}`;
  await stage.ask({ authorization });
  const again = stage.authenticator.identify({ authorization, certificates: [], source: "192.0.2.1" });
  assert.equal("then" in again, false);
  assert.equal(stage.lookups.length, 1);
});

test("invalid token → no look-up of its key", async () => {
  const stage = createAuthStage();
  const bad: [string, string][] = [
    ["x", "401 JWT is invalid"],
    [makeToken(stage.tenant, stage.claims(), { alg: "none" }), "401 JWT is invalid"],
    [makeToken(stage.tenant, stage.claims({ iss: "akash1x" })), "401 JWT is invalid"],
    [makeToken(stage.tenant, stage.claims({ exp: 1 })), "401 JWT is expired"],
    [makeToken(stage.tenant, stage.claims({ version: "v2" })), "400 JWT has invalid claims"],
    [makeToken(stage.tenant, stage.claims({ jti: "x".repeat(tokenChars) })), "401 JWT is invalid"],
  ];
  for (const [token, rejection] of bad) assert.equal(await stage.askWithToken(token), rejection);
  assert.deepEqual(stage.lookups, []);
});

test("token of an account without a known key → 401", async () => {
  const stage = createAuthStage();
  stage.keys.delete(stage.tenant.address);
  assert.equal(await stage.askWithToken(makeToken(stage.tenant, stage.claims())), "401 JWT is invalid");
});

test("token that expires during the key look-up → expired", async () => {
  const stage = createAuthStage();
  const token = makeToken(stage.tenant, stage.claims());
  const answer = stage.askWithToken(token);
  stage.clock.jump(900_000);
  assert.equal(await answer, "401 JWT is expired");
});

test("a certificate opens what its owner has, everything of it", async () => {
  const stage = createAuthStage();
  const identity = await stage.ask({ certificates: [stage.certificate(stage.tenant.address)] });
  assert.equal(ownerOf(identity), stage.tenant.address);
  assert.equal((identity as CallerIdentity).mayUseLease(lease, "shell"), true);
  assert.equal((identity as CallerIdentity).servicesOf(lease, "shell"), undefined);
});

test("revoked certificate → 401 on an open connection too", async () => {
  const stage = createAuthStage();
  const certificates = [stage.certificate(stage.tenant.address)];
  assert.equal(ownerOf(await stage.ask({ certificates })), stage.tenant.address);
  stage.onChain.clear();
  assert.equal(await stage.ask({ certificates }), unknown);
});

test("a certificate is good in its time alone, on a connection that is open already", async () => {
  const stage = createAuthStage();
  const over = "401 x509: certificate has expired or is not yet valid";
  const certificates = [stage.certificate(stage.tenant.address, { fromMs: 60_000, untilMs: 120_000 })];
  assert.equal(await stage.ask({ certificates }), over);
  stage.clock.jump(60_000);
  assert.equal(ownerOf(await stage.ask({ certificates })), stage.tenant.address);
  stage.clock.jump(60_001);
  assert.equal(await stage.ask({ certificates }), over);
});

test("certificate that differs from the one on chain → 401", async () => {
  const stage = createAuthStage();
  const forged = stage.certificate(stage.tenant.address, { isPublished: false });
  assert.equal(await stage.ask({ certificates: [forged] }), unknown);
  // Same name and serial, another key.
  const genuine = stage.certificate(stage.tenant.address);
  assert.equal(await stage.ask({ certificates: [forged] }), unknown);
  assert.equal(ownerOf(await stage.ask({ certificates: [genuine] })), stage.tenant.address);
});

test("two certificates → 401", async () => {
  const stage = createAuthStage();
  const certificates = [stage.tenant, stage.otherTenant].map(({ address }) => stage.certificate(address));
  assert.equal(await stage.ask({ certificates }), "401 tls: too many peer certificates");
});

test("certificate and token together → 400 ambiguous", async () => {
  const stage = createAuthStage();
  const certificates = [stage.certificate(stage.tenant.address)];
  const ambiguous = "400 auth: ambiguous authentication. may not use mTLS and JWT at the same time";
  const token = makeToken(stage.tenant, stage.claims());
  assert.equal(await stage.ask({ certificates, authorization: `Bearer ${token}` }), ambiguous);
  assert.equal(await stage.ask({ certificates, authorization: "Bearer x" }), ambiguous);
  assert.equal(await stage.ask({ certificates, authorization: "x" }), "400 invalid authorization header");
  assert.equal(ownerOf(await stage.ask({ certificates, authorization: "" })), stage.tenant.address);
});

test("flood of bad signatures delays no other source", async () => {
  const stage = createAuthStage();
  const [header, payload] = makeToken(stage.tenant, stage.claims()).split(".");
  const forged = `Bearer ${header}.${payload}.${makeToken(stage.otherTenant, {}).split(".")[2]}`;
  let rejected = 0;
  const flood = Array.from({ length: 200 }, async () => {
    assert.equal(await stage.ask({ authorization: forged, source: "198.51.100.1" }), "401 JWT is invalid");
    rejected += 1;
  });
  const authorization = `Bearer ${makeToken(stage.tenant, stage.claims({ jti: "1" }))}`;
  assert.equal(ownerOf(await stage.ask({ authorization, source: "192.0.2.1" })), stage.tenant.address);
  assert(rejected <= 2 * tokenSignatureChecks, `${rejected} of the flood came first`);
  await Promise.all(flood);
});

function ownerOf(answer: CallerIdentity | string): string | undefined {
  return typeof answer === "string" ? answer : answer.owner;
}

const { address } = newSigner();
const der = (pem: string) => new X509Certificate(pem).raw;

test("client certificate → owner, serial and validity", () => {
  const stage = createAuthStage();
  const { owner, serial, fromMs, untilMs } = readClientCertificate(stage.certificate(address));
  assert.deepEqual([owner, serial, fromMs, untilMs - fromMs], [address, 1n, stage.clock.now(), 3_600_000]);
});

test("certificate without an account's name → 401 without a look-up", () => {
  const wrongName = { status: 401, message: "tls: invalid certificate's subject common name" };
  const ca = makeCertificate({ name: "authority" });
  const rejected: [string, object][] = [
    [makeCertificate({ name: "hello" }).certPem, wrongName],
    [makeCertificate({ name: "" }).certPem, wrongName],
    [makeCertificate({ name: `${address}\nCN=${address}` }).certPem, wrongName],
    [makeCertificate({ name: `${address.slice(0, -1)}${address.endsWith("q") ? "p" : "q"}` }).certPem, wrongName],
    [makeCertificate({ name: address, issuer: ca }).certPem, wrongName],
    [makeCertificate({ name: address }).certPem, { message: "x509: certificate specifies an incompatible key usage" }],
  ];
  for (const [pem, error] of rejected) assert.throws(() => readClientCertificate(der(pem)), error);
});

test("bytes that are not a certificate → 401", () => {
  for (const bytes of [
    Buffer.of(),
    Buffer.from("hello"),
    der(makeCertificate({ name: address }).certPem).subarray(1),
  ]) {
    const error = { status: 401, message: "tls: attempt to use non-existing or revoked certificate" };
    assert.throws(() => readClientCertificate(bytes), error);
  }
});

const signer = newSigner();
const text = "text";
const signature = signer.sign(Buffer.from(text));
const [r, s] = [signature.subarray(0, 32), signature.subarray(32)];

test("signature is valid for its key and text only", async () => {
  assert.equal(await isSignedBy(signer.publicKey, text, signature), true);
  assert.equal(await isSignedBy(signer.publicKey, "test", signature), false);
  assert.equal(await isSignedBy(newSigner().publicKey, text, signature), false);
});

test("what is no signature is none", async () => {
  const order = Buffer.from("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", "hex");
  const zero = Buffer.alloc(32);
  for (const bytes of [[], [r], [r, s, [0]], [zero, zero], [zero, s], [r, zero], [order, s], [r, order], [s, r]]) {
    assert.equal(
      await isSignedBy(signer.publicKey, text, Buffer.concat(bytes.map((part) => Buffer.from(part)))),
      false,
    );
  }
});

test("signature with the higher S → invalid", async () => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const high = (order - BigInt(`0x${Buffer.from(s).toString("hex")}`)).toString(16).padStart(64, "0");
  assert.equal(await isSignedBy(signer.publicKey, text, Buffer.concat([r, Buffer.from(high, "hex")])), false);
});

test("invalid key → signature invalid", async () => {
  for (const key of [Buffer.alloc(33), Buffer.alloc(0), signer.publicKey.subarray(1), Buffer.alloc(33, 0xff)]) {
    assert.equal(await isSignedBy(key, text, signature), false);
  }
});
