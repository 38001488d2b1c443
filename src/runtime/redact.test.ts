import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { catalogue } from "./catalogue.ts";
import { redactorSecretLeastChars, redactorSecretMostChars } from "./limits.ts";
import { isSecretName, logSlackChars, logStringChars } from "./plain-value.ts";
import { createRedactor, redactorSecrets } from "./redact.ts";

const pem = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIGlRFY4\nAwEHoUQDQgAE\n-----END EC PRIVATE KEY-----";
const armored =
  "-----BEGIN TENDERMINT PRIVATE KEY-----\nkdf: bcrypt\nsalt: A53F628182B827E07DD11A96EAB9D526\ntype: secp256k1\n\n" +
  "Ax9IQsSq+jOWkPRDJQVvLHrkwBFJzNIpmYFCJTuK\n=0D4m\n-----END TENDERMINT PRIVATE KEY-----";
const jwt = "eyJhbGciOiJFUzI1NksifQ.eyJpc3MiOiJha2FzaDEifQ.c2lnbmF0dXJl-_x";

const masked: readonly (readonly [what: string, text: string, shown: string])[] = [
  ["a key in PEM", `key: ${pem}\nafter`, "key: [redacted]\nafter"],
  ["a key in PEM on one line", JSON.stringify({ key: pem }), '{"key":"[redacted]"}'],
  ["a key in PEM that was cut off", `key: ${pem.slice(0, 50)}`, "key: [redacted]"],
  ["an armored key", `import ${armored} done`, "import [redacted] done"],
  ["a key in PEM in base64", `data ${Buffer.from(pem).toString("base64")} end`, "data [redacted] end"],
  ["a JWT", `sent ${jwt}, refused`, "sent [redacted], refused"],
  ["the password of a URL", "at redis://:hunter2@cache:6379/0 now", "at redis://[redacted]@cache:6379/0 now"],
  ["user and password of a URL", "amqps://me:hunter2@host", "amqps://[redacted]@host"],
  ["a password with an @ in a URL", "redis://me:p@ss@host:1", "redis://[redacted]@host:1"],
  ["a password with a slash in a URL", "redis://me:p/ss@host:1", "redis://[redacted]@host:1"],
  ["a token in a URL", "https://token123@example.com/x.git", "https://[redacted]@example.com/x.git"],
];

for (const [what, text, shown] of masked) {
  test(`${what} is masked`, () => {
    const redactor = createRedactor();
    assert.equal(redactor.text(text), shown);
    assert.equal(redactor.text(shown), shown, "and stays as it is when masked again");
  });
}

const ordinary = [
  "akash1365yvmc4s7awdyj3n2sav7xfx76adc6dnmlx63/1234567/1/1/akash1u5cdg7k3gl43mukca4aeultuz8x2j68mgwn28e",
  "transaction 9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08 is in block 12345678",
  "registry.example/some/image:0.10.5@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "docker://registry:5000/team/image:v1@sha256:9f86d081884c7d65",
  "https://rpc.akash.network:443/status?height=5#top",
  "http://[::1]:8080/metrics",
  "bid 1.234567uakt on gseq=1 oseq=1 cpu=100m memory=512Mi storage=1Gi",
  "the bearer token of the tenant has expired, a basic authentication header is not enough",
  "authorization: the tenant owns no lease here",
  "no such key in the keyring: provider",
  "certificate CN=akash1365yvmc4s7awdyj3n2sav7xfx76adc6dnmlx63,OU=tenants,O=akash expires tomorrow",
  "mail alice@example.com, see https://example.com/a/b@c",
  "-----BEGIN CERTIFICATE-----\nMIIBkTCB+wIJAL\n-----END CERTIFICATE-----",
  "10.0.0.1:8443 closed the connection (ECONNRESET), next try in 5s",
  "pods, services, secrets, configmaps and nodes were listed in 12 ms",
  "a=1, b=2, ratio=0.5, A=1, if x == y then Z == 1",
  "2026-11-15T08:55:00.000Z INFO journal: opened path=/var/lib/akash-provider/journal.db",
  "The order was lost to another provider because our price was higher than the winning one by a small margin",
  "every replica of this service needs a node of its own but only three nodes have room left for it today",
];

for (const text of [...ordinary, ...Object.values(catalogue).flatMap(({ message, advice }) => [message, advice])]) {
  test(`"${text.slice(0, 60).replaceAll("\n", " ")}" is shown as it is`, () => {
    assert.equal(createRedactor().text(text), text);
  });
}

test("a registered secret is masked in every way of writing it", () => {
  const secret = 'p&ss "w<rd"/ü+1';
  const redactor = createRedactor();
  const json = JSON.stringify(secret);
  const ways = [
    secret,
    json,
    JSON.stringify(json),
    json.replaceAll("&", "\\u0026").replaceAll("<", "\\u003c"),
    encodeURIComponent(secret),
    new URLSearchParams({ q: secret }).toString().slice(2),
    Buffer.from(secret).toString("hex"),
    Buffer.from(secret).toString("hex").toUpperCase(),
    Buffer.from(secret).toString("base64"),
    Buffer.from(secret).toString("base64url"),
  ];
  redactor.register(secret);
  for (const way of ways) {
    const shown = redactor.text(`before ${way} after`);
    assert.match(shown, /^before .{0,3}\[redacted\].{0,3} after$/, way);
  }
});

test("a registered secret is masked in base64 of something longer", () => {
  const redactor = createRedactor();
  redactor.register("correct horse battery");
  for (const user of ["a", "ab", "abc", "abcd"]) {
    const encoded = Buffer.from(`${user}:correct horse battery!`).toString("base64");
    const shown = redactor.text(`x ${encoded} y`).replace("[redacted]", "");
    assert.ok(shown.length < 20, shown);
  }
});

test("a registered key is masked as hex, as bytes in base64 and line by line", () => {
  const redactor = createRedactor();
  const key = Buffer.from("31d4d96e0af5aa7b1a2b9ce5a7dcb0a06a5a6c6a0f1b2c3d4e5f60718293a4b5", "hex");
  redactor.register(new Uint8Array(key));
  redactor.register(armored);
  const again = createRedactor();
  again.register(`0x${key.toString("hex")}\n`);
  for (const redactorOfKey of [redactor, again]) {
    for (const way of [key.toString("hex"), key.toString("hex").toUpperCase(), key.toString("base64url")]) {
      assert.equal(redactorOfKey.text(`key ${way}.`), "key [redacted].");
    }
  }
  assert.equal(redactor.text("Ax9IQsSq+jOWkPRDJQVvLHrkwBFJzNIpmYFCJTuK"), "[redacted]");
  assert.equal(redactor.text("type: secp256k1"), "type: secp256k1");
});

test("overlapping secrets of different kinds are masked as one", () => {
  const redactor = createRedactor();
  redactor.register("payload");
  redactor.register("load and more");
  assert.equal(redactor.text("a payload and more b"), "a [redacted] b");
  const token = `eyJhbGciOiJub25lIn0.${Buffer.from('{"pw":"payload"}').toString("base64url")}.sig`;
  assert.equal(redactor.text(`a ${token} b`), "a [redacted] b");
});

test("a forgotten secret is shown again, unless somebody else registered it too", () => {
  const redactor = createRedactor();
  const forgetOne = redactor.register("31d4d96e0af5");
  const forgetOther = redactor.register("31d4d96e0af5");
  forgetOne();
  forgetOne();
  assert.equal(redactor.text("31d4d96e0af5"), "[redacted]");
  forgetOther();
  assert.equal(redactor.text("31d4d96e0af5"), "31d4d96e0af5");
});

test("secrets known by value are bounded in number and length", () => {
  const redactor = createRedactor();
  redactor.register("short");
  assert.equal(redactor.text("a short text"), "a short text");
  assert.throws(() => redactor.register("x".repeat(redactorSecretMostChars + 1)), /longer than any key/);
  for (let count = 1; count < redactorSecrets; count += 1) redactor.register(`secret number ${count}`);
  assert.throws(() => redactor.register("one secret more"), /more secrets are registered/);
});

test("any registered secret is found in any text", () => {
  const secrets = fc.string({ unit: "grapheme", minLength: redactorSecretLeastChars, maxLength: 40 });
  const property = fc.property(secrets, fc.string(), fc.string(), (secret, before, after) => {
    fc.pre(secret.trim() === secret);
    const redactor = createRedactor();
    redactor.register(secret);
    return !redactor.text(before + secret + after).includes(secret);
  });
  fc.assert(property, { numRuns: runs(200, 20_000) });
});

test("no text takes long, however it was made to", () => {
  const redactor = createRedactor();
  const length = logStringChars + logSlackChars;
  const bricks = [
    ...["a", "1", "\n", " ", "-", "eyJ", "eyJ.", "://", "://a:", "@", '"', "/"],
    ...["-----BEGIN PRIVATE KEY", "----- END", "LS0tLS1CRUdJTi"],
  ];
  const pairs = bricks.flatMap((one) => ["", "x", "@", "=", ...bricks.slice(0, 12)].map((other) => one + other));
  const workFor = (chars: number): number => {
    const texts = pairs.map((pair) => pair.repeat(Math.ceil(chars / pair.length)).slice(0, chars));
    const before = process.threadCpuUsage().user;
    for (const text of texts) redactor.text(text);
    return process.threadCpuUsage().user - before;
  };
  workFor(length);
  // Four times the text takes four times the work. Were it sixteen times for one of them, that one would outweigh all others.
  const [short, long] = [workFor(length / 4), workFor(length)];
  assert.ok(long < 8 * short, `${short} µs, and ${long} µs for four times the text`);
});

test("names of secrets are known however they are spelled", () => {
  for (const name of [
    ...[
      "privateKey",
      "PRIVATE_KEY",
      "private-key",
      "xPrivateKeyHex",
      "mnemonic",
      "Mnemonic",
      "password",
      "DB_PASSWORD",
    ],
    ...["keyringPassphrase", "passwd", "token", "accessToken", "jwt", "clientSecret", "Authorization", "cookie"],
    ...["set-cookie", "hmac", "eab_hmac", "credentials", "registryCredentials", "apiKey", "X-API-Key", "auth", "pass"],
    ...[".dockerconfigjson", "client-key-data", "tls.key", "stringData", "seed"],
    ...["env", "Env", "tenantEnv", "environment", "env_vars", "services.env"],
  ]) {
    assert.ok(isSecretName(name), name);
  }
  for (const name of [
    ...["key", "keys", "kid", "name", "order", "lease", "path", "author", "publicKey", "passed", "compass", "event"],
    ...["secretName", "token_file", "PASSWORD_FILE", "key-secret-path", "tokenCount"],
  ]) {
    assert.ok(!isSecretName(name), name);
  }
});
