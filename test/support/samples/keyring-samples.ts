/**
 * Keys on disk for tests: exports and keyrings, written by the rules of their formats. Where there is a choice this uses
 * other libraries than the program does, so that a mistake is not made twice in the same way.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PrivKey, PubKey } from "@akashnetwork/chain-sdk/private-types/cosmos.secp256k1";
import { Record } from "@akashnetwork/chain-sdk/private-types/cosmos.v1";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { chacha20poly1305 } from "@noble/ciphers/chacha";
import { secretbox } from "@noble/ciphers/salsa";
import { secp256k1 } from "@noble/curves/secp256k1";
import { ripemd160 } from "@noble/hashes/legacy";
import { sha256 } from "@noble/hashes/sha2";
import { argon2id, bcrypt } from "hash-wasm";

const { subtle } = globalThis.crypto;
const random = (length: number) => globalThis.crypto.getRandomValues(new Uint8Array(length));

/** A mnemonic that everybody knows, and what the network's own tools (cosmos-sdk v0.53.4) made of it. */
export const known = {
  mnemonic: `${"abandon ".repeat(11)}about`,
  address: "akash19rl4cm2hmr8afy4kldpxz3fka4jguq0a3mq6x0",
  /** Account 3, index 7. */
  otherAddress: "akash16372hmams833sj0skjkf457rhl7kh6m7pr4t9k",
  signatureOfHello:
    "0d9965f88eb873e79314a550982dfa66444026c028d942ac46209a9d8b3bd422" +
    "7721ae7a0abf018ba71baf74160c6f8bc80ea5e3e89df29e8bc66f1a712a8957",
  passphrase: "correct horse battery",
  argon2Export: [
    "-----BEGIN TENDERMINT PRIVATE KEY-----",
    "type: secp256k1",
    "kdf: argon2",
    "salt: 12D7CD81A37E4C2C0F6ABB54E3178003",
    "",
    "Kzn448daNkdE3LjXQBYYmp8cmS/ol1IWis1N9jwwjPlticGPleWn7tDnWEqHwacI",
    "ok1OBz8=",
    "=3b2+",
    "-----END TENDERMINT PRIVATE KEY-----",
  ].join("\n"),
  bcryptExport: [
    "-----BEGIN TENDERMINT PRIVATE KEY-----",
    "kdf: bcrypt",
    "type: secp256k1",
    "salt: 63479AD69A090B258277EC8FBA6F9941",
    "",
    "MzJ5VC6sPBhPuURaNtbRSEzUgHCfaAD4DN6oSTbOoh/9OVA7WeaoK/3Q4XhEX9fL",
    "Y/RSZxx7ik2LkobH8i5RFuOLbj7YkZYgVzSTJT8=",
    "=cYAj",
    "-----END TENDERMINT PRIVATE KEY-----",
  ].join("\n"),
  /** `keyring-file/provider.info` under the pass-phrase above. */
  entry: [
    "eyJhbGciOiJQQkVTMi1IUzI1NitBMTI4S1ciLCJjcmVhdGVkIjoiMjAyNi0xMS0xNSAwOTo0MzowNC43MDU1MDk3MTEgKzAwMDAgVVRDIG09KzAu",
    "MjIyNzUwMTY3IiwiZW5jIjoiQTI1NkdDTSIsInAyYyI6ODE5MiwicDJzIjoiRkVjQ3F0WjdHcXVEc3dQTSJ9.-qEh_0siZ5FX8RlBieEjbi08KT",
    "FvRBy89Ci9vd6ViwsTQqaVFnzE2g.HEITcJHoBEqevGM2.heLwcQhslwB27TFFBsP6SZmCccRBC6Oj7yb1juY32oCy7jEHCfZc1MH5azpFgQaQnI",
    "l8NoNzU_qYgvU8zjIZx2Jn8JYXZdcFfvoca5tfb4lTCv3_DQAWrie_vMj-fstWaCV17xz1LMk5gCazSCLvW6n4b7Rn-Q9XnKUfrmuBgBI5uETuC6",
    "eD4EqyMQ9ZTjvWez4Ysl3qFb3b0aiC0lLWtsOdnm7KcV_FGvqggIMHcgzkxibON0gSnqFj37EtuukyvzdaV7LMfwR3eFXco6ZlgE89l1KqFX0teH",
    "9XGxjstW0zKMXrSL6gew9I9v9W4m2ui59ym8EqZiE86SvInDZzVy_X6RgWYsySjgxzV4aknpvhgoM5fn9QbMpjhRy1l-ZyaifAnQcb1gfeiI1yNY",
    "nXJA0SF_0--qXR-ycowenWPZPksPZvaaR8PlKJb3oulegYrQGR.zPN2Ezv4Yi3GhZZQU3RQbw",
  ].join(""),
  /** `keyring-file/keyhash`. */
  keyhash: "$2a$10$gdGcNxGlEte5SDxH9DaZUeHcLluHCzsD8imX2UBWPbrJoAzPXlMKK",
  /** `keyring-test/old.info`, an entry in amino. */
  aminoEntry: [
    "eyJhbGciOiJQQkVTMi1IUzI1NitBMTI4S1ciLCJjcmVhdGVkIjoiMjAyNi0xMS0xNSAwOTo0MzowNC41ODU0MDY4MDUgKzAwMDAgVVRDIG09KzAu",
    "MTAyNjQ3MjY0IiwiZW5jIjoiQTI1NkdDTSIsInAyYyI6ODE5MiwicDJzIjoiYjhJcjJYNWU0TmxINUpBSCJ9.ZhRpn9rB2fu2vN75X0wA1zrd-_",
    "Oda1oOHMFkOcBzVNMJDrDdFMH5tA.owL39w3bpvcdIV-D._ZrRjrgFq1DOz0sUQsTXBal7sIahA0geYLsewC-syXQpwbrTd6NiX2DSX25XXsq8WM",
    "fRzU33WjWojXZyI7ciLi59Q5obMGOmqt_bSkzZRNeHyD4POSrvbZ96tNcMXyLRZLLwwcGPwd4He4MoemsMe67mQgKe9YG_Mvb-zhY1afrG-TE8_v",
    "UtixCgAQSUYgFG_lAWacIyf6z1wGVsC5fWzsM78gfWtk-D4hy2BWxpaDaf4R0SzrV5oPvl9mMXtT_DdvSlshxktQ8hwT_k81244oVLyL0TalzUYs",
    "fiAq_othdxuyShL8Ir71SXl36QE4pFgwDQVrWSKCWpaJT2sQwFP9Q7m93ekQ.JajCkJSkkI1rfL1F5fEiMQ",
  ].join(""),
} as const;

/** Only its owner may read it, as the tools leave it, unless `mode` says otherwise. */
export function writeSecret(folder: string, name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode });
  return path;
}

export function armoredExport(key: Uint8Array, passphrase: string, kdf: "argon2" | "bcrypt"): Promise<string> {
  return armoredBytes(aminoKey(key), passphrase, kdf);
}

/** An export of anything at all. */
export async function armoredBytes(bytes: Uint8Array, passphrase: string, kdf: "argon2" | "bcrypt"): Promise<string> {
  const salt = random(16);
  const encrypted = await (kdf === "argon2" ? sealArgon2 : sealBcrypt)(bytes, passphrase, salt);
  const headers = { kdf, salt: Buffer.from(salt).toString("hex").toUpperCase(), type: "secp256k1" };
  return armor("TENDERMINT PRIVATE KEY", headers, encrypted);
}

async function sealArgon2(bytes: Uint8Array, password: string, salt: Uint8Array): Promise<Uint8Array> {
  const cost = { iterations: 1, memorySize: 65_536, parallelism: 4, hashLength: 32 };
  const secret = await argon2id({ password, salt, ...cost, outputType: "binary" });
  return chacha20poly1305(secret, new Uint8Array(12)).encrypt(bytes);
}

async function sealBcrypt(bytes: Uint8Array, password: string, salt: Uint8Array): Promise<Uint8Array> {
  const secret = sha256(await bcrypt({ password, salt, costFactor: 12, outputType: "encoded" }));
  const nonce = random(24);
  return Buffer.concat([nonce, secretbox(secret, nonce).seal(bytes)]);
}

/** Without the checksum, which the format does not insist on. */
export function armor(kind: string, headers: object, bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`-----BEGIN ${kind}-----`, ...head, "", ...lines, `-----END ${kind}-----`, ""].join("\n");
}

export interface SampleEntry {
  readonly name: string;
  /** What stands encrypted in `<name>.info`. */
  readonly record: Uint8Array;
  /** With one, `<address>.address` is written too. */
  readonly key?: Uint8Array;
}

/** Writes a keyring below `folder` as `backend` would; `file` gets its keyhash, of the least cost that there is. */
export async function writeKeyring(
  folder: string,
  backend: "test" | "file",
  passphrase: string,
  entries: readonly SampleEntry[],
): Promise<string> {
  const path = join(folder, `keyring-${backend}`);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (backend === "file") {
    writeSecret(path, "keyhash", await bcrypt({ password: passphrase, salt: random(16), costFactor: 4 }));
  }
  for (const { name, record, key } of entries) {
    const file = `${name.replaceAll("%", "%25").replaceAll("/", "%2F")}.info`;
    writeSecret(path, file, await encryptItem(item(`${name}.info`, record), passphrase));
    if (!key) continue;
    const owner = `${Buffer.from(ripemd160(sha256(secp256k1.getPublicKey(key)))).toString("hex")}.address`;
    writeSecret(path, owner, await encryptItem(item(owner, Buffer.from(`${name}.info`)), passphrase));
  }
  return path;
}

export function localEntry(name: string, key: Uint8Array): SampleEntry {
  const local = { privKey: { typeUrl: "/cosmos.crypto.secp256k1.PrivKey", value: PrivKey.encode({ key }).finish() } };
  return { name, record: recordOf(name, key, { local }), key };
}

/** A record with the public half of `key` and any `kind` of the rest. */
export function recordOf(name: string, key: Uint8Array, kind: Partial<Record>): Uint8Array {
  const publicKey = PubKey.encode({ key: secp256k1.getPublicKey(key) }).finish();
  const pubKey = { typeUrl: "/cosmos.crypto.secp256k1.PubKey", value: publicKey };
  return Record.encode(Record.fromPartial({ name, pubKey, ...kind })).finish();
}

/** As tools before cosmos-sdk v0.46 wrote it. */
export function aminoEntryOf(name: string, key: Uint8Array): SampleEntry {
  const publicKey = Buffer.concat([Buffer.from("eb5ae98721", "hex"), secp256k1.getPublicKey(key)]);
  const fields = [Buffer.from(name), publicKey, aminoKey(key), Buffer.from("secp256k1")];
  const writer = new BinaryWriter().raw(Buffer.from("0dad153d", "hex"));
  for (const [at, field] of fields.entries()) writer.tag(at + 1, 2).bytes(field);
  return { name, record: new BinaryWriter().bytes(writer.finish()).finish(), key };
}

export function aminoKey(key: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from("e1b0f79b20", "hex"), key]);
}

export function item(key: string, data: Uint8Array): Uint8Array {
  const rest = { Label: "", Description: "", KeychainNotTrustApplication: false, KeychainNotSynchronizable: false };
  return Buffer.from(JSON.stringify({ Key: key, Data: Buffer.from(data).toString("base64"), ...rest }));
}

/** A JWE as the file back end writes it; `rounds` and `alg` are for items that nobody should have written. */
export async function encryptItem(
  plain: Uint8Array,
  passphrase: string,
  { rounds = 8192, alg = "PBES2-HS256+A128KW" } = {},
): Promise<string> {
  const salt = random(12);
  const iv = random(12);
  const p2s = Buffer.from(salt).toString("base64url");
  const header = Buffer.from(JSON.stringify({ alg, enc: "A256GCM", p2c: rounds, p2s })).toString("base64url");
  const secret = await subtle.importKey("raw", Buffer.from(passphrase), "PBKDF2", false, ["deriveKey"]);
  const kdf = { name: "PBKDF2", hash: "SHA-256", salt: Buffer.concat([Buffer.from(`${alg}\0`), salt]) };
  // The rounds that a test only claims are not worth doing.
  const iterations = Math.min(rounds, 8192);
  const wrapping = await subtle.deriveKey({ ...kdf, iterations }, secret, { name: "AES-KW", length: 128 }, false, [
    "wrapKey",
  ]);
  const key = await subtle.generateKey({ name: "AES-GCM", length: 256 }, true, ["encrypt"]);
  const wrapped = await subtle.wrapKey("raw", key, wrapping, "AES-KW");
  const sealed = Buffer.from(
    await subtle.encrypt({ name: "AES-GCM", iv, additionalData: Buffer.from(header) }, key, Buffer.from(plain)),
  );
  const parts = [Buffer.from(wrapped), iv, sealed.subarray(0, -16), sealed.subarray(-16)];
  return [header, ...parts.map((part) => Buffer.from(part).toString("base64url"))].join(".");
}
