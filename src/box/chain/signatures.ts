/** Who signed what: keys, the bytes that are signed, and whether a signature holds. */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { SignDoc } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { ripemd160 } from "@noble/hashes/legacy";
import { type Address, addressOf } from "../../market/address.ts";
import type { Transaction } from "./transaction.ts";

/** Signatures known to hold: as many as may wait in the pool and a few blocks more, at 200 bytes each. */
const chainVerifiedSignatures = 10_000;

export function addressOfKey(publicKey: Uint8Array): Address {
  return addressOf(ripemd160(sha256(publicKey)));
}

/** What a signer in direct mode signs: the transaction as it travels, bound to this chain and this account. */
export function signBytes({ raw }: Transaction, chainId: string, accountNumber: bigint): Uint8Array {
  const { bodyBytes, authInfoBytes } = raw;
  return SignDoc.encode(SignDoc.fromPartial({ bodyBytes, authInfoBytes, chainId, accountNumber })).finish();
}

/** A signature is looked at when it enters the pool, when the pool is checked again, and in its block; verify it once. */
const verified = new Set<string>();
/** By the bytes as an account holds them. */
const keys = new WeakMap<Uint8Array, KeyObject>();

export function signatureHolds(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  const known = Buffer.concat([publicKey, sha256(bytes), signature]).toString("latin1");
  if (verified.has(known)) return true;
  if (!isLowS(signature) || !verifies(publicKey, bytes, signature)) return false;
  if (verified.size >= chainVerifiedSignatures) verified.clear();
  verified.add(known);
  return true;
}

/** OpenSSL, because it takes a fifth of the time that JavaScript needs. */
function verifies(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  const key = keys.get(publicKey) ?? readKey(publicKey);
  return key !== undefined && verify("sha256", bytes, { key, dsaEncoding: "ieee-p1363" }, signature);
}

/** Undefined for bytes that are no point of the curve: nothing that they sign holds. */
function readKey(publicKey: Uint8Array): KeyObject | undefined {
  const der = Buffer.concat([keyHeader, publicKey]);
  const key = readByOpenssl(() => createPublicKey({ key: der, format: "der", type: "spki" }));
  if (key) keys.set(publicKey, key);
  return key;
}

/** What stands in front of a compressed secp256k1 key in its DER form: the two object ids and the lengths. */
const keyHeader = Buffer.from("3036301006072a8648ce3d020106052b8104000a032200", "hex");
/** Half of the curve's order. Of the two signatures that would hold, the chain takes the one below it. */
const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

function isLowS(signature: Uint8Array): boolean {
  return signature.length === 64 && BigInt(`0x${Buffer.from(signature.subarray(32)).toString("hex")}`) <= halfOrder;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

/** What OpenSSL makes of them, or undefined: it throws in many ways, and that it cannot read them is all that counts. */
export function readByOpenssl<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}
