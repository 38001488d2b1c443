/** Reads the configuration of the inventory. Everything that is wrong is told at once, each with its line. */
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { limits } from "../../../runtime/limits.ts";
import type { InventoryConfig } from "./inventory-config.ts";
import { compileNodePattern, PatternFault } from "./node-pattern.ts";

/** `source` is how a person calls the text: the path of its file. */
export function parseInventoryConfig(text: string, source = "inline"): InventoryConfig {
  const refuse = (problems: readonly string[]): never => {
    const told = problems.slice(0, limits.settingsFileFaults).join("; ");
    throw new ProviderError("AKP_INVENTORY_CONFIG_REFUSED", { source, reason: told, problems });
  };
  if (text.length > limits.settingsFileChars) refuse([`it is longer than ${limits.settingsFileChars} characters`]);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, strict: true });
  const at = (offset: number) => `line ${Math.max(1, lines.linePos(offset).line)}`;
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) refuse(faults.map(({ pos, message }) => `${at(pos[0])}: this is not valid YAML: ${message}`));
  const content = plain(document, refuse);
  // A file that is just being written, or a template that came out as nothing, must not offer what was excluded.
  if (content === undefined) refuse(["it is empty; for the defaults write `version: v1`"]);
  const read = configShape.safeParse(content);
  if (read.success) return read.data;
  return refuse(read.error.issues.flatMap((issue) => told(issue, document, at)));
}

/** Aliases that multiply are refused by the library itself. */
function plain(document: Document, refuse: (problems: readonly string[]) => never): unknown {
  try {
    return withoutNothing(document.toJS());
  } catch (thrown) {
    return refuse([reasonOf(thrown)]);
  }
}

/** A key without a value is as good as none: charts write `nodes:` for an empty list. */
function withoutNothing(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNothing);
  if (typeof value !== "object" || value === null) return value ?? undefined;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutNothing(inner)]));
}

const nodePattern = z.string().transform((source, context) => {
  try {
    return compileNodePattern(source);
  } catch (thrown) {
    if (!(thrown instanceof PatternFault)) throw thrown;
    context.addIssue({ code: "custom", message: `"${source}" is no pattern: ${thrown.message}` });
    return z.NEVER;
  }
});

const className = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "a storage class has lower-case letters, digits, dashes and dots");

const configShape = z
  .strictObject({
    // Tolerant as on the network: it is looked at, and says nothing yet.
    version: z.union([z.string().regex(/^v?\d+(\.\d+){0,2}([-+].*)?$/, "a version is like v1 or 1.0.0"), z.number()]),
    cluster_storage: z.array(className).default([]),
    exclude: z
      .strictObject({
        nodes: z.array(nodePattern).default([]),
        node_storage: z
          .array(z.strictObject({ node_filter: nodePattern, classes: z.array(className).default([]) }))
          .default([]),
      })
      .default({ nodes: [], node_storage: [] }),
    gpu_registry: z.string().min(1).optional(),
  })
  .partial({ version: true })
  .transform(({ cluster_storage: sold, exclude, gpu_registry }, context): InventoryConfig => {
    for (const [index, { classes }] of exclude.node_storage.entries()) {
      for (const [place, name] of classes.entries()) {
        if (sold.includes(name)) continue;
        const path = ["exclude", "node_storage", index, "classes", place];
        context.addIssue({ code: "custom", path, message: `${name} is not in cluster_storage` });
      }
    }
    return {
      clusterStorage: [...new Set(sold)].sort(),
      excludedNodes: exclude.nodes,
      excludedStorage: exclude.node_storage.map(({ node_filter, classes }) => ({ nodes: node_filter, classes })),
      ...(gpu_registry === undefined ? {} : { gpuRegistry: gpu_registry }),
    };
  });

type Issue = z.core.$ZodIssue;

function told(issue: Issue, document: Document, at: (offset: number) => string): string[] {
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
