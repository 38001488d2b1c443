/** Amounts as an SDL writes them. The network's tools reckon in floats and cut off what is left; so do we, to the unit. */

const bytesOf: Readonly<Record<string, number>> = {
  "": 1,
  ...Object.fromEntries(["k", "M", "G", "T", "P", "E"].map((suffix, index) => [suffix, 1_000 ** (index + 1)])),
  ...Object.fromEntries(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, index) => [suffix, 1_024 ** (index + 1)])),
};
const gibi = 2n ** 30n;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** "0.5" or "500m" as 500n. */
export function parseCpu(text: string): bigint {
  const milli = /^(\d{1,10})m$/.exec(text)?.[1];
  const value = milli === undefined ? scaled(text, 1_000, "0.5 or 500m") : BigInt(milli);
  if (value >= 2n ** 32n) throw new Error(`${quoted(text)} is more than any machine has`);
  return value;
}

/** "512Mi", "0.5G" or "1048576". */
export function parseSize(text: string): bigint {
  const [, digits = "", suffix = ""] = /^(.*?)(k|[MGTPE]|[KMGTPE]i)?$/s.exec(text) ?? [];
  const value = scaled(digits, bytesOf[suffix] ?? 1, "512Mi");
  if (value >= 2n ** 64n) throw new Error(`${quoted(text)} is more than any machine has`);
  return value;
}

/** Of a card, for an attribute's name: whole Gi. */
export function parseCardMemory(text: string): string {
  if (/[kMGTPE]$/.test(text)) throw new Error(`${quoted(text)} must be in Ki, Mi, Gi or Ti`);
  return `${parseSize(text) / gibi}Gi`;
}

export function parseCards(text: string): bigint {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`${quoted(text)} is not a whole number of cards`);
  return BigInt(text);
}

function scaled(text: string, factor: number, example: string): bigint {
  const value = number.test(text) ? Number(text) * factor : Number.NaN;
  if (!Number.isFinite(value)) throw new Error(`${quoted(text)} is not an amount, such as ${example}`);
  if (value < 0) throw new Error(`${quoted(text)} is negative`);
  return BigInt(Math.trunc(value));
}

/** Long ones are pastes or attacks. */
function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}
