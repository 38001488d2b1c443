/** Volumes, the claims to them, and the classes they come from. */
import { byAge, type Stored } from "./metadata.ts";
import type { NodeSelector, ResourceList } from "./pod.ts";

export interface Claim extends Stored {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: ResourceList };
    readonly [other: string]: unknown;
  };
  readonly status?: { readonly phase?: "Pending" | "Bound"; readonly capacity?: ResourceList };
}

export interface PersistentVolume extends Stored {
  readonly spec: {
    readonly storageClassName?: string;
    readonly accessModes?: readonly string[];
    readonly capacity?: ResourceList;
    readonly persistentVolumeReclaimPolicy?: string;
    readonly claimRef?: { readonly name: string; readonly uid?: string };
    readonly nodeAffinity?: { readonly required?: NodeSelector };
    readonly [other: string]: unknown;
  };
  readonly status?: { readonly phase?: "Pending" | "Available" | "Bound" | "Released" };
}

export interface ProvisionedClass extends Stored {
  readonly provisioner: string;
  readonly reclaimPolicy?: string;
  readonly volumeBindingMode?: string;
}

const defaultClass = "storageclass.kubernetes.io/is-default-class";

/** The scheduler writes here where the first consumer of a claim will run. */
export const selectedNode = "volume.kubernetes.io/selected-node";

export function isBound(claim: Claim): boolean {
  return claim.status?.phase === "Bound" && Boolean(claim.spec.volumeName);
}

/** The class that a claim names, or the default one; an empty name means none. */
export function classOf({ spec }: Claim, classes: readonly ProvisionedClass[]): ProvisionedClass | undefined {
  const { storageClassName } = spec;
  if (storageClassName !== undefined) return classes.find(({ metadata }) => metadata.name === storageClassName);
  const isDefault = ({ metadata }: ProvisionedClass) => metadata.annotations?.[defaultClass] === "true";
  return classes.filter(isDefault).sort(byAge).at(-1);
}

export function waitsForConsumer(storageClass: ProvisionedClass | undefined): boolean {
  return storageClass?.volumeBindingMode === "WaitForFirstConsumer";
}
