/**
 * A running workload keeps its pod template until its tenant changes the service: another template restarts its pods. Two
 * labels on it say of which service it was made, and which template of ours it has; one without the second has another
 * provider's. Labels, since a change of its annotations is a new generation of a Deployment. Their prefix is not the
 * network's: its provider drops every label that starts with `akash.network` and that it does not set itself.
 */
import { createHash } from "node:crypto";
import type { ManifestService } from "../../market/manifest.ts";
import { sortedJson } from "../../market/sorted-json.ts";
import { fieldsOf, listOf, recordsOf } from "../json-fields.ts";
import type { KubeObject } from "../kube.ts";
import { writeService } from "./manifest-resource.ts";

export const madeForLabel = "provider.akash.network/made-for";
export const templateLabel = "provider.akash.network/template";
/** What versions before these labels wrote in place of the first, on workloads that they took over. */
export const keptForLabel = "akash.network/kept-for";

/** No label has room for all of a hash. */
const digestDigits = 40;

/**
 * A service as the network's Manifest resource tells it, without how many there are of it: that can be changed in place. What
 * that resource does not hold cannot have gone into the workload, and a manifest sent again has it.
 */
export function serviceDigest(service: ManifestService): string {
  const { params, expose } = service;
  const { tee: _, ...known } = params ?? { storage: null };
  const told = writeService(
    {
      ...service,
      count: 0,
      ...(params && { params: known }),
      expose: expose.map((each) => {
        const { proxyBufferSize: _, ...httpOptions } = each.httpOptions;
        return { ...each, httpOptions };
      }),
    },
    [],
  );
  return digestOf(told);
}

export function templateDigest(template: object): string {
  return digestOf(template);
}

function digestOf(value: object): string {
  return createHash("sha256").update(sortedJson(value)).digest("hex").slice(0, digestDigits);
}

/**
 * Whether a workload runs what a service says, by all that its tenant changes most: image, command, arguments, variables.
 * Of a variable that is given twice the network's provider writes both, and we write the last one.
 */
export function runsService(workload: KubeObject, { image, command, args, env }: ManifestService): boolean {
  const { spec } = fieldsOf(fieldsOf(workload["spec"])["template"]);
  const [container = {}] = recordsOf(fieldsOf(spec)["containers"]);
  const variables = new Set(recordsOf(container["env"]).map(({ name, value = "" }) => `${name}=${value}`));
  const isSame = (told: unknown, wanted: readonly string[] | null) =>
    JSON.stringify(listOf(told)) === JSON.stringify(wanted ?? []);
  return (
    container["image"] === image &&
    isSame(container["command"], command) &&
    isSame(container["args"], args) &&
    [...Map.groupBy(env ?? [], (text) => text.split("=", 1)[0]).values()].every(
      ([text = "", ...more]) => more.length > 0 || variables.has(text.includes("=") ? text : `${text}=`),
    )
  );
}
