/** `akash-provider operator inventory` as a process of its own beside the provider. */
import { hostname } from "node:os";
import type { ObjectReference } from "../kube/event-recorder.ts";
import type { Kube } from "../kube/kube.ts";
import type { RegistryLocation } from "../operators/inventory/gpu-names/registry-source.ts";
import { createInventoryService, type InventoryServiceOptions } from "../operators/inventory/inventory-service.ts";
import { type Scope, untilAborted } from "../runtime/lifecycle.ts";
import type { Process } from "../runtime/process.ts";
import { createOperatorProcess, type OperatorProcessOptions } from "./operator-process.ts";
import { type Defaulted, ownPod, settle, settlePorts } from "./own-pod.ts";

interface InventoryProcessOptions extends OperatorProcessOptions {
  readonly apiTimeoutMs: number;
  readonly config: string | undefined;
  readonly registry: RegistryLocation | undefined;
  readonly registryPeriodMs: number;
  /** Without a word, discovery pods are made of our own image. */
  readonly discoveryImage: Defaulted<string>;
  readonly discoveryPort: number;
  readonly discoveryNamespace: string;
  readonly discoveryPrivileged: boolean;
}

export function createInventoryProcess(options: InventoryProcessOptions): Process {
  return createOperatorProcess("inventory", options, (deps) =>
    createInventoryService((cluster, scope) => settleOptions(options, cluster, scope), deps),
  );
}

async function settleOptions(
  options: InventoryProcessOptions,
  kube: Kube,
  scope: Scope,
): Promise<InventoryServiceOptions> {
  // Waited for: without our own image discovery pods would be of another, and that may be anything.
  const pod = ownPod(kube, "operator-inventory", options, scope.signal);
  const { discoveryImage } = options;
  let image = discoveryImage.given ? discoveryImage.value : undefined;
  let pullSecrets: readonly string[] = [];
  let self: ObjectReference | undefined;
  const known = pod.then((found) => {
    image = settle(discoveryImage, found?.image);
    pullSecrets = found?.pullSecrets ?? [];
    self = found?.reference;
  });
  // A read that hangs does not hold up the end.
  scope.task("own image", (signal) => Promise.race([known.then(() => untilAborted(signal)), untilAborted(signal)]));
  return {
    ...options,
    ...(await settlePorts(options, () => pod)),
    discovery: {
      namespace: options.discoveryNamespace,
      image: () => image,
      pullSecrets: () => pullSecrets,
      port: options.discoveryPort,
      privileged: options.discoveryPrivileged,
    },
    events: { instance: options.podName ?? hostname(), self: () => self },
  };
}
