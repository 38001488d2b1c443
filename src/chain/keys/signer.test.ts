import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import { inspect } from "node:util";
import { DirectSecp256k1Wallet } from "@cosmjs/proto-signing";
import { secp256k1 } from "@noble/curves/secp256k1";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { known } from "../../../test/support/samples/keyring-samples.ts";
import { InvariantError } from "../../runtime/invariant.ts";
import { checkMnemonic, keyOfMnemonic, mnemonicWords } from "./mnemonic.ts";
import { createSigner, isPrivateKey } from "./signer.ts";

const anyKey = fc.uint8Array({ minLength: 32, maxLength: 32 }).filter(isPrivateKey);
const groupOrder = secp256k1.CURVE.n;

async function signerOf(mnemonic: string) {
  return createSigner(await keyOfMnemonic(checkMnemonic(mnemonicWords(mnemonic), "a test")));
}

test("a signer has the address and public key that a wallet shows for the same key", async () => {
  await fc.assert(
    fc.asyncProperty(anyKey, async (key) => {
      const [account] = await (await DirectSecp256k1Wallet.fromKey(key, "akash")).getAccounts();
      const signer = createSigner(key);
      assert.equal(signer.address, account?.address);
      assert.deepEqual(Buffer.from(signer.publicKey), Buffer.from(account?.pubkey ?? []));
    }),
    { numRuns: runs(10, 500) },
  );
});

test("another library accepts every signature, s is low, and signing again gives the same", () => {
  fc.assert(
    fc.property(anyKey, fc.uint8Array({ maxLength: 300 }), (key, bytes) => {
      const signer = createSigner(key);
      const signature = signer.sign(bytes);
      assert.equal(signature.length, 64);
      assert.deepEqual(signer.sign(bytes), signature);
      assert.ok(BigInt(`0x${Buffer.from(signature.subarray(32)).toString("hex")}`) <= groupOrder / 2n);
      assert.ok(verify("sha256", bytes, { key: openSslKey(signer.publicKey), dsaEncoding: "ieee-p1363" }, signature));
    }),
    { numRuns: runs(20, 1000) },
  );
});

test("a signature is the one that the network's own tools make", async () => {
  const signer = await signerOf(known.mnemonic);
  assert.equal(Buffer.from(signer.sign(Buffer.from("hello"))).toString("hex"), known.signatureOfHello);
});

test("whatever is done to look at a signer, its key does not show", () => {
  fc.assert(
    fc.property(anyKey, (key) => {
      const signer = createSigner(key);
      const seen = [
        inspect(signer, { depth: Infinity, showHidden: true, getters: true }),
        JSON.stringify(signer),
        JSON.stringify(Object.getOwnPropertyDescriptors(signer)),
        String(signer.sign),
      ].join("\n");
      const decimal = key.join(",");
      const encoded = (["hex", "base64", "base64url"] as const).map((encoding) => Buffer.from(key).toString(encoding));
      for (const secret of [decimal, ...encoded]) assert.ok(!seen.replace(/\s/g, "").includes(secret));
      assert.deepEqual(Object.keys(signer), ["address", "publicKey", "sign"]);
    }),
    { numRuns: runs(20, 500) },
  );
});

test("a signer keeps its key when the bytes it was made from are wiped", () => {
  const key = Buffer.alloc(32, 7);
  const signer = createSigner(key);
  const before = signer.sign(Buffer.from("x"));
  key.fill(0);
  assert.deepEqual(signer.sign(Buffer.from("x")), before);
});

test("bytes that are no private key make no signer", () => {
  for (const bytes of [Buffer.alloc(32), Buffer.alloc(32, 0xff), Buffer.alloc(31, 1), Buffer.alloc(33, 1)]) {
    assert.throws(() => createSigner(bytes), InvariantError);
  }
});

function openSslKey(publicKey: Uint8Array) {
  const { x, y } = secp256k1.Point.fromBytes(publicKey).toAffine();
  const coordinate = (value: bigint) => Buffer.from(value.toString(16).padStart(64, "0"), "hex").toString("base64url");
  return createPublicKey({ format: "jwk", key: { kty: "EC", crv: "secp256k1", x: coordinate(x), y: coordinate(y) } });
}
