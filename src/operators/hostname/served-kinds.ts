/**
 * Which kinds of ingress controllers the cluster knows, by its definitions. Watching those costs no request while nothing
 * changes, and a controller that is installed later is noticed at once.
 */
import { conditionHolds, fieldsOf, recordsOf } from "../../kube/json-fields.ts";
import { type Kind, kinds, resourceOf } from "../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../kube/kube.ts";

export function watchServedKinds(kube: Pick<Kube, "watch">, onChange: () => void) {
  const definitions = kube.watch({ kind: kinds.customResourceDefinition, project: servedVersions, handle: onChange });
  return {
    cache: definitions,
    has: (kind: Kind): boolean => definitions.get({ name: resourceOf(kind) })?.includes(kind.version) ?? false,
  };
}

function servedVersions(definition: KubeObject): readonly string[] {
  if (!conditionHolds(fieldsOf(definition["status"])["conditions"], "Established")) return [];
  return recordsOf(fieldsOf(definition["spec"])["versions"])
    .filter(({ served }) => served === true)
    .map(({ name }) => String(name));
}
