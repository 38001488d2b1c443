/** From a mnemonic (BIP-39) to the private key of one account (BIP-32, BIP-44), or a word on where it is wrong. */
import { Bip39, EnglishMnemonic, Slip10, Slip10Curve, Slip10RawIndex } from "@cosmjs/crypto";
import { outOfRange } from "../../market/value-errors.ts";
import { ProviderError } from "../../runtime/errors.ts";

/** Which of the accounts of a mnemonic: m / 44' / coinType' / account' / 0 / index. */
export interface Derivation {
  readonly coinType: number;
  readonly account: number;
  readonly index: number;
}

/** Default path of the network's wallets: 118 is the coin type of Cosmos. */
export const usualDerivation: Derivation = { coinType: 118, account: 0, index: 0 };

const bip44Purpose = 44;
/** A path has 31 bits per step; the last one marks it as hardened. */
const mostInPath = 2 ** 31 - 1;

const wordCounts = [12, 15, 18, 21, 24];
const wordList = new Set(EnglishMnemonic.wordlist);

/** Case, line breaks and spaces do not matter to a person who writes the words down. */
export function mnemonicWords(text: string): string[] {
  return text.normalize("NFKD").trim().toLowerCase().split(/\s+/);
}

/** Mostly words of the list: meant as a mnemonic, even if a few of them are wrong. */
export function looksLikeMnemonic(words: readonly string[]): boolean {
  return words.length > 1 && words.filter((word) => wordList.has(word)).length * 2 > words.length;
}

export async function keyOfMnemonic(
  mnemonic: EnglishMnemonic,
  derivation: Derivation = usualDerivation,
): Promise<Uint8Array> {
  const hardened = [bip44Purpose, checkedStep(derivation.coinType), checkedStep(derivation.account)];
  const plain = [0, checkedStep(derivation.index)];
  const path = [...hardened.map(Slip10RawIndex.hardened), ...plain.map(Slip10RawIndex.normal)];
  const seed = await Bip39.mnemonicToSeed(mnemonic);
  return Slip10.derivePath(Slip10Curve.Secp256k1, seed, path).privkey;
}

/** Messages never repeat the file. At most one word is suggested, and none for text that may be another secret. */
export function checkMnemonic(words: readonly string[], where: string): EnglishMnemonic {
  const rejection = (reason: string, hint: string) => new ProviderError("AKP_MNEMONIC_WRONG", { where, reason, hint });

  if (!wordCounts.includes(words.length)) {
    const counts = `${wordCounts.slice(0, -1).join(", ")} or ${wordCounts.at(-1)}`;
    throw rejection(`it has ${words.length} words`, `A mnemonic has ${counts} words. Copy it again, and nothing else.`);
  }
  const wrong = words.flatMap((word, at) => (wordList.has(word) ? [] : [{ word, place: at + 1 }]));
  const [first] = wrong;
  if (first) {
    const places = wrong.map(({ place }) => place).join(", ");
    const reason = `of its ${words.length} words, no. ${places} cannot be in a mnemonic`;
    throw rejection(reason, `${suggestion(first.word, first.place)}The words are those of the English list of BIP-39.`);
  }
  try {
    return new EnglishMnemonic(words.join(" "));
  } catch {
    // Count and words are right, so it can only be the checksum; the thrown text is not ours to repeat.
    throw rejection(
      "all its words exist, but their checksum does not match",
      "Some word is not the right one, or two have changed places. Compare it with the original.",
    );
  }
}

function suggestion(word: string, place: number): string {
  const near = EnglishMnemonic.wordlist.filter(
    (candidate) => startsAlike(word, candidate) || isOneSlip(word, candidate),
  );
  return near.length === 0 ? "" : `No. ${place} may be meant as ${near.slice(0, 3).join(" or ")}. `;
}

/** No two words of the list share their first four letters. */
function startsAlike(word: string, candidate: string): boolean {
  return word.length >= 4 && word.slice(0, 4) === candidate.slice(0, 4);
}

/** One character too many, too few or wrong, or two neighbours swapped. */
function isOneSlip(word: string, candidate: string): boolean {
  const shorter = Math.min(word.length, candidate.length);
  let start = 0;
  while (start < shorter && word[start] === candidate[start]) start += 1;
  let end = 0;
  while (end < shorter - start && word.at(-1 - end) === candidate.at(-1 - end)) end += 1;
  const left = word.slice(start, word.length - end);
  const right = candidate.slice(start, candidate.length - end);
  if (left.length <= 1 && right.length <= 1) return true;
  return left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0];
}

function checkedStep(step: number): number {
  if (Number.isInteger(step) && step >= 0 && step <= mostInPath) return step;
  throw outOfRange(String(step), "a step of a key's path", { least: 0n, most: BigInt(mostInPath) });
}
