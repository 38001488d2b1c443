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
import { isBcryptOf, readAminoEntry, readAminoKey } from "./key-formats.ts";
import { type KeyListener, type Passphrase, readSecretFile, wrongPassphrase } from "./secret-file.ts";

/** Names of keys in one message: nobody reads more. */
const keyringNamesTold = 20;

interface Keyring {
  /** The private key of a name or of an address, and the file it came from. */
  read(wanted: { readonly name: string } | { readonly address: Address }): Promise<{ key: Uint8Array; path: string }>;
  /** Names of the keys, for a person who has to choose one. */
  readonly names: string;
}

interface KeyringFiles {
  readonly folder: string;
  /** Asked for once it is known that there is something to open. */
  readonly passphrase: () => Passphrase;
  readonly listener: KeyListener;
}

const infoEnd = ".info";
const addressEnd = ".address";
const keyhash = "keyhash";

const itemSchema = z.object({ Data: z.base64() });
/** Of a cost that is bearable: one more doubles the time, and 20 would be a minute. */
const bcryptHash = /^\$2[aby]\$(?:0[4-9]|1\d)\$[./A-Za-z0-9]{53}$/;

export async function openKeyring(keyring: KeyringFiles): Promise<Keyring> {
  const { folder, listener } = keyring;
  const files = await readdir(folder).catch((thrown: unknown) => {
    throw new ProviderError("AKP_KEYRING_MISSING", { folder, reason: reasonOf(thrown) });
  });
  const names = tellNames(files);
  const unknown = (key: string) => new ProviderError("AKP_KEY_UNKNOWN", { key, folder, names });
  let unlocked: Promise<Unlocked> | undefined;

  async function readItem(path: string): Promise<Buffer> {
    const token = await readSecretFile(path, listener);
    unlocked ??= unlock(keyring, files.includes(keyhash));
    const { passphrase, isProven } = await unlocked;
    const item = await decryptJwe(token, passphrase.text);
    if (!("fault" in item)) return readData(item, path);
    if (item.fault === "damaged") throw damaged(path, item.reason);
    throw isProven ? damaged(path, "it has another pass-phrase than its keyring") : wrongPassphrase(path, passphrase);
  }

  async function nameOf(address: Address): Promise<string> {
    const file = Buffer.from(addressBytes(address)).toString("hex") + addressEnd;
    if (!files.includes(file)) throw unknown(`with the address ${address}`);
    // Newer tools write the name of the other file, older ones the name of the key.
    return (await readItem(join(folder, file))).toString("utf8").replace(/\.info$/, "");
  }

  return {
    names,
    async read(wanted) {
      const name = "name" in wanted ? wanted.name : await nameOf(wanted.address);
      const file = escapeName(name) + infoEnd;
      if (!files.includes(file)) throw unknown(`named ${JSON.stringify(name)}`);
      const path = join(folder, file);
      const key = readEntry(await readItem(path));
      if (!("fault" in key)) return { key, path };
      throw key.fault === "damaged"
        ? damaged(path, key.reason)
        : new ProviderError("AKP_KEY_UNUSABLE", { path, reason: key.reason });
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
  // Not a hash: the entries themselves will tell.
  if (!bcryptHash.test(hash)) return { passphrase: given, isProven: false };
  if (!(await isBcryptOf(given.text, hash))) throw wrongPassphrase(`the keyring ${folder}`, given);
  return { passphrase: given, isProven: true };
}

function damaged(path: string, reason: string): ProviderError {
  return new ProviderError("AKP_KEYRING_ENTRY_DAMAGED", { path, reason });
}

function readData(item: Buffer, path: string): Buffer {
  try {
    return Buffer.from(itemSchema.parse(JSON.parse(item.toString("utf8"))).Data, "base64");
  } catch {
    // The parser quotes what it could not read, and that is somebody's key.
    throw damaged(path, "it is no item of a keyring");
  }
}

/** A slash would be a folder, and the sign that stands for one is escaped as well. */
function escapeName(name: string): string {
  return name.replace(/[%/]/g, (sign) => (sign === "%" ? "%25" : "%2F"));
}

function unescapeName(name: string): string {
  return name.replace(/%(25|2F)/gi, (_, code: string) => (code === "25" ? "%" : "/"));
}

function tellNames(files: readonly string[]): string {
  const names = files.filter((file) => file.endsWith(infoEnd)).map((file) => file.slice(0, -infoEnd.length));
  if (names.length === 0) return "none";
  const told = names.map(unescapeName).sort().slice(0, keyringNamesTold);
  const more = names.length - told.length;
  return told.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** "unusable": a sound entry of a key that cannot sign here. "damaged": not an entry at all. */
type EntryFault = { readonly fault: "unusable" | "damaged"; readonly reason: string };

const privateKeyType = `/${PrivKey.$type}`;

/** The record of a key, in protobuf or, from older tools, in amino. */
function readEntry(bytes: Uint8Array): Uint8Array | EntryFault {
  try {
    const amino = readAminoEntry(bytes);
    if (amino) return usable(readAminoKey(amino));
    return readRecord(Record.decode(bytes));
  } catch {
    // The decoders quote what they could not read, and that may be half of a key.
    return { fault: "damaged", reason: "it is no record of a key" };
  }
}

function readRecord(record: Record): Uint8Array | EntryFault {
  if (record.ledger) return unusable("it is on a Ledger device, and nobody is there to press its button");
  if (record.multi) return unusable("it is a multi-signature key");
  if (record.offline) return unusable("only its public half is there");
  const key = record.local?.privKey;
  if (!key) return { fault: "damaged", reason: "it is no record of a key" };
  if (key.typeUrl !== privateKeyType) return unusable("it is no secp256k1 key, which accounts have");
  return PrivKey.decode(key.value).key;
}

function usable(key: Uint8Array | { readonly fault: string }): Uint8Array | EntryFault {
  return "fault" in key ? unusable(key.fault) : key;
}

function unusable(reason: string): EntryFault {
  return { fault: "unusable", reason };
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

/** "passphrase": it does not open this item. Any other fault is one of the item itself. */
type JweFault = { readonly fault: "passphrase" } | { readonly fault: "damaged"; readonly reason: string };

export async function decryptJwe(token: string, passphrase: string): Promise<Buffer | JweFault> {
  const parts = token.trim().split(".");
  const [protectedHeader = "", ...rest] = parts;
  const [wrappedKey, iv, encrypted, tag] = rest.map((part) => Buffer.from(part, "base64url"));
  if (parts.length !== 5 || !wrappedKey || !iv || !encrypted || !tag) return damagedItem("it is not an encrypted item");
  const header = readHeader(protectedHeader);
  if (!header) return damagedItem(`it is not encrypted with ${keyWrap} and ${content}`);

  const salt = Buffer.concat([Buffer.from(`${header.alg}\0`), Buffer.from(header.p2s, "base64url")]);
  const wrappingKey = await derive(passphrase, salt, header.p2c, 16, "sha256");
  const key = open(() => {
    const cipher = createDecipheriv("id-aes128-wrap", wrappingKey, wrapIv);
    return Buffer.concat([cipher.update(wrappedKey), cipher.final()]);
  });
  if (!key) return { fault: "passphrase" };
  const plain = open(() => {
    const cipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(protectedHeader, "ascii")).setAuthTag(tag);
    return Buffer.concat([cipher.update(encrypted), cipher.final()]);
  });
  return plain ?? damagedItem("its contents were changed after it was written");
}

function readHeader(part: string): z.infer<typeof headerSchema> | undefined {
  try {
    return headerSchema.parse(JSON.parse(Buffer.from(part, "base64url").toString("utf8")));
  } catch {
    return undefined;
  }
}

/** What the cipher yields, or undefined when its own check of the bytes failed. */
function open(decrypt: () => Buffer): Buffer | undefined {
  try {
    return decrypt();
  } catch {
    return undefined;
  }
}

function damagedItem(reason: string): JweFault {
  return { fault: "damaged", reason };
}
