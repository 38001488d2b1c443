/** Kubernetes quantities ("500m", "1.5Gi") as exact values. The suffix family is kept, as Kubernetes writes it back. */
import { malformed, outOfRange } from "./value-errors.ts";

export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";

export interface Quantity {
  /** Kubernetes keeps nine digits after the point, so every quantity is a whole number of 10⁻⁹ths. */
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

const nanoPerMilli = 10n ** 6n;
const nanoPerOne = 10n ** 9n;
/** Kubernetes counts in 64 bits. It caps some larger values and lets others overflow; both are wrong, so they are rejected. */
const most = 2n ** 63n - 1n;
const mostNano = most * nanoPerOne;
/** The largest value has 19 digits, the smallest 9 after the point; the rest is room for zeros on both sides. */
const longestText = 128;

/** Powers of ten, in the order in which Kubernetes names them: three apart, from 10⁻⁹ to 10¹⁸. */
const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const smallestDecimalPower = -9;
/** Powers of 1024, from 1024¹ to 1024⁶. */
const binarySuffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const suffixList = [...decimalSuffixes, ...binarySuffixes].filter(Boolean).join(", ");

export function parseQuantity(text: string): Quantity {
  const invalid = (reason: string) => malformed(text, "a Kubernetes quantity", reason, "500m, 0.5, 512Mi or 10G");
  if (text.length > longestText) throw invalid(`it is longer than ${longestText} characters`);
  const parts = /^([+-]?)(\d*)(?:\.(\d*))?([a-zA-Z]*|[eE][+-]?\d+)$/.exec(text);
  const [, sign = "", whole = "", fraction = "", suffix = ""] = parts ?? [];
  if (!parts || whole + fraction === "") throw invalid("it must be a number, and perhaps a suffix right after it");
  const meaning = readSuffix(suffix);
  if (!meaning) throw invalid(`"${suffix}" is none of the suffixes ${suffixList}`);
  const digits = BigInt(whole + fraction) * meaning.factor;
  const nano = scaleToNano(digits, meaning.power - fraction.length);
  if (nano > mostNano) throw outOfRange(text, "a Kubernetes quantity", { least: -most, most });
  return { nano: sign === "-" ? -nano : nano, format: meaning.format };
}

/** The canonical text: no fraction, no precision lost, the largest suffix of the family that allows both. */
export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return "0";
  return (format === "BinarySI" && formatBinary(nano)) || formatDecimalPower(nano, format);
}

/** "500m" or "0.5" as 500n; a part of a thousandth counts as a whole one, as in Kubernetes. */
export function parseCpuMilli(text: string): bigint {
  return parseAmount(text, "an amount of cpu", nanoPerMilli);
}

/** "512Mi" or "536870912" as 536870912n; a part of a byte counts as a whole one. */
export function parseBytes(text: string): bigint {
  return parseAmount(text, "a number of bytes", nanoPerOne);
}

/** For gpus and all else that is counted. */
export function parseCount(text: string): bigint {
  return parseAmount(text, "a count", nanoPerOne);
}

export function formatCpuMilli(cpuMilli: bigint): string {
  return formatQuantity({ nano: cpuMilli * nanoPerMilli, format: "DecimalSI" });
}

export function formatBytes(bytes: bigint, format: QuantityFormat = "BinarySI"): string {
  return formatQuantity({ nano: bytes * nanoPerOne, format });
}

export function formatCount(count: bigint): string {
  return formatQuantity({ nano: count * nanoPerOne, format: "DecimalSI" });
}

function parseAmount(text: string, expected: string, nanoPerUnit: bigint): bigint {
  const { nano } = parseQuantity(text);
  if (nano < 0n) throw outOfRange(text, expected, { least: 0n, most });
  return ceilDivide(nano, nanoPerUnit);
}

function readSuffix(
  suffix: string,
): { readonly format: QuantityFormat; readonly factor: bigint; readonly power: number } | undefined {
  const decimal = decimalSuffixes.indexOf(suffix);
  if (decimal >= 0) return { format: "DecimalSI", factor: 1n, power: smallestDecimalPower + 3 * decimal };
  const binary = binarySuffixes.indexOf(suffix);
  if (binary >= 0) return { format: "BinarySI", factor: 1024n ** BigInt(binary + 1), power: 0 };
  if (/^[eE][+-]?\d+$/.test(suffix)) return { format: "DecimalExponent", factor: 1n, power: Number(suffix.slice(1)) };
  return undefined;
}

/** Digits × 10^power in 10⁻⁹ths. Smaller values are rounded up. */
function scaleToNano(digits: bigint, power: number): bigint {
  const shift = power - smallestDecimalPower;
  // No text has more digits than this, so a larger shift changes nothing but the memory it takes.
  const bounded = Math.max(-2 * longestText, Math.min(shift, 2 * longestText));
  return bounded >= 0 ? digits * 10n ** BigInt(bounded) : ceilDivide(digits, 10n ** BigInt(-bounded));
}

/** Undefined where Kubernetes falls back to powers of ten: below 1024 and for fractions. */
function formatBinary(nano: bigint): string | undefined {
  if (nano % nanoPerOne !== 0n) return undefined;
  let mantissa = nano / nanoPerOne;
  if (mantissa > -1024n && mantissa < 1024n) return undefined;
  let steps = 0;
  for (; mantissa % 1024n === 0n && steps < binarySuffixes.length; steps += 1) mantissa /= 1024n;
  return `${mantissa}${steps === 0 ? "" : binarySuffixes[steps - 1]}`;
}

function formatDecimalPower(nano: bigint, format: QuantityFormat): string {
  let mantissa = nano;
  let steps = 0;
  for (; mantissa % 1000n === 0n && steps < decimalSuffixes.length - 1; steps += 1) mantissa /= 1000n;
  const power = smallestDecimalPower + 3 * steps;
  if (format === "DecimalExponent") return `${mantissa}${power === 0 ? "" : `e${power}`}`;
  return `${mantissa}${decimalSuffixes[steps]}`;
}

function ceilDivide(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/** Of a resource by its name: "cpu" in thousandths, "memory" and "storage-…" in bytes, all else in pieces. */
export function showResource(resource: string, amount: bigint): string {
  if (resource === "cpu") return formatCpuMilli(amount);
  return resource === "memory" || resource.startsWith("storage-") ? formatBytes(amount) : String(amount);
}
