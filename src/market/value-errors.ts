/** Errors of invalid values: the value, what was expected, the reason, and an example. */
import { ProviderError } from "../runtime/errors.ts";
import { shorten } from "./printable.ts";

/** A lease id has about 120 characters; what is longer than this is not a value but a paste or an attack. */
const longestShown = 160;

export function malformed(value: string, expected: string, reason: string, example: string): ProviderError {
  return new ProviderError("AKP_VALUE_MALFORMED", { value: quote(value), expected, reason, example });
}

export function outOfRange(
  value: string | bigint,
  expected: string,
  bounds: { least: string | bigint; most: string | bigint },
): ProviderError {
  const shown = typeof value === "string" ? quote(value) : shorten(String(value), longestShown);
  return new ProviderError("AKP_VALUE_OUT_OF_RANGE", { value: shown, expected, ...bounds });
}

/** Quotes make an empty text and stray spaces visible. */
function quote(text: string): string {
  return JSON.stringify(shorten(text, longestShown));
}
