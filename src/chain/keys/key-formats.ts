/** The few things that older tools of the network wrote in amino: private keys, and entries of a keyring. */
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { bcrypt, bcryptVerify } from "hash-wasm";
import { bytes as bytesCodec, messageOf, optional } from "../../runtime/protobuf.ts";

/** Four bytes before a value say what it is; amino makes them from the name of the type. */
const secp256k1Prefix = "e1b0f79b";
const ed25519Prefix = "a3288910";
const localEntryPrefix = "0dad153d";
const prefixBytes = 4;

const keyBytes = 32;

/** The 32 bytes, or what kind of thing it is instead. */
export function readAminoKey(bytes: Uint8Array): Uint8Array | { readonly fault: string } {
  const prefix = prefixOf(bytes);
  if (prefix === ed25519Prefix) return { fault: "it is an ed25519 key, and accounts are secp256k1" };
  const rest = bytes.subarray(prefixBytes);
  const isKey = prefix === secp256k1Prefix && rest[0] === keyBytes && rest.length === keyBytes + 1;
  return isKey ? rest.subarray(1) : { fault: "it is no secp256k1 key" };
}

/** The private key of an entry of an old keyring, still in amino; undefined when the bytes are no such entry. */
export function readAminoEntry(bytes: Uint8Array): Uint8Array | undefined {
  const prefixed = new BinaryReader(bytes);
  const length = prefixed.uint32();
  const value = bytes.subarray(prefixed.pos);
  if (value.length !== length || prefixOf(value) !== localEntryPrefix) return undefined;
  return entry.decode(value.subarray(prefixBytes)).privateKey;
}

/** It also has a name, a public key and an algorithm. */
const entry = messageOf({ privateKey: optional(3, bytesCodec) });

function prefixOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, prefixBytes)).toString("hex");
}

// bcrypt as the network's tools use it: only the first 72 bytes of a pass-phrase count.

const significantBytes = 72;

/** The usual text form, "$2a$12$…". */
export function bcryptText(passphrase: string, salt: Uint8Array, cost: number): Promise<string> {
  return bcrypt({ password: significant(passphrase), salt, costFactor: cost, outputType: "encoded" });
}

export function isBcryptOf(passphrase: string, hash: string): Promise<boolean> {
  return bcryptVerify({ password: significant(passphrase), hash });
}

function significant(passphrase: string): Uint8Array {
  return Buffer.from(passphrase, "utf8").subarray(0, significantBytes);
}
