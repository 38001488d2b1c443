import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { globSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { memoryFolder } from "../../../test/support/folder.ts";
import { makeCertificate } from "../../../test/support/test-certificate.ts";
import { openBoundary } from "../../runtime/boundary.ts";
import { realClock } from "../../runtime/clock.ts";
import { openIssuerStorage } from "./issuer-storage.ts";

const email = "operator@example.com";
const host = "provider.example";

function setUp(t: TestContext) {
  const dir = join(memoryFolder(t), ".certissuer");
  const directoryUrl = "https://acme.example:14000/dir";
  const open = () =>
    openIssuerStorage({ dir, directoryUrl, email, host }, { boundary: openBoundary, clock: realClock });
  return { dir, open, file: (path: string) => join(dir, path) };
}

const accountFolder = `accounts/acme.example_14000/${email}`;

test("files have the names, forms and modes of the Go provider", (t) => {
  const { dir, open, file } = setUp(t);
  const storage = open();
  const { key } = storage.account();
  storage.keepRegistration({ uri: "https://acme.example:14000/account/1", body: { status: "valid" } });
  const leaf = makeCertificate({ name: "leaf", host });
  const authority = makeCertificate({ name: "authority" });
  const url = "https://acme.example:14000/certificate/1";
  storage.keepCertificate({ certificate: `${leaf.certPem}${authority.certPem}`, key: leaf.keyPem, url });

  const names = globSync("**/*", { cwd: dir }).sort();
  assert.deepEqual(names, [
    ...["accounts", "accounts/acme.example_14000", accountFolder],
    ...[`${accountFolder}/account.json`, `${accountFolder}/keys`, `${accountFolder}/keys/${email}.key`],
    ...["certificates", ...["crt", "issuer.crt", "json", "key"].map((kind) => `certificates/${host}.${kind}`)],
  ]);
  for (const name of names) {
    const stat = statSync(file(name));
    assert.equal(stat.mode & 0o777, stat.isDirectory() ? 0o700 : 0o600, name);
  }
  assert.match(key, /^-----BEGIN EC PRIVATE KEY-----/);
  assert.equal(createPrivateKey(key).asymmetricKeyDetails?.namedCurve, "secp384r1");
  const read = (name: string) => readFileSync(file(name), "utf8");
  assert.deepEqual(JSON.parse(read(`${accountFolder}/account.json`)), {
    email,
    registration: { uri: "https://acme.example:14000/account/1", body: { status: "valid" } },
  });
  assert.equal(read(`certificates/${host}.crt`), `${leaf.certPem}${authority.certPem}`);
  assert.equal(read(`certificates/${host}.issuer.crt`), authority.certPem);
  assert.partialDeepStrictEqual(JSON.parse(read(`certificates/${host}.json`)), { domain: host, certUrl: url });
});

test("the account of the Go provider is used as it is, and registered anew where that is not known", (t) => {
  const { open, file } = setUp(t);
  const keyPath = file(`${accountFolder}/keys/${email}.key`);
  mkdirSync(dirname(keyPath), { recursive: true });
  const { keyPem } = makeCertificate({ name: "somebody" });
  writeFileSync(keyPath, keyPem);
  assert.deepEqual(open().account(), { key: keyPem, url: undefined });
  const written = { email, registration: { body: { status: "valid" }, uri: "https://acme.example:14000/account/7" } };
  writeFileSync(file(`${accountFolder}/account.json`), JSON.stringify(written));
  assert.deepEqual(open().account(), { key: keyPem, url: "https://acme.example:14000/account/7" });
  writeFileSync(file(`${accountFolder}/account.json`), "{");
  assert.deepEqual(open().account(), { key: keyPem, url: undefined });
});

test("two processes create an account at once → the same one", (t) => {
  const { open } = setUp(t);
  assert.equal(open().account().key, open().account().key);
});

test("pending order is found with its key, but not one of another authority", (t) => {
  const { dir, open } = setUp(t);
  const { key } = open().order();
  open().keepOrder({ key, url: "https://acme.example:14000/order/1" });
  assert.deepEqual(open().order(), { key, url: "https://acme.example:14000/order/1" });
  const options = { dir, directoryUrl: "https://other.example/dir", email, host };
  const other = openIssuerStorage(options, { boundary: openBoundary, clock: realClock });
  const anew = other.order();
  assert.notEqual(anew.key, key);
  assert.equal(anew.url, undefined);
});

test("temporary files of a crash are removed later, and nothing else", (t) => {
  const { open, file } = setUp(t);
  const { key } = open().order();
  for (const [name, ageMs] of [
    [".new-old", 2 * 3_600_000],
    [".new-fresh", 0],
  ] as const) {
    mkdirSync(file(`orders/${name}`));
    writeFileSync(file(`orders/${name}/key`), "secret");
    const seconds = (realClock.now() - ageMs) / 1_000;
    utimesSync(file(`orders/${name}`), seconds, seconds);
  }
  open().removeLeftovers();
  assert.deepEqual(globSync("{.new-*,*}", { cwd: file("orders") }).sort(), [".new-fresh", `${host}.json`]);
  assert.equal(open().order().key, key);
});
