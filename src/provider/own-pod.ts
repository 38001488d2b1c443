/** What an operator learns of the pod that it runs in: what its chart decided and the settings do not say. */
import type { ObjectReference } from "../kube/event-recorder.ts";
import { fieldsOf, recordsOf, textOf } from "../kube/json-fields.ts";
import { kinds } from "../kube/kinds.ts";
import type { Kube, KubeObject } from "../kube/kube.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { ownPodRetryMs } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";

export interface OwnPodOptions {
  readonly podName?: string;
  readonly podNamespace: string;
  readonly clock: Clock;
  readonly log: Log;
}

interface OwnPod {
  readonly reference: ObjectReference;
  readonly image: string | undefined;
  readonly pullSecrets: readonly string[];
  /** The ports that others know, by name: "rest", "grpc". */
  readonly ports: Readonly<Record<string, number>>;
}

export interface Defaulted<T> {
  readonly value: T;
  /** Somebody set it; else it is the default. */
  readonly given: boolean;
}

/** What somebody set goes before what was found, and that before the default. */
export function settle<T>({ value, given }: Defaulted<T>, found: T | undefined): T {
  return given ? value : (found ?? value);
}

export interface PortOptions {
  /** A port that was not given is taken from the pod we run in, if we do. */
  readonly restPort: Defaulted<number>;
  readonly grpcPort: Defaulted<number>;
}

/** Whoever names the ports is answered at once, whatever the cluster says: nobody looks for the pod. */
export async function settlePorts({ restPort, grpcPort }: PortOptions, pod: () => Promise<OwnPod | undefined>) {
  const ports = restPort.given && grpcPort.given ? undefined : (await pod())?.ports;
  return { restPort: settle(restPort, ports?.["rest"]), grpcPort: settle(grpcPort, ports?.["grpc"]) };
}

/** Waits for the cluster; undefined outside of one. The container is the one of this name, or the first. */
export async function ownPod(
  kube: Kube,
  container: string,
  { podName, podNamespace: namespace, clock, log }: OwnPodOptions,
  signal: AbortSignal,
): Promise<OwnPod | undefined> {
  if (podName === undefined) return undefined;
  const at = { namespace, name: podName };
  for (let told = ""; ; ) {
    try {
      const pod = await kube.get(kinds.pod, at);
      if (pod) return readOwnPod(pod, container, at);
      log.info("own pod not found, using the settings", at);
      return undefined;
    } catch (thrown) {
      const error = ProviderError.from(thrown);
      if (error.message !== told) log.warn("cannot read own pod, retrying", { error });
      told = error.message;
      await sleep(clock, ownPodRetryMs, signal);
    }
  }
}

function readOwnPod(
  pod: KubeObject,
  container: string,
  at: { readonly namespace: string; readonly name: string },
): OwnPod {
  const spec = fieldsOf(pod["spec"]);
  const containers = recordsOf(spec["containers"]);
  const own = containers.find(({ name }) => name === container) ?? containers[0] ?? {};
  const ports = recordsOf(own["ports"]).flatMap(({ name, containerPort }) =>
    textOf(name) ? [[textOf(name), Number(containerPort)] as const] : [],
  );
  const { uid } = pod.metadata;
  return {
    reference: { apiVersion: "v1", kind: "Pod", ...at, ...(uid !== undefined && { uid }) },
    image: textOf(own["image"]),
    pullSecrets: recordsOf(spec["imagePullSecrets"]).flatMap(({ name }) => textOf(name) ?? []),
    ports: Object.fromEntries(ports),
  };
}
