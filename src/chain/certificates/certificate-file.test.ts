import assert from "node:assert/strict";
import { createCipheriv, createPrivateKey, hash, randomBytes } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { writeCertificateFile } from "../../../test/support/network-certificate-file.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { addressBytes } from "../../market/address.ts";
import { createSigner } from "../keys/signer.ts";
import { certificateFilePath, readCertificateFile } from "./certificate-file.ts";
import { type MadeCertificate, makeCertificate } from "./make-certificate.ts";

const random = createSeededRandom(7);
const signer = createSigner(random.bytes(32));
const otherSigner = createSigner(random.bytes(32));
const times = { fromMs: Date.UTC(2026, 10, 16), untilMs: Date.UTC(2027, 10, 16) };
const made = makeCertificate({ owner: signer.address, hosts: ["a.example"], isServer: true, serial: 5n, ...times });

function fileOf(t: TestContext, text?: string): string {
  const path = certificateFilePath(temporaryFolder(t), signer.address);
  if (text !== undefined) writeFileSync(path, text);
  return path;
}

/** As Go's x509.EncryptPEMBlock does it, around PKCS#8 with the label of another form. */
function legacyFile({ certificate, key }: MadeCertificate): string {
  const passphrase = signer.sign(addressBytes(signer.address));
  const vector = randomBytes(16);
  const derived: Buffer[] = [];
  for (let last = Buffer.of(); derived.length < 2; derived.push(last)) {
    last = hash("md5", Buffer.concat([last, passphrase, vector.subarray(0, 8)]), "buffer");
  }
  const cipher = createCipheriv("aes-256-cbc", Buffer.concat(derived), vector);
  const der = createPrivateKey(key).export({ type: "pkcs8", format: "der" });
  const lines =
    Buffer.concat([cipher.update(der), cipher.final()])
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  const head = `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,${vector.toString("hex")}\n`;
  return `${certificate}-----BEGIN EC PRIVATE KEY-----\n${head}\n${lines.join("\n")}\n-----END EC PRIVATE KEY-----\n`;
}

test("the key of a written file opens only with a signature of its account", (t) => {
  const path = fileOf(t);
  assert.equal(readCertificateFile(path, signer), undefined);
  writeCertificateFile(path, made, signer);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.match(
    readFileSync(path, "utf8"),
    /^-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n-----BEGIN ENCRYPTED PRIVATE KEY-----/,
  );
  assert.deepEqual(readCertificateFile(path, signer), { certificate: made.certificate, key: made.key });
  assert.throws(() => readCertificateFile(path, otherSigner), /is not that of akash1/);
});

test("a file of the network's older tools is opened too", (t) => {
  const path = fileOf(t, legacyFile(made));
  assert.deepEqual(readCertificateFile(path, signer), { certificate: made.certificate, key: made.key });
});

test("a key that is encrypted by OpenSSL's newer way for the legacy pass-phrase is opened", (t) => {
  const passphrase = Buffer.from(signer.sign(addressBytes(signer.address)));
  const key = createPrivateKey(made.key).export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase });
  assert.equal(readCertificateFile(fileOf(t, `${made.certificate}${key}`), signer)?.key, made.key);
});

test("a file without a certificate → rejected with the reason, without its contents", (t) => {
  const other = makeCertificate({ owner: signer.address, hosts: [], isServer: false, serial: 6n, ...times });
  const encrypted = createPrivateKey(other.key).export({
    ...{ type: "pkcs8", format: "pem", cipher: "aes-256-cbc" },
    passphrase: Buffer.from(signer.sign(Buffer.from(signer.address))),
  });
  const closed = encrypted.toString().replace(/\n[^\n]+\n(-----END)/, "\n$1");
  const cases: readonly [text: string, reason: RegExp][] = [
    ["", /does not hold a certificate and a key/],
    [made.certificate, /does not hold a certificate and a key/],
    [`${made.certificate}${encrypted}`, /does not belong to the certificate/],
    [`${made.certificate}${closed}`, /cannot be opened with a signature of ours/],
    [
      `${made.certificate}${legacyFile(made).slice(made.certificate.length).replace("AES-256", "DES")}`,
      /cannot be opened/,
    ],
  ];
  for (const [text, reason] of cases) {
    assert.throws(() => readCertificateFile(fileOf(t, text), signer), {
      code: "AKP_CERTIFICATE_FILE_UNUSABLE",
      message: reason,
    });
  }
});
