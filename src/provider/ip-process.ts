/** `akash-provider operator ip` as a process of its own beside the provider. */
import { hostname } from "node:os";
import { createIpService, type IpServiceOptions } from "../operators/ip/ip-service.ts";
import type { Process } from "../runtime/process.ts";
import { createOperatorProcess, leaseOfOperator, type OperatorProcessOptions } from "./operator-process.ts";
import { ownPod, settlePorts } from "./own-pod.ts";

type Settled = "instance" | "restPort" | "grpcPort" | "leadership";

type IpProcessOptions = OperatorProcessOptions & Omit<IpServiceOptions, Settled | keyof OperatorProcessOptions>;

export function createIpProcess(options: IpProcessOptions): Process {
  const settled = { instance: options.podName ?? hostname(), leadership: leaseOfOperator("ip", options) };
  return createOperatorProcess("ip", options, (deps) =>
    createIpService(async (kube, scope) => {
      const ports = await settlePorts(options, () => ownPod(kube, "operator-ip", options, scope.signal));
      return { ...options, ...settled, ...ports };
    }, deps),
  );
}
