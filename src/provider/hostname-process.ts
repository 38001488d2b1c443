/** `akash-provider operator hostname` as a process of its own beside the provider. */
import { Resolver } from "node:dns/promises";
import { request } from "node:http";
import type { Probe } from "../operators/hostname/checks.ts";
import { proofMs } from "../operators/hostname/checks.ts";
import { createHostnameService, type HostnameServiceOptions } from "../operators/hostname/hostname-service.ts";
import type { Process } from "../runtime/process.ts";
import { createOperatorProcess, leaseOfOperator, type OperatorProcessOptions } from "./operator-process.ts";
import { ownPod, settlePorts } from "./own-pod.ts";

/** How long a workload may take to answer a probe. */
export const probeMs = 10_000;

type OwnOptions = Omit<
  HostnameServiceOptions,
  "host" | "restPort" | "grpcPort" | "version" | "leadership" | "resolveTxt" | "probe"
>;

interface HostnameProcessOptions extends OperatorProcessOptions, OwnOptions {
  /** Whether owners have to prove in the DNS that a domain is theirs. */
  readonly requiresProof: boolean;
  /** Where the ingress controller is probed for every host name. */
  readonly probeAt: { readonly host: string; readonly port: number } | undefined;
}

export function createHostnameProcess(options: HostnameProcessOptions): Process {
  const { requiresProof, probeAt } = options;
  const resolver = new Resolver({ timeout: proofMs, tries: 1 });
  return createOperatorProcess("hostname", options, (deps) =>
    createHostnameService(
      async (kube, scope) => ({
        ...options,
        ...(await settlePorts(options, () => ownPod(kube, "operator-hostname", options, scope.signal))),
        leadership: leaseOfOperator("hostname", options),
        ...(requiresProof && { resolveTxt: (name: string) => resolver.resolveTxt(name) }),
        ...(probeAt && { probe: probeThrough(probeAt) }),
      }),
      deps,
    ),
  );
}

/** A request as a client from outside would send it, without the DNS. Nothing after the status is read. */
export function probeThrough({ host, port }: { readonly host: string; readonly port: number }): Probe {
  return (name, signal) =>
    new Promise((resolve, reject) => {
      const within = AbortSignal.any([signal, AbortSignal.timeout(probeMs)]);
      const sent = request(
        { host, port, path: "/", headers: { host: name }, agent: false, signal: within },
        (answer) => {
          answer.destroy();
          resolve(answer.statusCode ?? 0);
        },
      );
      sent.on("error", reject);
      // A connection may end without an answer, as after an upgrade that was not requested.
      sent.on("close", () => reject(new Error("the connection ended without an answer")));
      sent.end();
    });
}
