/** What a provider says in JSON, for people: in lines, and harmless to a terminal, whoever the provider is. */
import { Document, type Scalar, visit } from "yaml";
import { printable, printableJson } from "../market/printable.ts";
import { ProviderError, reasonOf } from "../runtime/errors.ts";

export function indentedJson(answer: string): string {
  return harmless(JSON.stringify(read(answer), null, 2));
}

export function yamlOf(answer: string): string {
  const document = new Document(read(answer));
  // In quotes any sign can be written by its number.
  visit(document, {
    Scalar(_, scalar) {
      if (!isHarmless(scalar)) scalar.type = "QUOTE_DOUBLE";
    },
  });
  return harmless(document.toString().trimEnd());
}

function isHarmless({ value }: Scalar): boolean {
  return typeof value !== "string" || value.split("\n").every((line) => printable(line) === line);
}

function harmless(text: string): string {
  return `${text.split("\n").map(printableJson).join("\n")}\n`;
}

function read(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch (thrown) {
    throw new ProviderError("AKP_PROVIDER_ANSWER_UNREADABLE", { reason: reasonOf(thrown) }, { cause: thrown });
  }
}

/** The first columns are words and stand to the left, the others are numbers and stand to the right. */
export function aligned(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  words = heading.length,
): string[] {
  const lines = [heading, ...rows];
  // There may be more rows than a function takes arguments.
  const widths = heading.map((_, at) => lines.reduce((most, line) => Math.max(most, line[at]?.length ?? 0), 0));
  const pad = (cell: string, at: number) =>
    at < words ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0);
  return lines.map((line) => line.map(pad).join("  ").trimEnd());
}
