/** Which of a node's GPUs are sold: not those split into parts, nor those passed through to virtual machines. */
import { type Condition, condition } from "../../../runtime/condition.ts";
import { mixedReason, type NamedGpu } from "../inventory.ts";
import { type GpuVendor, gpuVendors, pluginResources } from "./resources.ts";
import type { ProjectedNode } from "./watched-node.ts";

export function soldGpus(node: ProjectedNode, gpus: readonly NamedGpu[]) {
  const reasons = new Map<NamedGpu, string>();
  const conditions: Condition[] = [];
  for (const gpu of gpus) {
    const found = ownReason(gpu);
    if (!found) continue;
    reasons.set(gpu, found.reason);
    const message = `${gpuText(gpu)} ${found.reason}, so it is not sold; ${found.remedy}`;
    conditions.push(condition(found.type, message));
  }
  for (const vendor of gpuVendors) {
    const mixed = mixedModels(vendor, node, gpus);
    for (const gpu of mixed.renamed) reasons.set(gpu, "its device plugin gives it another name");
    for (const gpu of mixed.unclear) reasons.set(gpu, mixedReason);
    if (mixed.message !== undefined) conditions.push(condition("GpuMixed", mixed.message));
    const message = sharedDevices(vendor, node, gpus);
    if (message === undefined) continue;
    conditions.push(condition("GpuShared", message));
    for (const gpu of gpus) if (gpu.vendor === vendor) reasons.set(gpu, "its devices are parts of GPUs");
  }
  const marked = gpus.map((gpu): NamedGpu => {
    const notSold = reasons.get(gpu);
    return notSold === undefined ? gpu : { ...gpu, notSold };
  });
  return { gpus: reasons.size === 0 ? gpus : marked, conditions };
}

/** With several models under one resource name, a pod may get any of them. */
function mixedModels(vendor: GpuVendor, node: ProjectedNode, gpus: readonly NamedGpu[]) {
  const whole = gpus.filter((gpu) => gpu.vendor === vendor && ownReason(gpu) === undefined);
  const none: readonly NamedGpu[] = [];
  if (kindsOf(vendor, node, whole).length < 2) return { renamed: none, unclear: none };
  // Tenants' pods request the plugin's usual name.
  let renamed = [...new Set(node.gpuRenamed[vendor].flatMap((name) => meantBy(plainWord(name), whole)))];
  // The names are ambiguous.
  if (renamed.length === whole.length && node.gpuDevicesCounted[vendor] > 0n) renamed = [];
  const unclear = whole.filter((gpu) => !renamed.includes(gpu));
  const kinds = kindsOf(vendor, node, unclear);
  if (kinds.length < 2) return { renamed, unclear: none };
  const message =
    `the ${vendor} device plugin offers ${kinds.join(" and ")} as ${pluginResources[vendor]}, so a pod may get either ` +
    "and none is sold; use one kind per node, or let the plugin's configuration (resources.gpus) give the others " +
    "names of their own";
  return { renamed, unclear, message };
}

/** The GPUs of the longest model in the resource name ("l40s" is not l4), by memory and interface if it has them. */
function meantBy(resource: string, gpus: readonly NamedGpu[]): readonly NamedGpu[] {
  const named = (text = "") => text !== "" && resource.includes(plainWord(text));
  const lengthOf = ({ name = "" }: NamedGpu) => plainWord(name).length;
  const found = gpus.filter(({ name }) => named(name));
  const longest = Math.max(...found.map(lengthOf));
  const ofModel = found.filter((gpu) => lengthOf(gpu) === longest);
  // "a100-sxm4-40gb" where the registry says 40Gi.
  const ofMemory = ofModel.filter(({ memorySize }) => named(memorySize?.replace("Gi", "G")));
  const either = ofMemory.length > 0 ? ofMemory : ofModel;
  const ofInterface = either.filter((gpu) => named(gpu.interface));
  return ofInterface.length > 0 ? ofInterface : either;
}

/** By model, memory and interface: a tenant may require each. */
function kindsOf(vendor: GpuVendor, node: ProjectedNode, gpus: readonly NamedGpu[]): string[] {
  const named = gpus.filter(({ name }) => name !== undefined);
  if (named.length === 0) return [];
  // Unnamed ones may be on-board graphics, which the plugin does not count.
  const counted = node.gpuDevicesCounted[vendor] > BigInt(named.length) ? gpus : named;
  return [...new Set(counted.map(kindText))];
}

/** "a100 80Gi SXM4" */
function kindText({ name, memorySize, interface: kind, vendorId, deviceId }: NamedGpu): string {
  return name === undefined ? `${vendorId}:${deviceId}` : [name, memorySize, kind].filter(Boolean).join(" ");
}

function plainWord(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, "");
}

function ownReason({ driver = "", migInstances = 0 }: NamedGpu) {
  // Some GPUs have a vfio-pci variant with underscores.
  if (/vfio[-_]pci/.test(driver)) {
    const reason = `is bound to ${driver}, which hands it to virtual machines`;
    return { type: "GpuPassedThrough", reason, remedy: "bind it to the driver of its vendor" };
  }
  if (migInstances === 0) return undefined;
  const reason = `has ${migInstances} MIG instances`;
  return { type: "GpuShared", reason, remedy: "nvidia-smi -mig 0 makes it one GPU again" };
}

/** By the plugin's count of devices, where discovery found GPUs. */
function sharedDevices(
  vendor: GpuVendor,
  { gpuDevicesCounted, gpuDevices, gpuParts }: ProjectedNode,
  gpus: readonly NamedGpu[],
): string | undefined {
  const own = gpus.filter((gpu) => gpu.vendor === vendor);
  if (own.length === 0) return undefined;
  const split = own.filter(({ migInstances = 0 }) => migInstances > 0).length;
  const whole = own.filter((gpu) => ownReason(gpu) === undefined).length;
  const [counted, devices] = [gpuDevicesCounted[vendor], gpuDevices[vendor]];
  const isMore = devices > BigInt(whole);
  if ((isMore || areSlices(counted, devices, BigInt(own.length))) && split < own.length) {
    return (
      `the ${vendor} device plugin counts ${isMore ? devices : counted} devices on ${whole} whole GPUs, so a device is a part of a GPU ` +
      "(time slicing, MPS or partitions) and none is sold; let it count one device for each GPU"
    );
  }
  const parts = gpuParts[vendor];
  if (parts.length === 0 || split > 0) return undefined;
  return (
    `the ${vendor} device plugin offers parts of GPUs (${parts.join(", ")}), and of which GPUs cannot be seen, so none ` +
    "is sold; let it count one device for each GPU"
  );
}

/** Whether devices are equal slices; the plugin still counts GPUs that fell off the bus. */
function areSlices(counted: bigint, left: bigint, gpus: bigint): boolean {
  const slices = counted / gpus;
  return slices > 1n && counted % gpus === 0n && left % slices === 0n;
}

/** "h200 at 0000:00:07.0" */
export function gpuText({ name, deviceId, address }: NamedGpu): string {
  return `${name ?? deviceId} at ${address}`;
}
