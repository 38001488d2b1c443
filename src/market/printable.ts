/** Untrusted text for a terminal: control and bidirectional characters are escaped. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

export function printable(text: string): string {
  return text.replace(unprintable, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** JSON that is the same when it is read, and harmless when it is shown. */
export function printableJson(json: string): string {
  const byNumber = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // JSON on one line has such characters only within strings, where any may be escaped.
  return json.replace(unprintable, (char) => char.split("").map(byNumber).join(""));
}

/** Untrusted text, shortened for an error. */
export function shorten(text: string, mostChars: number): string {
  return text.length > mostChars ? `${text.slice(0, mostChars)}…` : text;
}
