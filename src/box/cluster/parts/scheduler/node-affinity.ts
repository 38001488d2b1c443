/** Which nodes a pod wants by their labels. */
import type { Node } from "../shapes/node.ts";
import type { NodeSelectorTerm, Pod } from "../shapes/pod.ts";
import { meets } from "../shapes/selector.ts";

export function isWanted(node: Node, { spec }: Pick<Pod, "spec">): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) if (labels[key] !== value) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || matchesAny(node, required.nodeSelectorTerms);
}

/** One term is enough; without any, nothing matches. */
export function matchesAny(node: Node, terms: readonly NodeSelectorTerm[]): boolean {
  return terms.some((term) => matches(node, term));
}

/** The sum of the weights of what the pod would like. */
export function preference(node: Node, { spec }: Pod): number {
  let total = 0;
  for (const { weight, preference } of spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ??
    []) {
    if (matches(node, preference)) total += weight;
  }
  return total;
}

/** Every line of a term must hold; a term without lines matches nothing. */
function matches(node: Node, { matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const fields = { "metadata.name": node.metadata.name };
  return (
    matchExpressions.every((requirement) => meets(requirement, node.metadata.labels ?? {})) &&
    matchFields.every((requirement) => meets(requirement, fields))
  );
}
