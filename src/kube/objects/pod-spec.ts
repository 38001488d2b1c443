/** The pods of a service: one container, on a node of ours, with no more rights than it needs. */
import { gpuVendor } from "./cards.ts";
import { container } from "./container.ts";
import { accountName, hasPermissions, pullSecretName } from "./credentials.ts";
import type { ObjectSettings } from "./lease-workload.ts";
import { nodeAffinity } from "./node-affinity.ts";
import type { ServiceWorkload } from "./service-workload.ts";
import { podVolumes } from "./volumes.ts";

export function podSpec(workload: ServiceWorkload, settings: ObjectSettings): Readonly<Record<string, unknown>> {
  const { service } = workload;
  const runtimeClassName = runtimeClass(workload, settings);
  const pullSecret = service.credentials ? pullSecretName(service.name) : settings.pullSecret;
  const volumes = podVolumes(service);
  return {
    affinity: nodeAffinity(workload),
    // Named also where it is the default: the API server puts back what an apply merely leaves out.
    serviceAccountName: accountName(service),
    // Without permissions there is nothing to ask the API server, so nobody gets the means to.
    automountServiceAccountToken: hasPermissions(workload.service),
    // Images that run as root are the rule on this network.
    securityContext: { runAsNonRoot: false, seccompProfile: { type: "RuntimeDefault" } },
    ...(runtimeClassName !== undefined && { runtimeClassName }),
    ...(pullSecret !== undefined && { imagePullSecrets: [{ name: pullSecret }] }),
    containers: [container(workload, settings)],
    ...(volumes.length > 0 && { volumes }),
  };
}

/** A card works with the runtime of its vendor alone; all else runs in the operator's sandbox, where there is one. */
function runtimeClass(workload: ServiceWorkload, settings: ObjectSettings): string | undefined {
  return gpuVendor(workload) === "nvidia" ? "nvidia" : settings.runtimeClass;
}
