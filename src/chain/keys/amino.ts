/** The few things that older tools of the network wrote in amino: private keys, and entries of a keyring. */
import { BinaryReader } from "@bufbuild/protobuf/wire";
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
