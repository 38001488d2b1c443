/** An operator as a process of its own beside the provider: what each of them stands on, and the one service on it. */
import { hostname } from "node:os";
import type { Bus } from "../bus/bus.ts";
import { createBusService } from "../bus/bus-service.ts";
import type { RedisOptions } from "../bus/redis.ts";
import { createHttpKube } from "../kube/http/http-kube.ts";
import { createKubeService } from "../kube/kube-service.ts";
import type { LeadershipOptions } from "../kube/leadership.ts";
import type { OperatorServiceDeps } from "../operators/operator-service.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { ListenAddress } from "../runtime/listener.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { createMetricsListener } from "../runtime/metrics-listener.ts";
import { createProcess, type Process } from "../runtime/process.ts";
import type { OwnPodOptions, PortOptions } from "./own-pod.ts";

/** What every operator's process is told. */
export interface OperatorProcessOptions extends PortOptions, OwnPodOptions, RuntimeDeps {
  /** Without it, the service account of the pod we run in, or kubectl's own file. */
  readonly kubeconfig: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly redis?: RedisOptions;
  readonly metricsListener?: ListenAddress;
  readonly host: string;
  readonly version: string;
  readonly shutdownMs: number;
}

type OperatorName = "inventory" | "hostname" | "ip";

export function createOperatorProcess(
  name: OperatorName,
  options: OperatorProcessOptions,
  operator: (deps: OperatorServiceDeps & { readonly bus: Promise<Bus> }) => Service,
): Process {
  const { kubeconfig, environment, redis, metricsListener, clock, random, log, shutdownMs } = options;
  const metrics = createMetrics();
  const deps = { clock, random, log, metrics };
  const kube = createKubeService(() => {
    const deps = { clock, random, log: log.with({ module: name }) };
    return createHttpKube({ fieldManager: `akash-operator-${name}`, kubeconfig, environment }, deps);
  });
  const bus = createBusService(redis, deps);
  const services = [
    kube,
    bus,
    ...(metricsListener ? [createMetricsListener(metrics, metricsListener, log)] : []),
    operator({ ...deps, kube: kube.opened, bus: bus.opened }),
  ];
  return createProcess({ services, metrics, clock, log, shutdownMs });
}

/** The Lease that copies of an operator share; a copy has a name of its own also where a pod's container was restarted. */
export function leaseOfOperator(name: OperatorName, options: OperatorProcessOptions): LeadershipOptions {
  const { podName = hostname(), podNamespace: namespace, random } = options;
  return {
    namespace,
    name: `operator-${name}`,
    identity: `${podName}-${Buffer.from(random.bytes(4)).toString("hex")}`,
  };
}
