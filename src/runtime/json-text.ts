/** JSON has no large numbers: amounts and heights travel as texts. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value ?? null, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each));
}

declare global {
  interface JSON {
    /** A value that is written as this text; the compiler's own types do not have it yet. */
    rawJSON(text: string): object;
  }
}

/** As the network's programs write JSON: large numbers in full, for readers that take them. */
export function jsonWithNumbers(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? JSON.rawJSON(`${each}`) : each));
}
