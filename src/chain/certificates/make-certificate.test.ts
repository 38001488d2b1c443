import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { checkCertificate } from "../../box/chain/modules/cert/certificate.ts";
import { parseAddress } from "../../market/address.ts";
import { type CertificateWishes, makeCertificate, newSerial } from "./make-certificate.ts";

const owner = parseAddress("akash1pzhdmwnzzscqes69qjuk46e8tq2wtcd2h68uhz");
const wishes: CertificateWishes = {
  ...{ owner, hosts: ["localhost"], isServer: true, serial: 1_794_772_121_750_478_791n },
  ...{ fromMs: Date.UTC(2026, 10, 15, 19, 48, 41), untilMs: Date.UTC(2027, 10, 15, 19, 48, 41) },
};

test("a certificate of ours has the bytes of the network's, up to key and signature", () => {
  const { vectors } = readJsonRecording<{ vectors: { name: string; answer: { pem: string } }[] }>("gateway/tls.json");
  const recorded = new X509Certificate(vectors.find(({ name }) => name === "server certificate")?.answer.pem ?? "");
  const made = new X509Certificate(makeCertificate(wishes).certificate);
  const comparable = ({ raw, publicKey }: X509Certificate) => {
    const text = raw.toString("hex");
    const key = publicKey.export({ type: "spki", format: "der" }).toString("hex");
    // Behind the two lengths, which the signature's length moves, up to the signature.
    return text.slice(8, text.lastIndexOf("300a06082a8648ce3d040302")).replace(key, "key");
  };
  assert.equal(comparable(made), comparable(recorded));
});

test("the chain takes it, Node reads it, and its key belongs to it", () => {
  for (const each of [wishes, { ...wishes, hosts: [], isServer: false }, { ...wishes, serial: 2n ** 63n + 1n }]) {
    const { serial, certificate, key, publicKey } = makeCertificate(each);
    const accepted = checkCertificate(owner, Buffer.from(certificate), Buffer.from(publicKey));
    assert.equal(accepted.toString(), serial);
    const read = new X509Certificate(certificate);
    assert.ok(read.checkPrivateKey(createPrivateKey(key)));
    assert.ok(read.verify(read.publicKey));
    assert.deepEqual([read.validFromDate.getTime(), read.validToDate.getTime()], [each.fromMs, each.untilMs]);
    const purposes = ["1.3.6.1.5.5.7.3.2", ...(each.isServer ? ["1.3.6.1.5.5.7.3.1"] : [])];
    assert.deepEqual([read.keyUsage, read.ca], [purposes, false]);
  }
});

test("names and addresses of both families are in it", () => {
  const hosts = ["a.example", "10.1.2.3", "fd00::1", "b.example"];
  const made = new X509Certificate(makeCertificate({ ...wishes, hosts }).certificate);
  for (const host of ["a.example", "b.example"]) assert.equal(made.checkHost(host), host);
  assert.equal(made.checkHost("c.example"), undefined);
  for (const address of ["10.1.2.3", "fd00::1"]) assert.equal(made.checkIP(address), address);
});

test("one that ends after 2049 has a year of four digits", () => {
  const untilMs = Date.UTC(2050, 0, 1);
  assert.equal(new X509Certificate(makeCertificate({ ...wishes, untilMs }).certificate).validToDate.getTime(), untilMs);
});

test("two serials of one millisecond differ", () => {
  const random = createSeededRandom(1);
  const clock = { now: () => 1_794_772_121_750 };
  const [first, second] = [newSerial(clock, random), newSerial(clock, random)];
  assert.notEqual(first, second);
  assert.equal(first / 1_000_000n, 1_794_772_121_750n);
});

const openssl = spawnSync("openssl", ["version"]).status === 0;
const name = "openssl finds it good for a server";

test(openssl ? name : `${name} (skipped: no openssl)`, { skip: !openssl }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), "certificate-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "own.pem");
  writeFileSync(file, makeCertificate(wishes).certificate);
  const atTime = ["-attime", `${wishes.fromMs / 1_000 + 60}`];
  const args = ["verify", "-purpose", "sslserver", ...atTime, "-partial_chain", "-trusted", file, file];
  const { status, stdout, stderr } = spawnSync("openssl", args, { encoding: "utf8" });
  assert.equal(status, 0, `${stdout}${stderr}`);
  const text = spawnSync("openssl", ["x509", "-noout", "-text", "-in", file], { encoding: "utf8" }).stdout;
  assert.match(text, /Serial Number: 1794772121750478791/);
  assert.match(text, /Name Constraints: critical\s+Permitted:\s+DNS:localhost/);
});
