/** What is kept of a pod. A cluster has ten thousand of them, so it is little: who it is, where it is, what it takes. */
import { fieldsOf, textOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { gtSelectedKeys } from "../labels/gt-selected.ts";

import { nothing, type Resources } from "./resources.ts";
import { soldRequests } from "./sold-requests.ts";

export interface PodUse extends Resources {
  readonly uid: string;
  /** "lease-namespace/web-0" */
  readonly name: string;
  /** Where it counts. Undefined: nowhere, because it has no node yet or has finished. */
  readonly node: string | undefined;
  /** The storage class labels that it selects with `Gt`, which read a value other than a number as no. */
  readonly gtSelected: readonly string[];
  /** A quantity of it that cannot be read. */
  readonly problem: string | undefined;
}

/** For the watch of pods. A pod that is being deleted counts until it is gone: until then it holds what it has. */
export function projectPod(pod: KubeObject): PodUse {
  const { name, namespace = "", uid } = pod.metadata;
  const fullName = `${namespace}/${name}`;
  const identity = { uid: uid ?? fullName, name: fullName };
  const phase = fieldsOf(pod["status"])["phase"];
  if (phase === "Succeeded" || phase === "Failed") return podUse(identity, undefined, nothing, []);
  const node = textOf(fieldsOf(pod["spec"])["nodeName"]) || undefined;
  return podUse(identity, node, node === undefined ? nothing : soldRequests(pod), gtSelectedKeys([pod["spec"]]));
}

/** Every pod has the same fields in the same order: such objects are the smallest and the quickest. */
function podUse(
  { uid, name }: Pick<PodUse, "uid" | "name">,
  node: string | undefined,
  { cpuMilli, memoryBytes, ephemeralBytes, gpus, problem }: Resources & { readonly problem?: string },
  gtSelected: readonly string[],
): PodUse {
  return { uid, name, node, cpuMilli, memoryBytes, ephemeralBytes, gpus, gtSelected, problem };
}
