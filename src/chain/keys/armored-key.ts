/** An armored export, as `keys export` of the network's tools writes it: a private key under a pass-phrase. */
import { argon2, createDecipheriv } from "node:crypto";
import { promisify } from "node:util";
import { secretbox } from "@noble/ciphers/salsa";
import { sha256 } from "@noble/hashes/sha2";
import { ProviderError } from "../../runtime/errors.ts";
import { bcryptText, readAminoKey } from "./key-formats.ts";
import { type Passphrase, wrongPassphrase } from "./secret-file.ts";

const privateKeyKind = "TENDERMINT PRIVATE KEY";
const saltHex = /^[0-9A-Fa-f]{32}$/;

/** By the name in the header `kdf`. Each way of making a key has its own cipher; both check what they decrypt. */
const ciphers = new Map([
  ["argon2", decryptArgon2],
  ["bcrypt", decryptBcrypt],
]);

/** `path` is where the text was read; the pass-phrase is requested once the rest is valid. */
export async function readArmoredKey(text: string, path: string, passphrase: () => Passphrase): Promise<Uint8Array> {
  const malformed = (reason: string) => new ProviderError("AKP_KEY_FILE_MALFORMED", { path, reason });
  const armor = readArmor(text);
  if ("fault" in armor) throw malformed(armor.fault);
  if (armor.kind !== privateKeyKind) throw malformed(`it says ${armor.kind}, not ${privateKeyKind}`);
  const kdf = armor.headers.get("kdf") ?? "none";
  const decrypt = ciphers.get(kdf);
  if (!decrypt) throw malformed(`it is encrypted in a way that is not known here (kdf ${kdf})`);
  const salt = armor.headers.get("salt") ?? "";
  if (!saltHex.test(salt)) throw malformed("its salt is not 32 hex digits");

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

async function decryptArgon2(
  encrypted: Uint8Array,
  passphrase: string,
  salt: Uint8Array,
): Promise<Uint8Array | undefined> {
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

// ASCII armor (RFC 4880, section 6): a kind, headers, bytes in base64 and a checksum of 24 bits.

export interface Armor {
  /** What stands after BEGIN, for instance "TENDERMINT PRIVATE KEY". */
  readonly kind: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly bytes: Uint8Array;
}

const begin = /^-----BEGIN ([A-Z0-9 ]+)-----$/;
const end = /^-----END ([A-Z0-9 ]+)-----$/;
const header = /^(\w+): (.*)$/;
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;
const checksum = /^=([A-Za-z0-9+/]{4})$/;

export function isArmored(text: string): boolean {
  return text.includes("-----BEGIN ");
}

/** What the text says, or what is wrong with it. Blank lines and indentation do not survive every paste, so neither counts. */
export function readArmor(text: string): Armor | { readonly fault: string } {
  const lines = text.split("\n").map((line) => line.trim());
  const first = lines.findIndex((line) => begin.test(line));
  const last = lines.findIndex((line, at) => at > first && end.test(line));
  const kind = begin.exec(lines[first] ?? "")?.[1];
  if (kind === undefined) return { fault: "its BEGIN line is not whole" };
  if (end.exec(lines[last] ?? "")?.[1] !== kind) return { fault: `it has no line that says END ${kind}` };

  const headers = new Map<string, string>();
  let body = "";
  let sum: string | undefined;
  for (const [offset, line] of lines.slice(first + 1, last).entries()) {
    const [, name, value] = header.exec(line) ?? [];
    if (name !== undefined && value !== undefined) headers.set(name, value);
    else if (checksum.test(line)) sum = checksum.exec(line)?.[1];
    else if (base64.test(line)) body += line;
    else if (line !== "") return { fault: `its line ${first + offset + 2} is not base64` };
  }
  const bytes = Buffer.from(body, "base64");
  if (sum !== undefined && Buffer.from(sum, "base64").readUIntBE(0, 3) !== crc24(bytes)) {
    return { fault: "its checksum does not match, so some character was lost or changed" };
  }
  return { kind, headers, bytes };
}

/** Start value and generator are those of the RFC. */
export function crc24(bytes: Uint8Array): number {
  let register = 0xb704ce;
  for (const byte of bytes) {
    register ^= byte << 16;
    for (let bit = 0; bit < 8; bit += 1) {
      register <<= 1;
      if (register & 0x1000000) register ^= 0x1864cfb;
    }
  }
  return register;
}
