import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/folder.ts";
import {
  aminoKey,
  armor,
  armoredBytes,
  armoredExport,
  known,
  writeSecret,
} from "../../../test/support/samples/keyring-samples.ts";
import { readAminoKey } from "./key-formats.ts";
import { openKey } from "./open-key.ts";

/** The number one, whose public key is the curve's generator and so has an address that is known all over. */
const key = Buffer.from("1".padStart(64, "0"), "hex");
const keyAddress = "akash1w508d6qejxtdg4y5r3zarvary0c5xw7khx6akz";

interface Case {
  readonly text: string;
  readonly passphrase?: string;
}

/** What opening a file with this text comes to. */
async function open(t: Parameters<typeof temporaryFolder>[0], { text, passphrase }: Case) {
  const folder = temporaryFolder(t);
  const keyFile = writeSecret(folder, "key", text);
  return openKey({ keyFile, passphrase, keyringBackend: "os", keyringDir: folder }, () => undefined);
}

test("a mnemonic in a file is a key", async (t) => {
  const { signer, warnings } = await open(t, { text: `\uFEFF${known.mnemonic}\n` });
  assert.equal(signer.address, known.address);
  assert.deepEqual(warnings, []);
});

test("a private key in hex is a key, in either case, with or without 0x", async (t) => {
  for (const text of [key.toString("hex"), `0x${key.toString("hex").toUpperCase()}\n`]) {
    assert.equal((await open(t, { text })).signer.address, keyAddress);
  }
});

test("an export that the network's own tools made is opened by its pass-phrase", async (t) => {
  for (const text of [known.argon2Export, known.bcryptExport]) {
    assert.equal((await open(t, { text, passphrase: known.passphrase })).signer.address, known.address);
  }
});

test("an export is opened by a pass-phrase of any length and alphabet", async (t) => {
  const passphrase = "ключ 🔑 ß";
  const unusual = await armoredExport(key, passphrase, "argon2");
  assert.equal((await open(t, { text: unusual, passphrase })).signer.address, keyAddress);
  // Of a longer pass-phrase bcrypt takes the first 72 bytes.
  const text = await armoredExport(key, "0123456789".repeat(7).concat("ab"), "bcrypt");
  const { signer } = await open(t, { text, passphrase: "0123456789".repeat(7).concat("abcdef") });
  assert.equal(signer.address, keyAddress);
});

test("a wrong pass-phrase → the error says where it came from", async (t) => {
  for (const text of [known.argon2Export, known.bcryptExport]) {
    await assert.rejects(open(t, { text, passphrase: "correct horse batterie" }), {
      code: "AKP_KEY_PASSPHRASE_WRONG",
      message: /^the pass-phrase from AP_KEY_PASSPHRASE does not open .*key$/,
    });
  }
});

test("a missing or empty pass-phrase → the error says where to set it", async (t) => {
  for (const passphrase of [{}, { passphrase: "" }]) {
    await assert.rejects(open(t, { text: known.argon2Export, ...passphrase }), {
      code: "AKP_KEY_PASSPHRASE_MISSING",
      advice: /AP_KEY_PASSPHRASE_FILE.*AP_KEY_PASSPHRASE/,
    });
  }
});

test("a file without a key → rejected, and the reason says what it holds", async (t) => {
  const privateKey = (headers: object) => armor("TENDERMINT PRIVATE KEY", headers, Buffer.alloc(60));
  const cases: [text: string, reason: RegExp][] = [
    ["", /it is empty/],
    [" \n", /it is empty/],
    ["deadbeef", /8 hex digits, and a key has 64/],
    [`${key.toString("hex")}00`, /66 hex digits/],
    ["hunter2", /something else/],
    ["from: provider\nkeyring-backend: test", /something else/],
    [known.entry, /it is an entry of a keyring/],
    ["x".repeat(9_000), /longer than 8192 bytes/],
    [armor("TENDERMINT PUBLIC KEY", { type: "secp256k1" }, Buffer.alloc(33)), /it says TENDERMINT PUBLIC KEY/],
    [armor("RSA PRIVATE KEY", {}, Buffer.alloc(33)), /it says RSA PRIVATE KEY/],
    [privateKey({ kdf: "scrypt", salt: "00".repeat(16) }), /kdf scrypt/],
    [privateKey({ kdf: "constructor", salt: "00".repeat(16) }), /kdf constructor/],
    [privateKey({ salt: "00".repeat(16) }), /kdf none/],
    [privateKey({ kdf: "argon2" }), /salt is not 32 hex digits/],
    [known.argon2Export.replace("Kzn448", "Kzn449"), /checksum does not match/],
  ];
  for (const [text, message] of cases) {
    await assert.rejects(open(t, { text, passphrase: "x" }), { code: "AKP_KEY_FILE_MALFORMED", message });
  }
});

test("an export too short to hold anything is not opened", async (t) => {
  for (const kdf of ["argon2", "bcrypt"]) {
    const text = armor("TENDERMINT PRIVATE KEY", { kdf, salt: "00".repeat(16) }, Buffer.alloc(5));
    await assert.rejects(open(t, { text, passphrase: "x" }), { code: "AKP_KEY_PASSPHRASE_WRONG" });
  }
});

test("a number that is no key of the curve → rejected", async (t) => {
  for (const text of ["00".repeat(32), "ff".repeat(32)]) {
    await assert.rejects(open(t, { text }), { code: "AKP_KEY_UNUSABLE", message: /secp256k1/ });
  }
});

test("an exported key of another curve → rejected by its kind", async (t) => {
  const ed25519 = Buffer.concat([Buffer.from("a328891040", "hex"), Buffer.alloc(64, 1)]);
  const text = await armoredBytes(ed25519, "x", "argon2");
  await assert.rejects(open(t, { text, passphrase: "x" }), { code: "AKP_KEY_UNUSABLE", message: /an ed25519 key/ });
});

test("an exported key of the wrong length → rejected", () => {
  for (const length of [0, 31, 33]) {
    assert.deepEqual(readAminoKey(aminoKey(Buffer.alloc(length, 1))), { fault: "it is no secp256k1 key" });
  }
});
