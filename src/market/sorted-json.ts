/** JSON as Go writes it with sorted keys: the bytes that are hashed. */

/** Go escapes these so that a text may stand in HTML and in a script; JavaScript does not. */
const escapedByGo = /[<>&\u2028\u2029]/g;

export function sortedJson(value: unknown): string {
  if (typeof value === "string") return writeText(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.sort(byBytes).map(([name, field]) => `${writeText(name)}:${sortedJson(field)}`)}}`;
}

function writeText(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    escapedByGo,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function byBytes([left]: [string, unknown], [right]: [string, unknown]): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
