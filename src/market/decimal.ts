/** Exact decimals with 18 digits after the point, rounded as the chain rounds its LegacyDec. No float goes in or out. */
import { malformed, outOfRange } from "./value-errors.ts";

/** An object rather than a bare bigint, so that a whole number can never pass for a number of 10⁻¹⁸ths. */
export interface Decimal {
  readonly atto: bigint;
}

/** "nearest" is half-even (the chain's Mul, Quo), "truncate" towards zero (MulTruncate, QuoTruncate), "up" towards infinity (Ceil). */
export type Rounding = "nearest" | "truncate" | "up";

const fractionDigits = 18;
const one = 10n ** BigInt(fractionDigits);
/** The chain's limit: the whole part fits into 256 bits. */
const mostAtto = 2n ** 256n * one - 1n;
/** Sign, the 78 digits of 2²⁵⁶, point and fraction make 98; the rest is room for leading zeros. */
const longestText = 128;

export const zero: Decimal = { atto: 0n };

export function parseDecimal(text: string): Decimal {
  const invalid = (reason: string) => malformed(text, "a decimal number", reason, "0.025");
  if (text.length > longestText) throw invalid(`it is longer than ${longestText} characters`);
  const parts = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (!parts) throw invalid("it must be digits, at most one point between them, and perhaps a minus sign in front");
  const [, sign = "", whole = "", fraction = ""] = parts;
  if (fraction.length > fractionDigits) {
    throw invalid(`it has ${fraction.length} digits after the point, and the chain keeps ${fractionDigits}`);
  }
  const magnitude = BigInt(whole + fraction.padEnd(fractionDigits, "0"));
  return decimalFromAtto(sign ? -magnitude : magnitude);
}

/** From the chain's wire form: a whole number of 10⁻¹⁸ths. */
export function decimalFromAtto(atto: bigint): Decimal {
  if (atto <= mostAtto && atto >= -mostAtto) return { atto };
  throw outOfRange(writeAtto(atto), "a decimal number of the chain", { least: "-2^256", most: "2^256" });
}

export function decimalOf(whole: bigint): Decimal {
  return decimalFromAtto(whole * one);
}

/** With all 18 digits, as the chain writes it: "0.025000000000000000". */
export function formatDecimal(value: Decimal): string {
  return writeAtto(value.atto);
}

/** Without trailing zeros: "0.025". */
export function showDecimal(value: Decimal): string {
  return formatDecimal(value).replace(/\.?0+$/, "");
}

export function addDecimals(left: Decimal, right: Decimal): Decimal {
  return decimalFromAtto(left.atto + right.atto);
}

export function subDecimals(left: Decimal, right: Decimal): Decimal {
  return decimalFromAtto(left.atto - right.atto);
}

export function mulDecimals(left: Decimal, right: Decimal, rounding: Rounding = "nearest"): Decimal {
  return decimalFromAtto(divide(left.atto * right.atto, one, rounding));
}

/** A zero divisor throws bigint's RangeError. The chain's QuoRoundUp is off by 10⁻¹⁸ for negative quotients; no price has one. */
export function quoDecimals(left: Decimal, right: Decimal, rounding: Rounding = "nearest"): Decimal {
  if (rounding !== "nearest") return decimalFromAtto(divide(left.atto * one, right.atto, rounding));
  // The chain cuts the quotient to 36 digits before it rounds to 18; rounding once would differ by an atto at times.
  const cut = divide(left.atto * one * one, right.atto, "truncate");
  return decimalFromAtto(divide(cut, one, rounding));
}

/** Below, equal or above zero, as sort() wants it. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  if (left.atto === right.atto) return 0;
  return left.atto < right.atto ? -1 : 1;
}

export function toInteger(value: Decimal, rounding: Rounding): bigint {
  const whole = divide(value.atto, one, rounding);
  // Rounding can step out of the chain's range; then it is rejected, as on the chain.
  decimalOf(whole);
  return whole;
}

/** For fractions that are no decimals, such as a share of 2³⁰. */
export function divide(numerator: bigint, denominator: bigint, rounding: Rounding): bigint {
  const quotient = numerator / denominator;
  const remainder = numerator % denominator;
  if (remainder === 0n || rounding === "truncate") return quotient;
  const positive = remainder > 0n === denominator > 0n;
  if (rounding === "up") return positive ? quotient + 1n : quotient;
  const toHalf = 2n * magnitudeOf(remainder) - magnitudeOf(denominator);
  if (toHalf < 0n || (toHalf === 0n && quotient % 2n === 0n)) return quotient;
  return positive ? quotient + 1n : quotient - 1n;
}

function writeAtto(atto: bigint): string {
  const digits = magnitudeOf(atto)
    .toString()
    .padStart(fractionDigits + 1, "0");
  return `${atto < 0n ? "-" : ""}${digits.slice(0, -fractionDigits)}.${digits.slice(-fractionDigits)}`;
}

function magnitudeOf(value: bigint): bigint {
  return value < 0n ? -value : value;
}
