/** The one container of a service's pods. */
import { committed, diskBytesOf } from "../../market/overcommit.ts";
import { gpuResources } from "./cards.ts";
import { environment } from "./environment.ts";
import type { ObjectSettings } from "./lease-workload.ts";
import type { ServiceWorkload } from "./service-workload.ts";
import { diskBytes, memoryVolumeBytes, volumeMounts } from "./volumes.ts";

export function container(workload: ServiceWorkload, settings: ObjectSettings): object {
  const { service } = workload;
  const { name, image, command, args } = service;
  const env = environment(workload, settings);
  const ports = containerPorts(workload);
  const mounts = volumeMounts(service);
  return {
    name,
    image,
    imagePullPolicy: "IfNotPresent",
    ...(command && command.length > 0 && { command }),
    ...(args && args.length > 0 && { args }),
    env,
    ...(ports.length > 0 && { ports }),
    resources: resources(workload, settings),
    securityContext: { runAsNonRoot: false, privileged: false, allowPrivilegeEscalation: false },
    ...(mounts.length > 0 && { volumeMounts: mounts }),
  };
}

/** A port that is exposed in several ways is still one. */
function containerPorts({ service }: ServiceWorkload): object[] {
  const ports = service.expose.map(({ port, proto }) => [`${port} ${proto}`, { containerPort: port, protocol: proto }]);
  return Object.values(Object.fromEntries(ports));
}

/**
 * What was paid for is the limit; what is set aside on the node is less by what is sold twice. Memory volumes count to
 * the limit of the container that fills them.
 */
function resources(workload: ServiceWorkload, { overcommit }: ObjectSettings): object {
  const { service } = workload;
  const { cpu, memory } = service.resources;
  const cpuMilli = BigInt(cpu.units.val);
  const memoryBytes = BigInt(memory.size.val);
  const disk = diskBytesOf(diskBytes(service), overcommit);
  const gpus = gpuResources(workload);
  return {
    limits: {
      cpu: `${cpuMilli}m`,
      memory: `${memoryBytes + memoryVolumeBytes(service)}`,
      "ephemeral-storage": `${disk}`,
      ...gpus,
    },
    requests: {
      cpu: `${committed(cpuMilli, overcommit.cpuPercent)}m`,
      memory: `${committed(memoryBytes, overcommit.memoryPercent)}`,
      "ephemeral-storage": `${committed(disk, overcommit.storagePercent)}`,
      ...gpus,
    },
  };
}
