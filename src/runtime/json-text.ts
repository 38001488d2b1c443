/** JSON has no large numbers: amounts and heights travel as texts. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value ?? null, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each));
}
