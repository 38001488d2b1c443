/** What a pod may demand of its place that this scheduler cannot decide. Better it waits than that it runs where a real one never would. */
import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import type { Pod } from "../shapes/pod.ts";

/** Why such a pod runs nowhere; undefined for all others. What is only preferred may be left aside. */
export function unknownWish({ spec }: Pick<Pod, "spec">): string | undefined {
  const { podAffinity, podAntiAffinity } = fieldsOf(spec.affinity);
  const spreads = recordsOf(spec["topologySpreadConstraints"]);
  const wishes = [
    ...(isRequired(podAffinity) ? ["required pod affinity"] : []),
    ...(isRequired(podAntiAffinity) ? ["required pod anti-affinity"] : []),
    ...(spreads.some(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule")
      ? ["topology spread constraints"]
      : []),
  ];
  return wishes.length === 0 ? undefined : `the simulated scheduler does not know ${wishes.join(" and ")}`;
}

function isRequired(affinity: unknown): boolean {
  return listOf(fieldsOf(affinity)["requiredDuringSchedulingIgnoredDuringExecution"]).length > 0;
}
