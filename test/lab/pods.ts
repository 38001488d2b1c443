/** Pods of the lab, made with our own client. */
import { shellImage } from "../../lab/images.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import { eventually } from "../support/eventually.ts";

/** Starting busybox takes two seconds; a busy machine takes longer. */
const podStartsWithinMs = 60_000;

export interface PodAt {
  readonly namespace: string;
  readonly name: string;
}

export interface PodContainer {
  readonly image: string;
  readonly command?: readonly string[];
  readonly env?: readonly object[];
}

/** Resolves when it is ready, or when its container has started. */
export async function runPod(kube: Kube, at: PodAt, container: PodContainer, until: "ready" | "started" = "ready") {
  const metadata = { ...at, labels: { app: at.name } };
  // A second instead of the default of thirty.
  const containers = [{ name: "main", ...container }];
  const spec = { containers, terminationGracePeriodSeconds: 1, restartPolicy: until === "ready" ? "Always" : "Never" };
  // The namespace's service account comes a moment after the namespace, and no pod may be made without it.
  await eventually("the pod to be accepted", () => kube.apply(kinds.pod, { metadata, spec }));
  const look = until === "ready" ? isReady : hasStarted;
  await eventually(`the pod to be ${until}`, async () => look(await kube.get(kinds.pod, at)), podStartsWithinMs);
}

/** Runs these commands and then waits for SIGTERM; has a shell. */
export async function runShell(kube: Kube, at: PodAt, commands: string): Promise<void> {
  const wait = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";
  await runPod(kube, at, { image: shellImage, command: ["/bin/sh", "-c", `${commands}; ${wait}`] });
}

function isReady(pod: KubeObject | undefined): boolean {
  const { conditions = [] } = (pod?.["status"] ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function hasStarted(pod: KubeObject | undefined): boolean {
  const { phase } = (pod?.["status"] ?? {}) as { phase?: string };
  return phase !== undefined && phase !== "Pending";
}
