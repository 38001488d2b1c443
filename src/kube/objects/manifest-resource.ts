/** The Manifest resource of a lease: the network's hostname operator reads it, and lost journals are rebuilt from it. */
import { readGpuDemands } from "../../market/gpu-attributes.ts";
import type { UnitResources } from "../../market/group-spec.ts";
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { ManifestExpose, ManifestService } from "../../market/manifest.ts";
import { formatTime } from "../../runtime/clock.ts";
import { kinds } from "../kinds.ts";
import { leaseLabels } from "./lease-labels.ts";
import type { DesiredObject, LeaseWorkload } from "./lease-workload.ts";

/** Stored in annotations. */
export interface ManifestNote {
  /** The hash of the whole manifest in hex. */
  readonly version: string;
  readonly receivedAtMs: number;
  /** When the owner withdrew it; then it has no services. */
  readonly withdrawnAtMs?: number | undefined;
}

export const manifestAnnotations = {
  version: "akash.network/manifest.version",
  receivedAt: "akash.network/manifest.received-at",
  withdrawnAt: "akash.network/manifest.withdrawn-at",
} as const;

export function manifestResource(
  { lease, group, offer }: LeaseWorkload,
  { version, receivedAtMs, withdrawnAtMs }: ManifestNote,
  { manifestNamespace }: { readonly manifestNamespace: string },
): DesiredObject {
  const isWithdrawn = withdrawnAtMs !== undefined;
  const services = isWithdrawn ? [] : group.services.map((service) => writeService(service, offer));
  return {
    kind: kinds.manifest,
    object: {
      metadata: {
        name: leaseNamespace(lease),
        namespace: manifestNamespace,
        labels: leaseLabels(lease),
        annotations: {
          [manifestAnnotations.version]: version,
          [manifestAnnotations.receivedAt]: formatTime(receivedAtMs),
          ...(isWithdrawn && { [manifestAnnotations.withdrawnAt]: formatTime(withdrawnAtMs) }),
        },
      },
      spec: { lease_id: writeLeaseId(lease), group: { name: group.name, services } },
    },
  };
}

/** A lease id in custom resources; dseq is text since it may exceed a double. */
export function writeLeaseId({ owner, dseq, gseq, oseq, provider }: LeaseId) {
  return { owner, dseq: `${dseq}`, gseq, oseq, provider };
}

export function writeService(service: ManifestService, offer: readonly UnitResources[]) {
  const { name, image, command, args, env, resources, count, expose, params, credentials } = service;
  return {
    name,
    image,
    ...given({ command, args, env }),
    resources: writeResources(resources),
    count,
    ...given({
      expose: expose.map(writeExpose),
      params: params && writeParams(params),
      scheduler_params: schedulerParams(service, offer),
      credentials,
    }),
  };
}

function writeResources({ id, cpu, gpu, memory, storage }: ManifestService["resources"]) {
  return {
    id,
    cpu: { units: Number(cpu.units.val), ...given({ attributes: cpu.attributes }) },
    gpu: { units: Number(gpu.units.val), ...given({ attributes: gpu.attributes }) },
    memory: { size: memory.size.val, ...given({ attributes: memory.attributes }) },
    ...given({
      storage: storage?.map(({ name, size, attributes }) => ({ name, size: size.val, ...given({ attributes }) })),
    }),
  };
}

function writeExpose({ port, proto, endpointSequenceNumber, httpOptions, ...rest }: ManifestExpose) {
  return snakeCased({
    port,
    proto,
    endpointSequenceNumber,
    ...given(rest),
    httpOptions: snakeCased(given(httpOptions)),
  });
}

function writeParams({ storage, permissions, tee }: NonNullable<ManifestService["params"]>) {
  // Only `read`, so that writing what was read changes nothing.
  const { read = [] } = permissions ?? {};
  return given({ storage, permissions: read.length > 0 ? { read } : undefined, tee });
}

/** The GPU model. Interface and memory are empty, as the Go provider writes them; our bid on chain has them. */
function schedulerParams({ resources }: ManifestService, offer: readonly UnitResources[]) {
  if (resources.gpu.units.val === "0") return undefined;
  const offered = readGpuDemands(offer.find(({ id }) => id === resources.id)?.gpu.attributes ?? []);
  const [gpuDemand] = typeof offered === "string" ? [] : offered;
  if (!gpuDemand) return undefined;
  const { vendor, model } = gpuDemand;
  const gpu = { vendor, model, interface: "", memory_size: "" };
  return { ...given({ runtime_class: vendor === "nvidia" ? "nvidia" : "" }), resources: { gpu } };
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], null | undefined> };

/** Without null, empty, 0 and false. */
function given<T extends object>(fields: T): Given<T> {
  const isSomething = ([, value]: [string, unknown]) => (Array.isArray(value) ? value.length > 0 : Boolean(value));
  return Object.fromEntries(Object.entries(fields).filter(isSomething)) as Given<T>;
}

function snakeCased(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [snakeCase(name), value]));
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (char) => `_${char.toLowerCase()}`);
}
