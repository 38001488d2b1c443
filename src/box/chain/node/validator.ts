/** The one validator of the embedded chain. */
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { type BlockId, type Commit, validatorCodec, voteBytes } from "./block-bytes.ts";
import { merkleRoot, sha256, upperHex } from "./merkle.ts";

export interface Validator {
  readonly address: string;
  readonly publicKey: Uint8Array;
  readonly power: bigint;
  /** Of the set of validators, which is this one alone. */
  readonly setHash: string;
  commit(height: bigint, blockId: BlockId, timeNs: bigint): Commit;
}

/** The fixed bytes around an Ed25519 seed in a PKCS #8 document. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");
const addressBytes = 20;
const power = 5_000_000n;

/**
 * Anyone can compute this key, and may: there is no other validator on this chain. A key that follows from the chain's name makes
 * a replay arrive at the same signatures and so at the same block hashes.
 */
export function createValidator(chainId: string): Validator {
  const seed = sha256(Buffer.from(`embedded validator of ${chainId}`));
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: "der", type: "pkcs8" });
  const publicKey = Buffer.from(createPublicKey(key).export({ format: "jwk" }).x ?? "", "base64url");
  const address = upperHex(sha256(publicKey).subarray(0, addressBytes));
  return {
    address,
    publicKey,
    power,
    setHash: upperHex(merkleRoot([validatorCodec.encode({ publicKey: { ed25519: publicKey }, power })])),
    commit(height, blockId, timeNs) {
      const signature = sign(null, voteBytes(chainId, height, blockId, timeNs), key);
      return { height, blockId, signatures: [{ validatorAddress: address, timeNs, signature }] };
    },
  };
}
