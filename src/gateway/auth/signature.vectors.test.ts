import assert from "node:assert/strict";
import { readJsonVector, readVector, vectorTest } from "../../../test/support/vectors.ts";
import { checkMnemonic, keyOfMnemonic, mnemonicWords } from "../../chain/keys/mnemonic.ts";
import { createSigner } from "../../chain/keys/signer.ts";
import { adr36Document, isSignedBy } from "./authenticator.ts";
import { AuthError } from "./identity.ts";
import { readToken } from "./token.ts";

interface Case {
  readonly description: string;
  readonly tokenString: string;
  readonly mustFail: boolean;
}

vectorTest("the network's own samples of signatures are good or bad as it says", async () => {
  const words = mnemonicWords(readVector("jwt/mnemonic").toString());
  const { address, publicKey } = createSigner(await keyOfMnemonic(checkMnemonic(words, "the samples")));
  const cases = readJsonVector<Case[]>("jwt/es256k.json");
  for (const { description, tokenString, mustFail } of cases) {
    assert.equal(await isGood(tokenString), !mustFail, description);
  }
  assert.equal(cases.length, 5);

  async function isGood(text: string): Promise<boolean> {
    try {
      const { algorithm, signed, signature } = readToken(text);
      return await isSignedBy(publicKey, algorithm === "ES256K" ? signed : adr36Document(address, signed), signature);
    } catch (error) {
      if (error instanceof AuthError) return false;
      throw error;
    }
  }
});
