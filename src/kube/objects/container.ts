/** The one container of a service's pods. */

import type { Overcommit } from "../../market/fit.ts";
import { committed, diskBytesOf } from "../../market/fit.ts";
import { type GpuDemand, readGpuDemands } from "../../market/gpu-attributes.ts";
import { type Attribute, volumeKind } from "../../market/group-spec.ts";
import type { ManifestService } from "../../market/manifest.ts";
import type { ServiceWorkload } from "./lease-workload.ts";
import { addressVariables } from "./leased-ip.ts";
import type { PolicySettings } from "./network-policies.ts";

/** Settings that affect the objects of every lease. */
export interface ObjectSettings {
  readonly overcommit: Overcommit;
  /** Value of AKASH_CLUSTER_PUBLIC_HOSTNAME; may be empty. */
  readonly clusterPublicHostname: string;
  /** The pull secret of workloads without credentials. */
  readonly pullSecret?: string | undefined;
  /** The runtime class of workloads without NVIDIA GPU, which needs its own. */
  readonly runtimeClass?: string | undefined;
  readonly policies: PolicySettings;
}

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

/** Each port and protocol once. */
function containerPorts({ service }: ServiceWorkload): object[] {
  const ports = service.expose.map(({ port, proto }) => [`${port} ${proto}`, { containerPort: port, protocol: proto }]);
  return Object.values(Object.fromEntries(ports));
}

/** Limits are what was leased; requests are less by overcommit. Memory volumes count to the limit of their container. */
function resources(workload: ServiceWorkload, { overcommit }: ObjectSettings): object {
  const { service } = workload;
  const { cpu, memory } = service.resources;
  const cpuMilli = BigInt(cpu.units.val);
  const memoryBytes = BigInt(memory.size.val);
  const disk = diskBytesOf(volumeBytes(service, "disk"), overcommit);
  const gpus = gpuResources(workload);
  return {
    limits: {
      cpu: `${cpuMilli}m`,
      memory: `${memoryBytes + volumeBytes(service, "memory")}`,
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

/** The GPU that we offered; without a known offer, those that the tenant accepts. */
export function workloadGpus(workload: ServiceWorkload): readonly GpuDemand[] {
  const { service, offer } = workload;
  if (BigInt(service.resources.gpu.units.val) === 0n) return [];
  const offered = readable(offer?.gpu.attributes ?? []);
  return offered.length > 0 ? offered : readable(service.resources.gpu.attributes ?? []);
}

/** Empty for invalid attributes, on which we never bid. */
function readable(attributes: readonly Attribute[]): readonly GpuDemand[] {
  const demands = readGpuDemands(attributes);
  return typeof demands === "string" ? [] : demands;
}

export function gpuVendor(workload: ServiceWorkload): string | undefined {
  return workloadGpus(workload)[0]?.vendor;
}

/** The resource name of the vendor's device plugin. */
function gpuResources(workload: ServiceWorkload): Readonly<Record<string, string>> {
  const vendor = gpuVendor(workload);
  return vendor === undefined ? {} : { [`${vendor}.com/gpu`]: `${BigInt(workload.service.resources.gpu.units.val)}` };
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: Readonly<Record<string, unknown>>;
}

export function environment({ lease, service }: ServiceWorkload, settings: ObjectSettings): Variable[] {
  const given = (service.env ?? []).map(readVariable);
  const names = new Set(given.map(({ name }) => name));
  const { owner, dseq, gseq, oseq, provider } = lease;
  const ours = Object.entries({
    AKASH_GROUP_SEQUENCE: gseq,
    AKASH_DEPLOYMENT_SEQUENCE: dseq,
    AKASH_ORDER_SEQUENCE: oseq,
    AKASH_OWNER: owner,
    AKASH_PROVIDER: provider,
    AKASH_CLUSTER_PUBLIC_HOSTNAME: settings.clusterPublicHostname,
  }).map(([name, value]) => variable(name, `${value}`));
  return [...settled(given), ...[...ours, ...addressVariables(service)].filter(({ name }) => !names.has(name))];
}

function readVariable(text: string): Variable {
  const [name = ""] = text.split("=", 1);
  return variable(name, text.slice(name.length + 1));
}

function variable(name: string, value: string): Variable {
  return value === "" ? { name } : { name, value };
}

/** The last value of a name counts, and may refer to the value before it. References to unknown names stay. */
function settled(variables: readonly Variable[]): readonly Variable[] {
  const values = new Map<string, string>();
  let room = mostResolvedChars;
  for (const { name, value = "" } of variables) {
    const resolved = value.replace(/\$\$|\$\(([^)]*)\)/g, (text, referred) => {
      const given = values.get(referred);
      if (given === undefined || given.length > room) return text;
      room -= given.length;
      return given;
    });
    values.set(name, resolved);
  }
  if (values.size === variables.length) return variables;
  return [...values].map(([name, value]) => variable(name, value));
}

/** Characters that references may add: self-references grow exponentially, and no object is larger than this. */
const mostResolvedChars = 1024 * 1024;

/** Claims, memory, or the node's disk. */
interface ServiceVolume {
  readonly name: string;
  readonly bytes: bigint;
  readonly is: "persistent" | "memory" | "disk";
  readonly storageClass: string | undefined;
}

function volumesOf({ name: service, resources }: ManifestService): ServiceVolume[] {
  return (resources.storage ?? []).map((volume) => {
    const { persistent, storageClass } = volumeKind(volume);
    const is = persistent ? "persistent" : storageClass === "ram" ? "memory" : "disk";
    return { name: `${service}-${volume.name}`, bytes: BigInt(volume.size.val), is, storageClass };
  });
}

function volumeBytes(service: ManifestService, is: ServiceVolume["is"]): bigint {
  return volumesOf(service).reduce((sum, volume) => (volume.is === is ? sum + volume.bytes : sum), 0n);
}

/** In the order in which the manifest names them. */
export function persistentClasses(service: ManifestService): string[] {
  const volumes = volumesOf(service).filter(({ is }) => is === "persistent");
  return [...new Set(volumes.flatMap(({ storageClass }) => storageClass ?? []))];
}

export function claimTemplates(service: ManifestService): object[] {
  return volumesOf(service)
    .filter(({ is }) => is === "persistent")
    .map(({ name, bytes, storageClass }) => ({
      metadata: { name },
      spec: {
        accessModes: ["ReadWriteOnce"],
        volumeMode: "Filesystem",
        resources: { requests: { storage: `${bytes}` } },
        // Without a name the cluster's own default is taken.
        ...(storageClass !== undefined && storageClass !== "default" && { storageClassName: storageClass }),
      },
    }));
}

/** Volumes of the pod itself. Disk needs one only where it is mounted. */
export function podVolumes(service: ManifestService): object[] {
  const mounted = new Set(mountsOf(service).map(({ name }) => name));
  return volumesOf(service)
    .filter(({ is, name }) => is === "memory" || (is === "disk" && mounted.has(name)))
    .map(({ name, bytes, is }) => ({
      name,
      emptyDir: { ...(is === "memory" && { medium: "Memory" }), sizeLimit: `${bytes}` },
    }));
}

export function volumeMounts(service: ManifestService): object[] {
  return mountsOf(service).map(({ name, mount, readOnly }) => ({
    name,
    mountPath: mount,
    ...(readOnly && { readOnly }),
  }));
}

/** A service may mention a volume and not mount it. */
function mountsOf({ name: service, params }: ManifestService) {
  return (params?.storage ?? [])
    .filter(({ mount }) => mount !== "")
    .map(({ name, ...mount }) => ({ name: `${service}-${name}`, ...mount }));
}
