import assert from "node:assert/strict";
import { readJsonVector, readVector, vectorTest } from "../../../test/support/vectors.ts";
import { checkMnemonic, keyOfMnemonic, mnemonicWords } from "./mnemonic.ts";
import { createSigner } from "./signer.ts";

vectorTest("the network's mnemonic gives its account and, for its claims, its signature", async () => {
  const words = checkMnemonic(mnemonicWords(readVector("jwt/mnemonic").toString()), "a test");
  const signer = createSigner(await keyOfMnemonic(words));
  assert.equal(signer.address, "akash1qufa3xzrf34qvwyejkhvnc4psf49fftaw0asmh");
  const cases = readJsonVector<{ description: string; tokenString: string }[]>("jwt/es256k.json");
  const token = cases.find(({ description }) => description === "ES256K - Valid Signature")?.tokenString ?? "";
  const [header, claims, signature] = token.split(".");
  const signed = signer.sign(Buffer.from(`${header}.${claims}`));
  assert.equal(Buffer.from(signed).toString("base64url"), signature);
});
