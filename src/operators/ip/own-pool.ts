/** A pool of one address that we made for one sharing key, and how it is announced; or any other pool of MetalLB's. */
import type { KubeObject } from "../../kube/kube.ts";
import { type MetalLbPool, metalLbNamespace, readPool } from "../../kube/objects/metallb.ts";
import { isAppliedBy, type OwnedFields, ownedFields } from "../../kube/owned-fields.ts";
import type { Address } from "../../market/address.ts";
import { ipAddressText } from "../../market/address-range.ts";
import { targetLabels } from "./balancer.ts";

/** Longer than a label may be. */
const keyAnnotation = "akash.network/sharing-key";
const providerLabel = "akash.network/lease.id.provider";

export interface SeenPool extends MetalLbPool {
  readonly deleting: boolean;
  readonly own: OwnPool | undefined;
}

interface OwnPool {
  /** Undefined where somebody took off what says it. */
  readonly key: string | undefined;
  readonly address: string;
  readonly uid: string | undefined;
  readonly fields: OwnedFields;
}

export interface SeenAdvertisement {
  readonly name: string;
  readonly uid: string | undefined;
  readonly deleting: boolean;
  readonly key: string | undefined;
  readonly fields: OwnedFields;
}

export function readSeenPool(object: KubeObject, provider: Address, fieldManager: string): SeenPool {
  const pool = readPool(object);
  const { uid, deletionTimestamp } = object.metadata;
  const [only] = pool.ranges;
  const address = only && ipAddressText({ family: only.family, value: only.first });
  const fields = ownedFields(object, fieldManager);
  const isOurs = isOwn(object, provider, fieldManager);
  const key = ownKey(object, provider, fieldManager);
  const own = isOurs && address !== undefined ? { key, address, uid, fields } : undefined;
  return { ...pool, deleting: deletionTimestamp !== undefined, own };
}

export function readSeenAdvertisement(object: KubeObject, provider: Address, fieldManager: string): SeenAdvertisement {
  const { name, uid, deletionTimestamp } = object.metadata;
  const fields = ownedFields(object, fieldManager);
  const key = ownKey(object, provider, fieldManager);
  return { name, uid, deleting: deletionTimestamp !== undefined, key, fields };
}

/**
 * By its labels, or by who wrote it: a label that somebody took off makes no stranger's pool of it, whose addresses would
 * overlap with the range and stop everything. One with another provider's name is another's.
 */
function isOwn(object: KubeObject, provider: Address, fieldManager: string): boolean {
  const { labels = {}, annotations = {}, managedFields = [] } = object.metadata;
  if ((labels[providerLabel] ?? provider) !== provider) return false;
  const isLabelled = Object.entries(ownLabels(provider)).every(([label, value]) => labels[label] === value);
  const isMade = managedFields.some((entry) => isAppliedBy(entry, fieldManager));
  return isMade || (isLabelled && annotations[keyAnnotation] !== undefined);
}

/** Without a provider's name it may be that of another provider's operator, which bears the same name as ours. */
function ownKey(object: KubeObject, provider: Address, fieldManager: string): string | undefined {
  const { labels = {}, annotations = {} } = object.metadata;
  const isCertain = labels[providerLabel] === provider && isOwn(object, provider, fieldManager);
  return isCertain ? annotations[keyAnnotation] : undefined;
}

function ownLabels(provider: Address): Readonly<Record<string, string>> {
  return { "akash.network": "true", ...targetLabels, [providerLabel]: provider };
}

interface DesiredPool {
  /** The first ProviderLeasedIP of the key: the pool is named after it, and keeps that name. */
  readonly name: string;
  readonly key: string;
  readonly address: string;
  readonly provider: Address;
}

export function poolName(resource: string): string {
  return `akash-ip-${resource}`;
}

export function desiredPool({ name, key, address, provider }: DesiredPool): KubeObject {
  const bits = address.includes(":") ? 128 : 32;
  return {
    metadata: metadataOf(name, key, provider),
    // Whoever does not name it gets nothing of it.
    spec: { addresses: [`${address}/${bits}`], autoAssign: false },
  };
}

export function desiredAdvertisement({ name, key, provider }: Omit<DesiredPool, "address">): KubeObject {
  return { metadata: metadataOf(name, key, provider), spec: { ipAddressPools: [name] } };
}

function metadataOf(name: string, key: string, provider: Address): KubeObject["metadata"] {
  return { name, namespace: metalLbNamespace, labels: ownLabels(provider), annotations: { [keyAnnotation]: key } };
}
