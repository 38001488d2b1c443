/** A text of YAML read by a schema. Everything that is wrong with it is told at once, each with its line. */
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import { reasonOf } from "./errors.ts";
import { settingsFileChars } from "./limits.ts";

type YamlReading<T> =
  | { readonly value: T; readonly problems: undefined }
  | { readonly value: undefined; readonly problems: readonly string[] };

/** An empty text is rejected: a file being written, or an empty template, must not undo a configuration. */
export function readYamlText<T>(text: string, schema: z.ZodType<T>, insteadOfNothing: string): YamlReading<T> {
  const refuse = (problems: readonly string[]) => ({ value: undefined, problems });
  if (text.length > settingsFileChars) return refuse([`it is longer than ${settingsFileChars} characters`]);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, strict: true });
  const at = (offset: number) => `line ${Math.max(1, lines.linePos(offset).line)}`;
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0)
    return refuse(faults.map(({ pos, message }) => `${at(pos[0])}: this is not valid YAML: ${message}`));
  let content: unknown;
  try {
    // Aliases that multiply are rejected by the library itself.
    content = withoutNothing(document.toJS());
  } catch (thrown) {
    return refuse([reasonOf(thrown)]);
  }
  if (content === undefined) return refuse([`it is empty; ${insteadOfNothing}`]);
  const read = schema.safeParse(content);
  if (read.success) return { value: read.data, problems: undefined };
  return refuse(read.error.issues.flatMap((issue) => told(issue, document, at)));
}

/** A key without a value is as good as none: charts write `nodes:` for an empty list. */
function withoutNothing(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNothing);
  if (typeof value !== "object" || value === null) return value ?? undefined;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutNothing(inner)]));
}

function told(issue: z.core.$ZodIssue, document: Document, at: (offset: number) => string): string[] {
  const place = (offset: number | undefined) => (offset === undefined ? "" : `${at(offset)}: `);
  const names = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map(
      (key) => `${place(offsetOf(document, issue.path, key))}there is no ${[...names, key].join(".")}`,
    );
  }
  const where = names.length === 0 ? "" : `${names.join(".")}: `;
  return [`${place(offsetOf(document, issue.path))}${where}${issue.message}`];
}

/** Where the part at this path stands, or the nearest part around it that is there; with a key, the key itself. */
function offsetOf(document: Document, path: readonly PropertyKey[], key?: string): number | undefined {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (!isNode(node)) continue;
    const pair = isMap(node) ? node.items.find((item) => isScalar(item.key) && item.key.value === key) : undefined;
    return (isNode(pair?.key) ? pair.key : node).range?.[0];
  }
  return undefined;
}
