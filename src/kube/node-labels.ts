/** Node labels of capabilities, in the seeds' form ("true") and the network's (a count). Affinity takes its keys from here. */
import { createHash } from "node:crypto";

const prefix = "akash.network/";
const gpuPrefix = `${prefix}capabilities.gpu.`;
export const storageClassPrefix = `${prefix}capabilities.storage.class.`;

/** One model of a card, perhaps only those with so much memory or of that interface. */
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
  /** What the device plugin of NVIDIA looks for: the only label of ours outside our own prefix. */
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

/** The values of a storage class label that mean yes: our own affinity is `In` these two, whichever is written. */
export const storageClassReadings = ["true", "1"] as const;

/** Labels whose truth we know. All others on a node are foreign, also those that begin with "akash.network/". */
export function isCapabilityLabel(key: string): boolean {
  return (
    key === labelKeys.node ||
    key === labelKeys.nvidiaPresent ||
    key.startsWith(gpuPrefix) ||
    key.startsWith(storageClassPrefix)
  );
}

/** Labels about gpus, which only discovery can tell. */
export function isGpuLabel(key: string): boolean {
  return key === labelKeys.nvidiaPresent || key.startsWith(gpuPrefix);
}

/** Whether a label about gpus may be about this vendor's: that of a model alone does not say whose it is. */
export function mayBeOfVendor(key: string, vendor: string): boolean {
  if (key === labelKeys.nvidiaPresent) return vendor === "nvidia";
  const vendorKey = labelKeys.gpuVendor(vendor);
  return key === vendorKey || key.startsWith(`${vendorKey}.`) || key.startsWith(`${gpuPrefix}model.`);
}

/** What Kubernetes allows of a key behind its prefix. */
const longestName = 63;
const validName = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
/** 48 bits of a hash: among a thousand names the chance of two alike is one in five hundred million. */
const hashChars = 12;
const shortened = /_[0-9a-f]{12}$/;

/** A name that is no label is cut and gets a hash of the whole. One that looks hashed is hashed as well, so that none collide. */
function labelKey(name: string): string {
  if (name.length <= longestName && validName.test(name) && !shortened.test(name)) return prefix + name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, hashChars);
  const beginning = name.slice(0, longestName - hashChars - 1).replace(/[^-A-Za-z0-9_.]/g, "-");
  return `${prefix}${beginning}_${hash}`;
}
