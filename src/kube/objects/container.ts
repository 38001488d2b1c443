/** The one container of a service's pods. */

import { volumeKind } from "../../market/attributes.ts";
import type { Overcommit } from "../../market/fit.ts";
import { committed, diskBytesOf } from "../../market/fit.ts";
import { type GpuDemand, readGpuDemands } from "../../market/gpu-attributes.ts";
import type { Attribute } from "../../market/group-spec.ts";
import type { ManifestService } from "../../market/manifest.ts";
import { addressVariables } from "./lease-addresses.ts";
import type { ServiceWorkload } from "./lease-workload.ts";
import type { PolicySettings } from "./network-policies.ts";

/** What the operator's settings say of every lease's objects. */
export interface ObjectSettings {
  readonly overcommit: Overcommit;
  /** Told to workloads; empty where the cluster has none. */
  readonly clusterPublicHostname: string;
  /** The name of the pull secret of workloads that bring none. */
  readonly pullSecret?: string | undefined;
  /** The sandbox of every workload that has no NVIDIA card: those need the runtime of their vendor. */
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

/** A port that is exposed in several ways is still one. */
function containerPorts({ service }: ServiceWorkload): object[] {
  const ports = service.expose.map(({ port, proto }) => [`${port} ${proto}`, { containerPort: port, protocol: proto }]);
  return Object.values(Object.fromEntries(ports));
}

/** Limits are what was paid for; requests are less by overcommit. Memory volumes count to the limit of their container. */
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

/** The GPUs of a replica: how many, whose, and which cards will do. */
function gpuCount({ service }: ServiceWorkload): bigint {
  return BigInt(service.resources.gpu.units.val);
}

/** The GPU that we offered. Without a known offer, those that the tenant accepts: one of them is under the running workload. */
export function workloadGpus(workload: ServiceWorkload): readonly GpuDemand[] {
  if (gpuCount(workload) === 0n) return [];
  const { service, offer } = workload;
  const offered = readable(offer?.gpu.attributes ?? []);
  return offered.length > 0 ? offered : readable(service.resources.gpu.attributes ?? []);
}

/** Nobody bids on what nobody can read. */
function readable(attributes: readonly Attribute[]): readonly GpuDemand[] {
  const cards = readGpuDemands(attributes);
  return typeof cards === "string" ? [] : cards;
}

export function gpuVendor(workload: ServiceWorkload): string | undefined {
  return workloadGpus(workload)[0]?.vendor;
}

/** What the device plugin of the vendor calls its cards. */
function gpuResources(workload: ServiceWorkload): Readonly<Record<string, string>> {
  const vendor = gpuVendor(workload);
  return vendor === undefined ? {} : { [`${vendor}.com/gpu`]: `${gpuCount(workload)}` };
}

/** What a container finds in its environment: what the tenant says, and who it is on the market where he does not. */
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

/** The last value of a name counts, with references to the one before it, as Kubernetes has each name once. Unknown names stay. */
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

/** What references may add in all: self-references could fill any memory, and no object is larger than this. */
const mostResolvedChars = 1024 * 1024;

/** The volumes of a service: claims that outlive its pods, memory, and the node's own disk. */
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

function bytesOf(service: ManifestService, is: ServiceVolume["is"]): bigint {
  return volumesOf(service).reduce((sum, volume) => (volume.is === is ? sum + volume.bytes : sum), 0n);
}

/** A container may fill this besides the memory that it has for itself. */
function memoryVolumeBytes(service: ManifestService): bigint {
  return bytesOf(service, "memory");
}

/** All of them together: where several are asked for, each is paid for. */
function diskBytes(service: ManifestService): bigint {
  return bytesOf(service, "disk");
}

/** In the order in which the manifest names them. */
export function persistentClasses(service: ManifestService): string[] {
  const named = volumesOf(service).flatMap(({ is, storageClass }) =>
    is === "persistent" && storageClass !== undefined ? [storageClass] : [],
  );
  return [...new Set(named)];
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

/** Those that go with the pod. What lies on the node's disk needs one only where the tenant wants it at a place of its own. */
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
