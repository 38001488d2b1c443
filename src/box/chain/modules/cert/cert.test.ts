import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { type CertificatePem, certificateManager } from "@akashnetwork/chain-sdk";
import {
  MsgCreateCertificate,
  MsgRevokeCertificate,
  QueryCertificatesRequest,
  QueryCertificatesResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { alice, bob, createTestApp, type TestApp } from "../../../../../test/support/embedded-app.ts";
import { readJsonRecording } from "../../../../../test/support/recordings.ts";
import {
  bits,
  element,
  integer,
  objectId,
  pem,
  printableString,
  sequence,
  set,
  time,
} from "../../../../chain/certificates/make-certificate.ts";
import { checkCertificate } from "./certificate.ts";

/** Made by the public client's own code. Making one takes a while, so they are shared. */
const [first, second, foreign] = (await Promise.all([
  certificateManager.generatePEM(alice.address),
  certificateManager.generatePEM(alice.address),
  certificateManager.generatePEM(bob.address),
])) as [CertificatePem, CertificatePem, CertificatePem];

function create(pem: CertificatePem) {
  const parts = { owner: alice.address, cert: Buffer.from(pem.cert), pubkey: Buffer.from(pem.publicKey) };
  return { typeUrl: "/akash.cert.v1.MsgCreateCertificate", value: MsgCreateCertificate.encode(parts).finish() };
}

function revoke(serial: string) {
  const value = MsgRevokeCertificate.encode({ id: { owner: alice.address, serial } }).finish();
  return { typeUrl: "/akash.cert.v1.MsgRevokeCertificate", value };
}

function list(chain: TestApp, filter: object = {}, pagination: object = {}): QueryCertificatesResponse {
  const request = QueryCertificatesRequest.fromPartial({ filter, pagination });
  const answer = chain.query("/akash.cert.v1.Query/Certificates", QueryCertificatesRequest.encode(request).finish());
  return QueryCertificatesResponse.decode(answer);
}

function serialOf({ cert, publicKey }: CertificatePem): string {
  return checkCertificate(alice.address, Buffer.from(cert), Buffer.from(publicKey)).toString();
}

test("a certificate is put on the chain once, found by its filters, and revoked once", () => {
  const chain = createTestApp([alice]);
  const deliver = (message: ReturnType<typeof create>) => chain.deliver(chain.sign(alice, [message]));
  for (const pem of [first, second]) assert.equal(deliver(create(pem)).code, 0);
  assert.deepEqual([deliver(create(first)).code, deliver(create(first)).log], [3, failed("certificate exists")]);
  assert.equal(list(chain, { owner: alice.address, serial: serialOf(first) }).certificates.length, 1);
  assert.equal(list(chain, { owner: bob.address }).certificates.length, 0);

  assert.equal(deliver(revoke(serialOf(first))).code, 0);
  assert.equal(deliver(revoke(serialOf(first))).log, failed("certificate already revoked"));
  assert.equal(deliver(revoke("1")).log, failed("certificate not found"));
  assert.deepEqual([deliver(revoke("one")).code, deliver(revoke("one")).codespace], [5, "cert"]);
  assert.deepEqual([deliver(create(first)).code, deliver(create(first)).codespace], [3, "cert"]);
  const serials = (state: string) => list(chain, { state }).certificates.map(({ serial }) => serial);
  assert.deepEqual([serials("valid"), serials("revoked")], [[serialOf(second)], [serialOf(first)]]);
  assert.throws(() => serials("good"), /invalid state value/);
});

test("pages of certificates go on where the last one ended, valid ones first, and keep their filter", () => {
  const chain = createTestApp([alice]);
  for (const pem of [first, second]) chain.deliver(chain.sign(alice, [create(pem)]));
  chain.deliver(chain.sign(alice, [revoke(serialOf(first))]));
  const page = list(chain, { owner: alice.address }, { limit: 1 });
  assert.deepEqual(
    page.certificates.map(({ serial }) => serial),
    [serialOf(second)],
  );
  const key = page.pagination?.nextKey ?? new Uint8Array();
  const rest = list(chain, {}, { key });
  assert.deepEqual(
    rest.certificates.map(({ serial }) => serial),
    [serialOf(first)],
  );
  assert.equal(rest.pagination?.nextKey.length, 0);
});

test("a certificate that does not hold is rejected before it costs a fee", () => {
  const chain = createTestApp([alice]);
  const rejection = (pem: Partial<CertificatePem>) => {
    const { code, codespace, gasUsed } = chain.deliver(chain.sign(alice, [create({ ...first, ...pem })]));
    return [code, codespace, gasUsed];
  };
  assert.deepEqual(rejection(foreign), [6, "cert", 0n], "made for someone else");
  assert.deepEqual(rejection({ publicKey: second.publicKey }), [6, "cert", 0n], "signed by another key");
  assert.deepEqual(rejection({ cert: "no certificate" }), [6, "cert", 0n]);
  assert.deepEqual(rejection({ cert: first.publicKey }), [6, "cert", 0n]);
  assert.deepEqual(rejection({ cert: `${first.cert}\n${first.cert}` }), [6, "cert", 0n]);
  assert.deepEqual(rejection({ publicKey: first.cert }), [7, "cert", 0n]);
  assert.deepEqual(rejection({ publicKey: "no key" }), [7, "cert", 0n]);
  const nonsense = "-----BEGIN EC PUBLIC KEY-----\nAAAA\n-----END EC PUBLIC KEY-----\n";
  assert.deepEqual(rejection({ publicKey: nonsense }), [7, "cert", 0n]);
});

/** Signed by a good key, whatever stands in it as its own. */
function strange(publicKeyInIt: Buffer | undefined, serial: Buffer): CertificatePem {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  const name = sequence(set(sequence(objectId("2.5.4.3"), printableString(alice.address))));
  const algorithm = sequence(objectId("1.2.840.10045.4.3.2"));
  const life = sequence(time(0), time(2_000_000_000_000));
  const version = element(0xa0, integer(2n));
  const body = sequence(version, element(0x02, serial), algorithm, name, life, name, publicKeyInIt ?? spki);
  const cert = pem("CERTIFICATE", sequence(body, algorithm, bits(sign("sha256", body, privateKey))));
  return { cert, publicKey: pem("EC PUBLIC KEY", spki), privateKey: "" };
}

test("a certificate whose own key cannot be read, or with a number below zero, is rejected without effect on others", () => {
  const chain = createTestApp([alice]);
  const noPoint = sequence(
    sequence(objectId("1.2.840.10045.2.1"), objectId("1.2.840.10045.3.1.7")),
    bits(Buffer.of(4)),
  );
  const noKind = sequence(sequence(objectId("1.2.3.4")), bits(Buffer.of(4)));
  for (const pem of [
    strange(noPoint, Buffer.of(5)),
    strange(noKind, Buffer.of(5)),
    strange(undefined, Buffer.of(0xfb)),
  ]) {
    const { code, codespace } = chain.deliver(chain.sign(alice, [create(pem)]));
    assert.deepEqual([code, codespace], [6, "cert"]);
  }
  assert.equal(chain.deliver(chain.sign(alice, [create(strange(undefined, Buffer.of(5)))])).code, 0);
});

test("the certificates of a real chain hold, and have the serials that it says", () => {
  const { response } = readJsonRecording<{ response: { value: string } }>(
    "chain/queries/akash.cert.v1.Query.Certificates.json",
  );
  const { certificates } = QueryCertificatesResponse.decode(Buffer.from(response.value, "base64"));
  assert.ok(certificates.length > 0);
  for (const { certificate, serial } of certificates) {
    assert.ok(certificate);
    const owner = /akash1\w{38}/.exec(Buffer.from(pemBody(certificate.cert), "base64").toString("latin1"))?.[0];
    assert.equal(checkCertificate(owner ?? "", certificate.cert, certificate.pubkey).toString(), serial);
  }
});

function pemBody(pem: Uint8Array): string {
  return Buffer.from(pem)
    .toString()
    .replace(/-----.*-----/g, "");
}

function failed(why: string): string {
  return `failed to execute message; message index: 0: ${why}`;
}
