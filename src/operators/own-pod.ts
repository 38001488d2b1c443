/** The pod that an operator runs in tells it what the chart decided: its image, and the ports that others know. */
import { kinds } from "../kube/kinds.ts";
import type { Kube, ObjectAt } from "../kube/kube.ts";

export interface OwnPod {
  readonly uid: string | undefined;
  readonly image: string | undefined;
  /** By name: "rest", "grpc". */
  readonly ports: Readonly<Record<string, number>>;
}

/** Undefined when there is no such pod. The container is the one of this name, or the first. */
export async function readOwnPod(
  kube: Pick<Kube, "get">,
  at: ObjectAt,
  container: string,
): Promise<OwnPod | undefined> {
  const pod = await kube.get(kinds.pod, at);
  if (!pod) return undefined;
  const { containers = [] } = (pod["spec"] ?? {}) as { containers?: readonly Container[] };
  const own = containers.find(({ name }) => name === container) ?? containers[0];
  const ports = own?.ports?.flatMap(({ name, containerPort }) => (name ? [[name, containerPort] as const] : [])) ?? [];
  return { uid: pod.metadata.uid, image: own?.image, ports: Object.fromEntries(ports) };
}

interface Container {
  readonly name: string;
  readonly image?: string;
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
}
