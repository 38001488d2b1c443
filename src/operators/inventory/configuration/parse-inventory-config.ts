/** Reads the configuration of the inventory. Everything that is wrong is told at once, each with its line. */
import { z } from "zod";
import { ProviderError } from "../../../runtime/errors.ts";
import { settingsFileFaults } from "../../../runtime/limits.ts";
import { readYaml } from "../../../runtime/yaml-text.ts";
import type { InventoryConfig } from "./inventory-config.ts";
import { compileNodePattern, PatternFault } from "./node-pattern.ts";

/** `source` is how a person calls the text: the path of its file. */
export function parseInventoryConfig(text: string, source = "inline"): InventoryConfig {
  const { value, problems } = readYaml(text, configShape, "for the defaults write `version: v1`");
  if (!problems) return value;
  const told = problems.slice(0, settingsFileFaults).join("; ");
  throw new ProviderError("AKP_INVENTORY_CONFIG_REFUSED", { source, reason: told, problems });
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
