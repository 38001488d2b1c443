/** An armored export, as `keys export` of the network's tools writes it: a private key under a pass-phrase. */
import { argon2, createDecipheriv } from "node:crypto";
import { promisify } from "node:util";
import { secretbox } from "@noble/ciphers/salsa";
import { sha256 } from "@noble/hashes/sha2";
import { ProviderError } from "../../runtime/errors.ts";
import { readAminoKey } from "./amino.ts";
import { readArmor } from "./armor.ts";
import { bcryptText } from "./bcrypt.ts";
import { type Passphrase, wrongPassphrase } from "./passphrase.ts";

const privateKeyKind = "TENDERMINT PRIVATE KEY";
const saltHex = /^[0-9A-Fa-f]{32}$/;

type Decrypt = (encrypted: Uint8Array, passphrase: string, salt: Uint8Array) => Promise<Uint8Array | undefined>;

/** By the name in the header `kdf`. Each way of making a key has its own cipher; both check what they decrypt. */
const ciphers = new Map<string, Decrypt>([
  ["argon2", decryptArgon2],
  ["bcrypt", decryptBcrypt],
]);

/** `path` is where the text was read; the pass-phrase is asked for once the rest makes sense. */
export async function readArmoredKey(text: string, path: string, passphrase: () => Passphrase): Promise<Uint8Array> {
  const refuse = (reason: string) => new ProviderError("AKP_KEY_FILE_MALFORMED", { path, reason });
  const armor = readArmor(text);
  if ("fault" in armor) throw refuse(armor.fault);
  if (armor.kind !== privateKeyKind) throw refuse(`it says ${armor.kind}, not ${privateKeyKind}`);
  const kdf = armor.headers.get("kdf") ?? "none";
  const decrypt = ciphers.get(kdf);
  if (!decrypt) throw refuse(`it is encrypted in a way that is not known here (kdf ${kdf})`);
  const salt = armor.headers.get("salt") ?? "";
  if (!saltHex.test(salt)) throw refuse("its salt is not 32 hex digits");

  const given = await passphrase();
  const plain = await decrypt(armor.bytes, given.text, Buffer.from(salt, "hex"));
  if (!plain) throw wrongPassphrase(path, given);
  const key = readAminoKey(plain);
  if ("fault" in key) throw new ProviderError("AKP_KEY_UNUSABLE", { path, reason: key.fault });
  return key;
}

const deriveArgon2 = promisify(argon2);
/** Fixed in the format: one pass over 64 MiB in four lanes. */
const argon2Cost = { passes: 1, memory: 64 * 1024, parallelism: 4, tagLength: 32 };
const chachaTagBytes = 16;
/** Each export has a salt of its own and so a key of its own, which is why the format can do without a nonce. */
const noNonce = Buffer.alloc(12);

async function decryptArgon2(encrypted: Uint8Array, passphrase: string, salt: Uint8Array) {
  const key = await deriveArgon2("argon2id", { message: passphrase, nonce: salt, ...argon2Cost });
  const cipher = createDecipheriv("chacha20-poly1305", key, noNonce, { authTagLength: chachaTagBytes });
  try {
    cipher.setAuthTag(encrypted.subarray(-chachaTagBytes));
    return Buffer.concat([cipher.update(encrypted.subarray(0, -chachaTagBytes)), cipher.final()]);
  } catch {
    return undefined;
  }
}

/** Fixed in the format. */
const bcryptCost = 12;
const secretboxNonceBytes = 24;

async function decryptBcrypt(encrypted: Uint8Array, passphrase: string, salt: Uint8Array) {
  const key = sha256(await bcryptText(passphrase, salt, bcryptCost));
  try {
    const nonce = encrypted.subarray(0, secretboxNonceBytes);
    return secretbox(key, nonce).open(encrypted.subarray(secretboxNonceBytes));
  } catch {
    return undefined;
  }
}
