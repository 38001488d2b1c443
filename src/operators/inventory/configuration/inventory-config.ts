/** The inventory's configuration in the network's format: storage classes sold, nodes and classes excluded. */
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { z } from "zod";
import { ProviderError } from "../../../runtime/errors.ts";
import { settingsFileFaults } from "../../../runtime/limits.ts";
import { readYamlText } from "../../../runtime/yaml-text.ts";

export interface InventoryConfig {
  readonly clusterStorage: readonly string[];
  readonly excludedNodes: readonly NodePattern[];
  readonly excludedStorage: readonly { readonly nodes: NodePattern; readonly classes: readonly string[] }[];
  /** URL or file of a GPU registry. Not in the network's format. */
  readonly gpuRegistry?: string;
}

export const defaultInventoryConfig: InventoryConfig = { clusterStorage: [], excludedNodes: [], excludedStorage: [] };

export function excludedBy(config: InventoryConfig, node: string): string | undefined {
  return config.excludedNodes.find((pattern) => pattern.matches(node))?.source;
}

/** Nodes without a disk keep them: Ceph and Longhorn are network storage. */
export function classesOnNode(config: InventoryConfig, present: ReadonlySet<string>, node: string): string[] {
  const excluded = config.excludedStorage.filter(({ nodes }) => nodes.matches(node)).flatMap(({ classes }) => classes);
  return config.clusterStorage.filter((name) => present.has(name) && !excluded.includes(name));
}

const inventoryPatternChars = 256;

interface NodePattern {
  readonly source: string;
  /** Anywhere in the name, unless anchored. */
  matches(name: string): boolean;
}

export class PatternFault extends Error {
  override readonly name = "PatternFault";
}

export function compileNodePattern(source: string): NodePattern {
  if (source === "") throw new PatternFault("it is empty, and would match every node");
  if (source.length > inventoryPatternChars)
    throw new PatternFault(`it is longer than ${inventoryPatternChars} characters`);
  try {
    // RE2 as on the network: linear time.
    const pattern = RE2JS.compile(source);
    return { source, matches: (name) => pattern.matcher(name).find() };
  } catch (thrown) {
    if (!(thrown instanceof RE2JSSyntaxException)) throw thrown;
    throw new PatternFault(thrown.message.replace("error parsing regexp: ", ""));
  }
}

export function parseInventoryConfig(text: string, source = "inline"): InventoryConfig {
  const { value, problems } = readYamlText(text, configShape, "for the defaults write `version: v1`");
  if (!problems) return value;
  const reason = problems.slice(0, settingsFileFaults).join("; ");
  throw new ProviderError("AKP_INVENTORY_CONFIG_REFUSED", { source, reason, problems });
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
    // Checked as on the network, and not used.
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
      ...(gpu_registry !== undefined && { gpuRegistry: gpu_registry }),
    };
  });
