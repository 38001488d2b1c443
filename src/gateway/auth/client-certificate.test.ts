import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { createAuthStage, newSigner } from "../../../test/auth-stage.ts";
import { makeCertificate } from "../../../test/test-certificate.ts";
import { readClientCertificate } from "./client-certificate.ts";

const { address } = newSigner();
const der = (pem: string) => new X509Certificate(pem).raw;

test("a certificate says whose it is, its number, and from when until when", () => {
  const stage = createAuthStage();
  const { owner, serial, fromMs, untilMs } = readClientCertificate(stage.certificate(address));
  assert.deepEqual([owner, serial, fromMs, untilMs - fromMs], [address, 1n, stage.clock.now(), 3_600_000]);
});

test("certificates that are not an account's are refused by name, without asking anybody", () => {
  const wrongName = { status: 401, message: "tls: invalid certificate's subject common name" };
  const ca = makeCertificate({ name: "authority" });
  const refused: [string, object][] = [
    [makeCertificate({ name: "hello" }).certPem, wrongName],
    [makeCertificate({ name: "" }).certPem, wrongName],
    [makeCertificate({ name: `${address}\nCN=${address}` }).certPem, wrongName],
    [makeCertificate({ name: `${address.slice(0, -1)}${address.endsWith("q") ? "p" : "q"}` }).certPem, wrongName],
    [makeCertificate({ name: address, issuer: ca }).certPem, wrongName],
    [makeCertificate({ name: address }).certPem, { message: "x509: certificate specifies an incompatible key usage" }],
  ];
  for (const [pem, refusal] of refused) assert.throws(() => readClientCertificate(der(pem)), refusal);
});

test("bytes that are no certificate are refused", () => {
  for (const bytes of [
    Buffer.of(),
    Buffer.from("hello"),
    der(makeCertificate({ name: address }).certPem).subarray(1),
  ]) {
    const refusal = { status: 401, message: "tls: attempt to use non-existing or revoked certificate" };
    assert.throws(() => readClientCertificate(bytes), refusal);
  }
});
