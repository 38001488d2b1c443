/** Checks signatures of accounts, outside of the event loop. */
import { createPublicKey, type KeyObject, verify } from "node:crypto";

/** What stands before a compressed secp256k1 key to make it one that OpenSSL reads: its kind, its curve, its length. */
const keyPrefix = Buffer.from("3036301006072a8648ce3d020106052b8104000a032200", "hex");
const signatureBytes = 64;
/** Of every signature there are two, with S and with the curve's order less S; the network takes the one with the lower S. */
const highestS = Buffer.from("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0", "hex");

/** R and S in 32 bytes each, over the SHA-256 of the text. */
export async function isSignedBy(key: Uint8Array, text: string, signature: Uint8Array): Promise<boolean> {
  if (signature.length !== signatureBytes || highestS.compare(signature, 32) < 0) return false;
  const publicKey = readKey(key);
  if (!publicKey) return false;
  return new Promise((resolve, reject) =>
    verify("sha256", Buffer.from(text), { key: publicKey, dsaEncoding: "ieee-p1363" }, signature, (error, isGood) => {
      if (error) reject(error);
      else resolve(isGood);
    }),
  );
}

/** Undefined where it is no point of the curve; nobody can have signed with it. */
function readKey(key: Uint8Array): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.concat([keyPrefix, key]), format: "der", type: "spki" });
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}
