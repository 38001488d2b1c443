/**
 * Storage class labels have one key and two readings: the seeds' selectors want "true", the network's own provider asks
 * for a number greater than zero (`Gt`), for which "true" is none. So the labels say "1" while any workload asks so.
 *
 * Pods tell it all, pending ones first of all; the templates they come from need not be watched. A pod that finds no
 * node because the label still says "true" is itself the sign, and the scheduler tries again when the label changes.
 */
import { fieldsOf, listOf, recordsOf, textOf } from "../../../kube/json-fields.ts";
import { storageClassPrefix } from "./label-keys.ts";

const none: readonly string[] = [];

export function gtSelectedKeys(podSpecs: readonly unknown[]): readonly string[] {
  const keys = podSpecs.flatMap(selectedBy);
  return keys.length === 0 ? none : [...new Set(keys)];
}

function selectedBy(podSpec: unknown): string[] {
  const affinity = fieldsOf(fieldsOf(podSpec)["affinity"]);
  const required = fieldsOf(affinity["nodeAffinity"])["requiredDuringSchedulingIgnoredDuringExecution"];
  const terms = listOf(fieldsOf(required)["nodeSelectorTerms"]);
  return terms
    .flatMap((term) => recordsOf(fieldsOf(term)["matchExpressions"]))
    .filter(({ operator }) => operator === "Gt")
    .map(({ key }) => textOf(key) ?? "")
    .filter((key) => key.startsWith(storageClassPrefix));
}
