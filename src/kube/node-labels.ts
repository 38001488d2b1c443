/** Node labels of capabilities, with "true" or a count as value. */
import { createHash } from "node:crypto";

const prefix = "akash.network/";
const gpuPrefix = `${prefix}capabilities.gpu.`;
export const storageClassPrefix = `${prefix}capabilities.storage.class.`;

/** A GPU model, optionally with a memory size or interface. */
export interface GpuSelection {
  readonly vendor: string;
  readonly model: string;
  /** "141Gi" */
  readonly ram?: string | undefined;
  /** "pcie" or "sxm" */
  readonly interface?: string | undefined;
}

export const labelKeys = {
  /** The node belongs to the provider. */
  node: "akash.network",
  /** Read by NVIDIA's device plugin: our only label outside our own prefix. */
  nvidiaPresent: "nvidia.com/gpu.present",
  gpuVendor: (vendor: string) => labelKey(`capabilities.gpu.vendor.${vendor}`),
  gpuModel: (model: string) => labelKey(`capabilities.gpu.model.${model}`),
  gpuCount({ vendor, model, ram, interface: kind }: GpuSelection): string {
    const ramPart = ram === undefined ? "" : `.ram.${ram}`;
    const kindPart = kind === undefined ? "" : `.interface.${kind}`;
    return labelKey(`capabilities.gpu.vendor.${vendor}.model.${model}${ramPart}${kindPart}`);
  },
  storageClass: (name: string) => labelKey(`capabilities.storage.class.${name}`),
};

/** Values of a storage class label that mean yes. */
export const storageClassReadings = ["true", "1"] as const;

/** Labels that we manage. All others on a node are foreign, also those with the prefix "akash.network/". */
export function isCapabilityLabel(key: string): boolean {
  return (
    key === labelKeys.node ||
    key === labelKeys.nvidiaPresent ||
    key.startsWith(gpuPrefix) ||
    key.startsWith(storageClassPrefix)
  );
}

/** Labels about GPUs, which come from discovery. */
export function isGpuLabel(key: string): boolean {
  return key === labelKeys.nvidiaPresent || key.startsWith(gpuPrefix);
}

/** Whether a GPU label may be about this vendor: that of a model does not name the vendor. */
export function mayBeOfVendor(key: string, vendor: string): boolean {
  if (key === labelKeys.nvidiaPresent) return vendor === "nvidia";
  const vendorKey = labelKeys.gpuVendor(vendor);
  return key === vendorKey || key.startsWith(`${vendorKey}.`) || key.startsWith(`${gpuPrefix}model.`);
}

/** Limit of a label key after its prefix. */
const longestName = 63;
const validName = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
/** 48 bits: among a thousand names a collision has a chance of one in five hundred million. */
const hashChars = 12;
const shortened = /_[0-9a-f]{12}$/;

/** An invalid label name is truncated and gets a hash. One that looks hashed is hashed as well, so that none collide. */
function labelKey(name: string): string {
  if (name.length <= longestName && validName.test(name) && !shortened.test(name)) return prefix + name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, hashChars);
  const beginning = name.slice(0, longestName - hashChars - 1).replace(/[^-A-Za-z0-9_.]/g, "-");
  return `${prefix}${beginning}_${hash}`;
}
