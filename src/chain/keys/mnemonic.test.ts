import assert from "node:assert/strict";
import { test } from "node:test";
import { Bip39, EnglishMnemonic, stringToPath } from "@cosmjs/crypto";
import { DirectSecp256k1HdWallet } from "@cosmjs/proto-signing";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { known } from "../../../test/support/samples/keyring-samples.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { checkMnemonic, type Derivation, keyOfMnemonic, mnemonicWords, usualDerivation } from "./mnemonic.ts";
import { createSigner } from "./signer.ts";

const anyMnemonic = fc
  .constantFrom(16, 20, 24, 28, 32)
  .chain((length) => fc.uint8Array({ minLength: length, maxLength: length }))
  .map((entropy) => Bip39.encode(entropy).toString());

async function addressOf(text: string, derivation?: Derivation): Promise<string> {
  return createSigner(await keyOfMnemonic(checkMnemonic(mnemonicWords(text), "the file"), derivation)).address;
}

function rejectionOf(text: string): ProviderError {
  try {
    checkMnemonic(mnemonicWords(text), "the file");
  } catch (thrown) {
    assert.ok(ProviderError.is(thrown, "AKP_MNEMONIC_WRONG"));
    return thrown;
  }
  throw new Error("the mnemonic was accepted");
}

test("a mnemonic gives the accounts that the network's own tools derive from it", async () => {
  assert.equal(await addressOf(known.mnemonic), known.address);
  assert.equal(await addressOf(known.mnemonic, { coinType: 118, account: 3, index: 7 }), known.otherAddress);
});

test("any mnemonic and any path give the account that a wallet derives", async () => {
  const step = fc.integer({ min: 0, max: 2 ** 31 - 1 });
  const path = fc.record({ coinType: step, account: step, index: step });
  await fc.assert(
    fc.asyncProperty(anyMnemonic, path, async (mnemonic, derivation) => {
      const { coinType, account, index } = derivation;
      const hdPaths = [stringToPath(`m/44'/${coinType}'/${account}'/0/${index}`)];
      const wallet = await DirectSecp256k1HdWallet.fromMnemonic(mnemonic, { prefix: "akash", hdPaths });
      assert.equal(await addressOf(mnemonic, derivation), (await wallet.getAccounts())[0]?.address);
    }),
    { numRuns: runs(5, 200) },
  );
});

test("case, line breaks and spaces around the words do not matter", async () => {
  assert.equal(await addressOf(`\n ${known.mnemonic.toUpperCase().replaceAll(" ", " \r\n\t")}\n`), known.address);
});

test("a wrong word is named by its place, with the right word that is nearest", () => {
  const slips = { abandn: "abandon", abandoon: "abandon", abnadon: "abandon", abandun: "abandon", abanxyz: "abandon" };
  for (const [typed, right] of Object.entries(slips)) {
    const { message, advice } = rejectionOf(known.mnemonic.replace("abandon", typed));
    assert.equal(message, "the mnemonic in the file is wrong: of its 12 words, no. 1 cannot be in a mnemonic");
    assert.match(advice, new RegExp(`^No\\. 1 may be meant as ${right}\\. `));
    assert.ok(!advice.includes(typed));
  }
});

test("a word that is near to several suggests three of them at most, and one that is near to none suggests none", () => {
  assert.match(rejectionOf(known.mnemonic.replace("about", "cat's")).advice, /^The words are those/);
  assert.match(
    rejectionOf(known.mnemonic.replace("about", "caz")).advice,
    /^No\. 12 may be meant as \w+ or \w+ or \w+\. /,
  );
});

test("several wrong words are all named by their places, and only the first gets a suggestion", () => {
  const { message, advice } = rejectionOf(known.mnemonic.replace("abandon", "abandn").replace("about", "abouz"));
  assert.match(message, /of its 12 words, no\. 1, 12 cannot/);
  assert.match(advice, /No\. 1 may/);
  assert.doesNotMatch(advice, /about/);
});

test("a missing word → found by the count", () => {
  const { message, advice } = rejectionOf(known.mnemonic.replace("abandon ", ""));
  assert.equal(message, "the mnemonic in the file is wrong: it has 11 words");
  assert.match(advice, /12, 15, 18, 21 or 24 words/);
});

test("words in the wrong order → found by the checksum", () => {
  const { message, advice } = rejectionOf(`about ${"abandon ".repeat(11)}`);
  assert.match(message, /checksum does not match/);
  assert.match(advice, /changed places/);
});

test("every single slip in a real mnemonic is found, and no rejection repeats two of its words", () => {
  const change = fc.record({
    at: fc.nat(11),
    char: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz"),
    cut: fc.nat(7),
  });
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), change, (entropy, { at, char, cut }) => {
      const words = Bip39.encode(entropy).toString().split(" ");
      const word = words[at] ?? "";
      const slipped = word.slice(0, cut) + char + word.slice(cut + 1);
      fc.pre(!EnglishMnemonic.wordlist.includes(slipped));
      const { message, advice } = rejectionOf(words.with(at, slipped).join(" "));
      assert.match(message, new RegExp(`no\\. ${at + 1} cannot`));
      for (let place = 1; place < words.length; place += 1) {
        assert.ok(!`${message} ${advice}`.includes(`${words[place - 1]} ${words[place]}`));
      }
    }),
    { numRuns: runs(100, 5000) },
  );
});

test("a step that a path cannot have → rejected", async () => {
  for (const account of [-1, 2 ** 31, 1.5, Number.NaN]) {
    await assert.rejects(addressOf(known.mnemonic, { ...usualDerivation, account }), {
      code: "AKP_VALUE_OUT_OF_RANGE",
    });
  }
});
