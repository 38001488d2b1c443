/** What is wrong with a node becomes its taints. */
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../../kube/kinds.ts";
import { type Ground, managers, type Part } from "../part.ts";
import { conditionOf } from "../shapes/metadata.ts";
import { type Node, type Taint, taintKeys } from "../shapes/node.ts";
import { stampOf } from "../shapes/time.ts";

export function createNodeTaints({ server, view, clock }: Ground): Part {
  function work(name: string): undefined {
    const node = view.get<Node>(kinds.node, { name });
    if (!node) return;
    const before = node.spec.taints ?? [];
    const foreign = before.filter(({ key }) => !(Object.values(taintKeys) as string[]).includes(key));
    const ours = wantedTaints(node).map((taint) => {
      const known = before.find(({ key, effect }) => key === taint.key && effect === taint.effect);
      return known ?? { ...taint, timeAdded: stampOf(clock.now()) };
    });
    const taints = [...foreign, ...ours];
    if (isDeepStrictEqual(taints, before)) return;
    const { taints: _, ...spec } = node.spec;
    const next = { ...node, spec: taints.length > 0 ? { ...spec, taints } : spec };
    server.update(kinds.node, next, managers.controllers);
  }

  return {
    name: "node",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.node && type !== "deleted") wake(object.metadata.name);
    },
    work,
  };
}

function wantedTaints({ spec, status }: Node): Taint[] {
  const taints: Taint[] = [];
  if (conditionOf(status?.conditions, "Ready")?.status === "False") {
    for (const effect of ["NoSchedule", "NoExecute"] as const) taints.push({ key: taintKeys.notReady, effect });
  }
  if (spec.unschedulable) taints.push({ key: taintKeys.unschedulable, effect: "NoSchedule" });
  return taints;
}
