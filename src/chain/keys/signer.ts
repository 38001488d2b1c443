/** Signs for one account. The private key lives in a closure: no property, print-out or JSON of a signer holds it. */
import { secp256k1 } from "@noble/curves/secp256k1";
import { ripemd160 } from "@noble/hashes/legacy";
import { sha256 } from "@noble/hashes/sha2";
import { type Address, addressOf } from "../../market/address.ts";
import { invariant } from "../../runtime/invariant.ts";

export interface Signer {
  readonly address: Address;
  /** Compressed, 33 bytes. */
  readonly publicKey: Uint8Array;
  /** The signature of the SHA-256 of `bytes`: r and s, 64 bytes, s low; the same for the same bytes (RFC 6979). */
  sign(bytes: Uint8Array): Uint8Array;
}

/** A number that the curve takes: 32 bytes, neither zero nor beyond the order of its group. */
export function isPrivateKey(bytes: Uint8Array): boolean {
  return secp256k1.utils.isValidSecretKey(bytes);
}

export function createSigner(privateKey: Uint8Array): Signer {
  invariant(isPrivateKey(privateKey), "these bytes are no private key");
  const secret = Uint8Array.from(privateKey);
  const publicKey = secp256k1.getPublicKey(secret);
  return Object.freeze({
    address: addressOf(ripemd160(sha256(publicKey))),
    publicKey,
    sign: (bytes: Uint8Array) => secp256k1.sign(sha256(bytes), secret, { lowS: true }).toBytes("compact"),
  });
}
