/** `akash-provider operator inventory` as a process of its own beside the provider. */
import { hostname } from "node:os";
import { createBusService } from "../bus/bus-service.ts";
import type { RedisOptions } from "../bus/redis.ts";
import type { ObjectReference } from "../kube/event-recorder.ts";
import { createHttpKube } from "../kube/http/http-kube.ts";
import { fieldsOf, recordsOf, textOf } from "../kube/json-fields.ts";
import { kinds } from "../kube/kinds.ts";
import type { Kube, KubeObject } from "../kube/kube.ts";
import { createKubeService } from "../kube/kube-service.ts";
import type { RegistryLocation } from "../operators/inventory/gpu-names/read-registry.ts";
import { createInventoryService, type InventoryServiceOptions } from "../operators/inventory/inventory-service.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { type Scope, untilAborted } from "../runtime/lifecycle.ts";
import { limits } from "../runtime/limits.ts";
import type { ListenAddress } from "../runtime/listener.ts";
import type { Log } from "../runtime/log.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { createMetricsListener } from "../runtime/metrics-listener.ts";
import { createProcess, type Process } from "../runtime/process.ts";
import type { Random } from "../runtime/random.ts";

export interface InventoryProcessOptions {
  /** Without it, the service account of the pod we run in, or kubectl's own file. */
  readonly kubeconfig: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly redis?: RedisOptions;
  readonly metricsListener?: ListenAddress;
  readonly host: string;
  /** A port that was not given is taken from the pod we run in, if we do. */
  readonly restPort: Defaulted<number>;
  readonly grpcPort: Defaulted<number>;
  readonly apiTimeoutMs: number;
  readonly podName?: string;
  readonly podNamespace: string;
  readonly config: string | undefined;
  readonly registry: RegistryLocation | undefined;
  readonly registryPeriodMs: number;
  /** The same: without a word, discovery pods are made of our own image. */
  readonly discoveryImage: Defaulted<string>;
  readonly discoveryPort: number;
  readonly discoveryNamespace: string;
  readonly discoveryPrivileged: boolean;
  readonly version: string;
  readonly shutdownMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Defaulted<T> {
  readonly value: T;
  /** Somebody set it; else it is the default. */
  readonly given: boolean;
}

export function createInventoryProcess(options: InventoryProcessOptions): Process {
  const { redis, metricsListener, clock, random, log, shutdownMs } = options;
  const metrics = createMetrics();
  const ground = { clock, random, log, metrics };
  const kube = createKubeService(() => connect(options));
  const bus = createBusService(redis, ground);
  const services = [
    kube,
    bus,
    ...(metricsListener ? [createMetricsListener(metrics, metricsListener, log)] : []),
    createInventoryService((cluster, scope) => settleOptions(options, cluster, scope), {
      ...ground,
      kube: kube.opened,
      bus: bus.opened,
    }),
  ];
  return createProcess({ services, metrics, clock, log, shutdownMs });
}

function connect({ kubeconfig, environment, clock, random, log }: InventoryProcessOptions): Kube {
  const deps = { clock, random, log: log.with({ module: "inventory" }) };
  return createHttpKube({ fieldManager: "akash-operator-inventory", kubeconfig, environment }, deps);
}

async function settleOptions(
  options: InventoryProcessOptions,
  kube: Kube,
  scope: Scope,
): Promise<InventoryServiceOptions> {
  const pod = ownPod(kube, options, scope.signal);
  const { restPort, grpcPort, discoveryImage } = options;
  let image = discoveryImage.given ? discoveryImage.value : undefined;
  let self: ObjectReference | undefined;
  const known = pod.then((found) => {
    image = settle(discoveryImage, found?.image);
    self = found && referenceTo(options, found);
  });
  // A read that hangs does not hold up the end.
  scope.task("own image", (signal) => Promise.race([known.then(() => untilAborted(signal)), untilAborted(signal)]));
  // Whoever names the ports is answered at once, whatever the cluster says.
  const ports = restPort.given && grpcPort.given ? undefined : (await pod)?.ports;
  return {
    ...options,
    restPort: settle(restPort, ports?.["rest"]),
    grpcPort: settle(grpcPort, ports?.["grpc"]),
    discovery: {
      namespace: options.discoveryNamespace,
      image: () => image,
      port: options.discoveryPort,
      privileged: options.discoveryPrivileged,
    },
    events: { instance: options.podName ?? hostname(), self: () => self },
  };
}

function settle<T>({ value, given }: Defaulted<T>, found: T | undefined): T {
  return given ? value : (found ?? value);
}

function referenceTo({ podName = "", podNamespace }: InventoryProcessOptions, { uid }: OwnPod): ObjectReference {
  return { apiVersion: "v1", kind: "Pod", namespace: podNamespace, name: podName, ...(uid !== undefined && { uid }) };
}

/** What the chart decided: the image, and the ports that others know, by name: "rest", "grpc". */
interface OwnPod {
  readonly uid: string | undefined;
  readonly image: string | undefined;
  readonly ports: Readonly<Record<string, number>>;
}

/** Waits for the cluster: without our own image discovery pods would be of another, and that may be anything. */
async function ownPod(
  kube: Kube,
  { podName, podNamespace, clock, log }: InventoryProcessOptions,
  signal: AbortSignal,
): Promise<OwnPod | undefined> {
  if (podName === undefined) return undefined;
  const at = { namespace: podNamespace, name: podName };
  for (let told = ""; ; ) {
    try {
      const pod = await kube.get(kinds.pod, at);
      if (pod) return readOwnPod(pod);
      log.info("own pod not found, using the settings", at);
      return undefined;
    } catch (thrown) {
      const error = ProviderError.from(thrown);
      if (error.message !== told) log.error("cannot read own pod, retrying", { error });
      told = error.message;
      await sleep(clock, limits.ownPodRetryMs, signal);
    }
  }
}

/** The container is the one of our name, or the first. */
function readOwnPod(pod: KubeObject): OwnPod {
  const containers = recordsOf(fieldsOf(pod["spec"])["containers"]);
  const own = containers.find(({ name }) => name === "operator-inventory") ?? containers[0] ?? {};
  const ports = recordsOf(own["ports"]).flatMap(({ name, containerPort }) =>
    textOf(name) ? [[textOf(name), Number(containerPort)] as const] : [],
  );
  return { uid: pod.metadata.uid, image: textOf(own["image"]), ports: Object.fromEntries(ports) };
}
