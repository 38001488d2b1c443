import assert from "node:assert/strict";
import { test } from "node:test";
import { newSigner } from "../../../test/auth-stage.ts";
import { isSignedBy } from "./token-auth.ts";

const signer = newSigner();
const text = "text";
const signature = signer.sign(Buffer.from(text));
const [r, s] = [signature.subarray(0, 32), signature.subarray(32)];

test("a signature is that of one key and one text", async () => {
  assert.equal(await isSignedBy(signer.publicKey, text, signature), true);
  assert.equal(await isSignedBy(signer.publicKey, "test", signature), false);
  assert.equal(await isSignedBy(newSigner().publicKey, text, signature), false);
});

test("what is no signature is none", async () => {
  const order = Buffer.from("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", "hex");
  const zero = Buffer.alloc(32);
  for (const bytes of [[], [r], [r, s, [0]], [zero, zero], [zero, s], [r, zero], [order, s], [r, order], [s, r]]) {
    assert.equal(
      await isSignedBy(signer.publicKey, text, Buffer.concat(bytes.map((part) => Buffer.from(part)))),
      false,
    );
  }
});

test("of the two that there are the one with the lower S counts", async () => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const high = (order - BigInt(`0x${Buffer.from(s).toString("hex")}`)).toString(16).padStart(64, "0");
  assert.equal(await isSignedBy(signer.publicKey, text, Buffer.concat([r, Buffer.from(high, "hex")])), false);
});

test("a key that is none has signed nothing", async () => {
  for (const key of [Buffer.alloc(33), Buffer.alloc(0), signer.publicKey.subarray(1), Buffer.alloc(33, 0xff)]) {
    assert.equal(await isSignedBy(key, text, signature), false);
  }
});
