import assert from "node:assert/strict";
import { test } from "node:test";
import { base64, makeToken, newSigner } from "../../../test/auth-stage.ts";
import { bearerToken, readToken } from "./token.ts";

const signer = newSigner();
const invalid = { status: 401, message: "JWT is invalid" };

test("a header has a scheme in any case and one token", () => {
  for (const header of [undefined, ""]) assert.equal(bearerToken(header), undefined);
  for (const header of ["Bearer x", "bearer x", "BEARER \t x", "  Bearer x "]) assert.equal(bearerToken(header), "x");
  for (const header of ["x", "Bearer", "Bearer x y", "Basic x", "Bearer,x", "Bearer: x", " ", "Bearer\u00a0x"]) {
    assert.throws(() => bearerToken(header), { status: 400, message: "invalid authorization header" }, header);
  }
});

test("a token has one text: what else would be read as the same bytes is none", () => {
  const token = makeToken(signer, {});
  const [header, payload, signature = ""] = token.split(".");
  assert.equal(readToken(token).signature.length, 64);
  // The last character of 64 bytes has four bits that belong to none.
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet.indexOf(signature.slice(-1));
  for (const bits of [1, 2, 4, 8, 15]) {
    const other = `${header}.${payload}.${signature.slice(0, -1)}${alphabet[last ^ bits]}`;
    assert.throws(() => readToken(other), invalid);
  }
  for (const other of [
    `${token}==`,
    `${token}\n`,
    `${token}.`,
    `${header}.${payload}`,
    `${header}.${payload}.`,
    "..",
  ]) {
    assert.throws(() => readToken(other), invalid, other);
  }
});

test("what is no JSON object, or has more behind it, is no part of a token", () => {
  for (const payload of ["", "x", "null", "[]", "1", '"x"', "{} {}", '{"a":', `{"a":${"[".repeat(100)}`, "{}x"]) {
    assert.throws(() => readToken(makeToken(signer, payload)), invalid, payload);
  }
  for (const header of [
    "null",
    "[]",
    '{"alg":["ES256K"]}',
    '{"ALG":"ES256K"}',
    '{"alg":"toString"}',
    '{"__proto__":{"alg":"ES256K"}}',
  ]) {
    assert.throws(() => readToken(`${base64(header)}.${base64("{}")}.${base64("x")}`), invalid, header);
  }
});
