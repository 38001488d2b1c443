/**
 * A workload that another provider made is kept as it lives for as long as its tenant wants the same service: ours in its
 * place would restart its pods. A label on it says which service it was made for. A label, since the server counts a
 * change of a Deployment's annotations as a new generation of it.
 */
import { createHash } from "node:crypto";
import type { ManifestService } from "../../market/manifest.ts";
import { sortedJson } from "../../market/sorted-json.ts";
import { fieldsOf, listOf, recordsOf } from "../json-fields.ts";
import type { KubeObject } from "../kube.ts";
import { writeService } from "./manifest-resource.ts";

export const keptLabel = "akash.network/kept-for";

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
  return createHash("sha256").update(sortedJson(told)).digest("hex").slice(0, digestDigits);
}

/** Whether a workload runs what a service says, by all that its tenant changes most: image, command, arguments, variables. */
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
    (env ?? []).every((text) => variables.has(text.includes("=") ? text : `${text}=`))
  );
}
