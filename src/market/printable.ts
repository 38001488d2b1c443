/** What strangers write, made fit for a line on a terminal: a sign that would move the cursor or turn the text around is named instead. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

export function printable(text: string): string {
  return text.replace(unprintable, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}

/** JSON that is the same when it is read, and harmless when it is shown. */
export function printableJson(json: string): string {
  const byNumber = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // Outside of texts JSON on one line has none of these; within, any sign may be written by its number.
  return json.replace(unprintable, (sign) => sign.split("").map(byNumber).join(""));
}

/** What somebody else wrote, cut to what a sentence can bear. */
export function shorten(text: string, mostChars: number): string {
  return text.length > mostChars ? `${text.slice(0, mostChars)}…` : text;
}
