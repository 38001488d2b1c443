/** Whoever chooses a name must not be able to steer a terminal, to forge a line, or to turn one around. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

export function printable(text: string): string {
  return text.replace(unprintable, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}

/** JSON on one line that is the same when it is read, and harmless when it is shown. */
export function printableJson(value: unknown): string {
  // Outside of texts JSON has none of these; within, any sign may be written by its number.
  return jsonText(value).replace(unprintable, (sign) =>
    Array.from(sign.split(""), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  );
}

/** JSON has no large numbers: amounts and heights travel as texts. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value ?? null, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each));
}
