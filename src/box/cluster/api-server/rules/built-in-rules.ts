/** Everything that is wrong with an object of a built-in kind: what its schema says, and what only the server knows. */
import { isRecord } from "../../../../runtime/is-record.ts";
import type { Plain, Shape, StructShape } from "../schema/shape.ts";
import { containerRules } from "./container-rules.ts";
import type { Found, Rule } from "./found.ts";
import { networkRules } from "./network-rules.ts";
import { objectRules } from "./object-rules.ts";
import { podRules } from "./pod-rules.ts";
import { workloadRules } from "./workload-rules.ts";

/** By type: they hold wherever one is. */
const rules = new Map(
  Object.entries<Rule>({
    ...containerRules,
    ...podRules,
    ...workloadRules,
    ...networkRules,
    ...objectRules,
  }),
);

/** Fields of which the schema says the same as a rule, in words that the server does not use. */
const saidByRule = new Map([
  ["core.v1.NodeSelectorRequirement", ["operator"]],
  ["meta.v1.LabelSelectorRequirement", ["operator"]],
  ["core.v1.PersistentVolumeClaimSpec", ["accessModes"]],
  ["apps.v1.DeploymentStrategy", ["type"]],
  ["apps.v1.StatefulSetUpdateStrategy", ["type"]],
  ["apps.v1.StatefulSetSpec", ["podManagementPolicy"]],
  ["rbac.v1.RoleRef", ["kind", "apiGroup"]],
  ["rbac.v1.Subject", ["kind"]],
]);

export function checkBuiltIn({ metadata: _, status: __, ...content }: Plain, shape: StructShape, found: Found): void {
  checkStruct(content, shape, "", found);
}

function check(value: unknown, shape: Shape, at: string, found: Found): void {
  if (shape.is === "scalar") {
    if (shape.enum && !shape.enum.includes(value)) found.say("NotSupported", at, value);
  } else if (shape.is === "list" && Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) check(value[index], shape.of, `${at}[${index}]`, found);
  } else if (shape.is === "struct" && isRecord(value)) checkStruct(value, shape, at, found);
}

function checkStruct(value: Plain, { type = "", fields, required }: StructShape, at: string, found: Found): void {
  rules.get(type)?.(value, at, found);
  const said = saidByRule.get(type);
  const before = at === "" ? "" : `${at}.`;
  for (const name of required) {
    if (!said?.includes(name) && isMissing(value[name], fields.get(name)?.shape))
      found.say("Required", `${before}${name}`);
  }
  for (const name in value) {
    const shape = fields.get(name)?.shape;
    const inner = value[name];
    if (!shape || !isChecked(shape) || inner === undefined || inner === null || said?.includes(name)) continue;
    // An empty text that is required was named already.
    if (inner !== "" || !required.includes(name)) check(inner, shape, `${before}${name}`, found);
  }
}

function isChecked(shape: Shape): boolean {
  if (shape.is === "list") return isChecked(shape.of);
  return shape.is === "struct" || (shape.is === "scalar" && shape.enum !== undefined);
}

/** Lists may be empty and numbers 0; where they may not, a rule says so. */
function isMissing(value: unknown, shape: Shape | undefined): boolean {
  if (shape?.is === "scalar") return shape.of === "string" && (value === undefined || value === "");
  return shape?.is === "struct" && (value === undefined || value === null);
}
