/** A keyring on disk: `<name>.info` has a key, `<hex address>.address` its name, and `keyhash` proves a pass-phrase. */

import { createDecipheriv, pbkdf2 } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { PrivKey } from "@akashnetwork/chain-sdk/private-types/cosmos.secp256k1";
import { Record } from "@akashnetwork/chain-sdk/private-types/cosmos.v1";
import { z } from "zod";
import { type Address, addressBytes } from "../../market/address.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { isBcryptOf, readAminoEntry, readAminoKey } from "./key-formats.ts";
import { type KeyListener, type Passphrase, readSecretFile, wrongPassphrase } from "./secret-file.ts";

/** Names of keys in one message. */
const keyringNamesShown = 20;

interface KeyringFiles {
  readonly folder: string;
  /** Requested once an entry to open exists. */
  readonly passphrase: () => Passphrase;
  readonly listener: KeyListener;
}

const infoEnd = ".info";
const addressEnd = ".address";
const keyhash = "keyhash";

const itemSchema = z.object({ Data: z.base64() });
/** Of a cost that is bearable: one more doubles the time, and 20 would be a minute. */
const bcryptHash = /^\$2[aby]\$(?:0[4-9]|1\d)\$[./A-Za-z0-9]{53}$/;

export async function openKeyring(keyring: KeyringFiles) {
  const { folder, listener } = keyring;
  const files = await readdir(folder).catch((thrown: unknown) => {
    throw new ProviderError("AKP_KEYRING_MISSING", { folder, reason: reasonOf(thrown) });
  });
  const names = showNames(files);
  const unknown = (key: string) => new ProviderError("AKP_KEY_UNKNOWN", { key, folder, names });
  let unlocked: Promise<Unlocked> | undefined;

  async function readItem(path: string): Promise<Buffer> {
    const token = await readSecretFile(path, listener);
    unlocked ??= unlock(keyring, files.includes(keyhash));
    const { passphrase, isProven } = await unlocked;
    const item = await decryptJwe(token, passphrase.text, path);
    if (item) return readData(item, path);
    throw isProven ? damaged(path, "it has another pass-phrase than its keyring") : wrongPassphrase(path, passphrase);
  }

  async function nameOf(address: Address): Promise<string> {
    const file = Buffer.from(addressBytes(address)).toString("hex") + addressEnd;
    if (!files.includes(file)) throw unknown(`with the address ${address}`);
    // Newer tools write the name of the other file, older ones the name of the key.
    return (await readItem(join(folder, file))).toString("utf8").replace(/\.info$/, "");
  }

  return {
    /** Names of the keys, for a person who has to choose one. */
    names,
    /** The private key of a name or of an address, and the file it came from. */
    async read(wanted: { readonly name: string } | { readonly address: Address }) {
      const name = "name" in wanted ? wanted.name : await nameOf(wanted.address);
      const file = escapeName(name) + infoEnd;
      if (!files.includes(file)) throw unknown(`named ${JSON.stringify(name)}`);
      const path = join(folder, file);
      return { key: readEntry(await readItem(path), path), path };
    },
  };
}

interface Unlocked {
  readonly passphrase: Passphrase;
  /** Known to be right for this keyring, so what it does not open is damaged. */
  readonly isProven: boolean;
}

async function unlock({ folder, passphrase, listener }: KeyringFiles, hasHash: boolean): Promise<Unlocked> {
  const given = await passphrase();
  if (given.isFixed) return { passphrase: given, isProven: true };
  const hash = hasHash ? (await readSecretFile(join(folder, keyhash), listener)).trim() : "";
  // Not a hash: the entries show whether the pass-phrase is right.
  if (!bcryptHash.test(hash)) return { passphrase: given, isProven: false };
  if (!(await isBcryptOf(given.text, hash))) throw wrongPassphrase(`the keyring ${folder}`, given);
  return { passphrase: given, isProven: true };
}

function damaged(path: string, reason: string): ProviderError {
  return new ProviderError("AKP_KEYRING_ENTRY_DAMAGED", { path, reason });
}

function readData(item: Buffer, path: string): Buffer {
  // The parser's error is not shown: it quotes what it could not read, which is a key.
  const { data } = itemSchema.safeParse(parseJson(item.toString("utf8")));
  if (!data) throw damaged(path, "it is no item of a keyring");
  return Buffer.from(data.Data, "base64");
}

/** A slash would be a folder, and the sign that stands for one is escaped as well. */
function escapeName(name: string): string {
  return name.replace(/[%/]/g, (sign) => (sign === "%" ? "%25" : "%2F"));
}

function unescapeName(name: string): string {
  return name.replace(/%(25|2F)/gi, (_, code: string) => (code === "25" ? "%" : "/"));
}

function showNames(files: readonly string[]): string {
  const names = files.filter((file) => file.endsWith(infoEnd)).map((file) => file.slice(0, -infoEnd.length));
  if (names.length === 0) return "none";
  const shown = names.map(unescapeName).sort().slice(0, keyringNamesShown);
  const more = names.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

const privateKeyType = `/${PrivKey.$type}`;

/** The record of a key, in protobuf or, from older tools, in amino. */
function readEntry(bytes: Uint8Array, path: string): Uint8Array {
  try {
    const amino = readAminoEntry(bytes);
    const key = amino ? readAminoKey(amino) : readRecord(Record.decode(bytes));
    if (!("fault" in key)) return key;
    throw new ProviderError("AKP_KEY_UNUSABLE", { path, reason: key.fault });
  } catch (thrown) {
    if (thrown instanceof ProviderError) throw thrown;
    // The decoders quote what they could not read, and that may be half of a key.
    throw damaged(path, "it is no record of a key");
  }
}

function readRecord(record: Record): Uint8Array | { readonly fault: string } {
  if (record.ledger) return { fault: "it is on a Ledger device, which needs a person to press its button" };
  if (record.multi) return { fault: "it is a multi-signature key" };
  if (record.offline) return { fault: "only its public half is there" };
  const key = record.local?.privKey;
  if (!key) throw new TypeError("no key");
  if (key.typeUrl !== privateKeyType) return { fault: "it is no secp256k1 key, which accounts have" };
  return PrivKey.decode(key.value).key;
}

// An encrypted item as keyrings on disk store it: a JWE whose key is wrapped under a pass-phrase (RFC 7516, 7518).

/** Rounds of PBKDF2 that an entry of a keyring may ask for: what the network's tools accept, about a second. */
const keyringIterations = 1_300_000;

const derive = promisify(pbkdf2);

/** The one combination that keyrings are written with. */
const keyWrap = "PBES2-HS256+A128KW";
const content = "A256GCM";
const headerSchema = z.object({
  alg: z.literal(keyWrap),
  enc: z.literal(content),
  p2c: z.int().min(1).max(keyringIterations),
  p2s: z.base64url(),
});

const wrapIv = Buffer.alloc(8, 0xa6);
const tagBytes = 16;

/** Undefined where the pass-phrase does not open it. */
async function decryptJwe(token: string, passphrase: string, path: string): Promise<Buffer | undefined> {
  const parts = token.trim().split(".");
  const [protectedHeader = "", ...rest] = parts;
  const [wrappedKey, iv, encrypted, tag] = rest.map((part) => Buffer.from(part, "base64url"));
  if (parts.length !== 5 || !wrappedKey || !iv || !encrypted || !tag)
    throw damaged(path, "it is not an encrypted item");
  const { data: header } = headerSchema.safeParse(
    parseJson(Buffer.from(protectedHeader, "base64url").toString("utf8")),
  );
  if (!header) throw damaged(path, `it is not encrypted with ${keyWrap} and ${content}`);

  const salt = Buffer.concat([Buffer.from(`${header.alg}\0`), Buffer.from(header.p2s, "base64url")]);
  const wrappingKey = await derive(passphrase, salt, header.p2c, 16, "sha256");
  const key = open(() => {
    const cipher = createDecipheriv("id-aes128-wrap", wrappingKey, wrapIv);
    return Buffer.concat([cipher.update(wrappedKey), cipher.final()]);
  });
  if (!key) return undefined;
  const plain = open(() => {
    const cipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(protectedHeader, "ascii")).setAuthTag(tag);
    return Buffer.concat([cipher.update(encrypted), cipher.final()]);
  });
  if (!plain) throw damaged(path, "its contents were changed after it was written");
  return plain;
}

/** What the cipher yields, or undefined when its own check of the bytes failed. */
function open(decrypt: () => Buffer): Buffer | undefined {
  try {
    return decrypt();
  } catch {
    return undefined;
  }
}
