/** JSON as Go writes it: in bytes that are hashed, or compared with what a Go program wrote. */

/** Go escapes these so that a text may stand in HTML and in a script; JavaScript does not. */
const escapedByGo = /[<>&\u2028\u2029]/g;

/** With the keys in their own order. */
export function goJson(value: unknown): string {
  return escaped(JSON.stringify(value));
}

export function sortedJson(value: unknown): string {
  if (typeof value === "string") return writeText(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.sort(byBytes).map(([name, field]) => `${writeText(name)}:${sortedJson(field)}`)}}`;
}

function writeText(text: string): string {
  return escaped(JSON.stringify(text.toWellFormed()));
}

function escaped(json: string): string {
  return json.replace(escapedByGo, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function byBytes([left]: [string, unknown], [right]: [string, unknown]): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
