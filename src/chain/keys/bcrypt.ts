/** bcrypt as the network's tools use it: only the first 72 bytes of a pass-phrase count. */
import { bcrypt, bcryptVerify } from "hash-wasm";

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
