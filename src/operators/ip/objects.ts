/** Reads ProviderLeasedIPs, Services and MetalLB's objects, and builds the desired ones. */
import { createHash } from "node:crypto";
import { fieldsOf, recordsOf, textOf } from "../../kube/json-fields.ts";
import type { KubeObject, ObjectAt } from "../../kube/kube.ts";
import { idLabels, leaseOfLabels, serviceLabel } from "../../kube/objects/lease-labels.ts";
import { type IpDeclaration, readLeasedIp } from "../../kube/objects/leased-ip.ts";
import {
  assignedAddresses,
  metalLbAnnotations,
  metalLbNamespace,
  metalLbWord,
  readPool,
  requestedAddress,
} from "../../kube/objects/metallb.ts";
import { isAppliedBy, ownedFields } from "../../kube/owned-fields.ts";
import type { Address } from "../../market/address.ts";
import { ipAddressText, readIpAddress } from "../../market/ip-range.ts";
import { base32Hex, leaseNamespace } from "../../market/lease-namespace.ts";
import { parseTime } from "../../runtime/clock.ts";

export interface AddressPort extends IpDeclaration {
  readonly resource: string;
  /** Of the lease, where its Service is. */
  readonly namespace: string;
  readonly changedAtMs: number;
}

/** A ProviderLeasedIP of the cluster: the port it requests, or why that is rejected. */
export interface DeclaredPort {
  readonly resource: string;
  readonly uid: string | undefined;
  /** The key of its loop: the sharing key, or its name where it is rejected; undefined where it is not ours. */
  readonly key: string | undefined;
  readonly port: AddressPort | undefined;
  readonly rejection: string | undefined;
}

/** Of the two labels either will do: the Go provider writes the first alone, and the seeds know the second. */
const managedLabels = ["akash.network", "akash.network/managed"];
const mostPort = 65_535;

export function readDeclaredPort(object: KubeObject, provider: Address): DeclaredPort {
  const { name: resource, uid, labels = {} } = object.metadata;
  const nothing = { resource, uid, key: undefined, port: undefined, rejection: undefined };
  if (!managedLabels.some((label) => labels[label] === "true")) return nothing;
  const read = readLeasedIp(object, provider);
  if (!read) return { ...nothing, key: resource, rejection: "it names no lease or no port" };
  if (read.lease.provider !== provider) return nothing;
  const rejection = rejectionOf(read, fieldsOf(object["spec"])["protocol"]);
  if (rejection !== undefined) return { ...nothing, key: resource, rejection };
  const port = { ...read, resource, namespace: leaseNamespace(read.lease), changedAtMs: changedAt(object) };
  return { ...nothing, key: read.sharingKey, port };
}

function rejectionOf(
  { lease, service, port, externalPort, sharingKey }: IpDeclaration,
  protocol: unknown,
): string | undefined {
  const word = (textOf(protocol) ?? "").toUpperCase();
  // As the network reads it: nothing is TCP.
  if (!["", "TCP", "UDP"].includes(word)) return `unknown service protocol: ${JSON.stringify(protocol)}`;
  for (const number of [port, externalPort]) {
    if (!Number.isInteger(number) || number < 1 || number > mostPort) return `${number} is no port`;
  }
  if (service === "") return "it names no service";
  // MetalLB puts Services with one key on one address: another owner's key would share that owner's address.
  if (sharingKey !== lease.owner && !sharingKey.startsWith(`${lease.owner}-`))
    return `the sharing key ${JSON.stringify(sharingKey)} is not its owner's`;
  return undefined;
}

export function changedAt({ metadata: { managedFields = [], creationTimestamp = "" } }: KubeObject): number {
  const times = [creationTimestamp, ...managedFields.map(({ time = "" }) => time)].map(parseTime);
  return Math.max(0, ...times.filter(Number.isFinite));
}

/** The label by which the network's operator knows its Services; ours has it on pools too. */
const targetLabels = { "akash.network/service-target": "metal-lb" } as const;

/** Any Service of the cluster, as far as it matters to leased addresses. */
export type Balancer = ReturnType<typeof readBalancer>;

export type OwnBalancer = Balancer & { readonly ours: NonNullable<Balancer["ours"]> };

export function readBalancer(object: KubeObject, provider: Address, fieldManager: string) {
  const { namespace = "", name, uid, labels, managedFields = [], ...metadata } = object.metadata;
  const { type, clusterIP } = fieldsOf(object["spec"]);
  const isBalancer = type === "LoadBalancer";
  return {
    namespace,
    name,
    uid,
    createdAt: metadata.creationTimestamp ?? "",
    deleting: metadata.deletionTimestamp !== undefined,
    /** Of its cluster IP. */
    family: readIpAddress(textOf(clusterIP) ?? "")?.family,
    addresses: isBalancer ? assignedAddresses(object) : [],
    /** Written by us, even if changed by others since. */
    isMade: managedFields.some(({ manager }) => manager === fieldManager),
    /** The lease has a service of this name itself: its provider writes it too. */
    isTenants: labels?.[serviceLabel] !== undefined,
    /** Of those that an IP operator made for a lease of ours. */
    ours: isBalancer ? readOwn(object, provider, fieldManager) : undefined,
  };
}

function readOwn(object: KubeObject, provider: Address, fieldManager: string) {
  const { labels = {}, annotations } = object.metadata;
  const lease = leaseOfLabels(labels);
  const key = metalLbWord(annotations, "allow-shared-ip");
  const isTarget = Object.entries(targetLabels).every(([label, value]) => labels[label] === value);
  if (labels["akash.network"] !== "true" || !isTarget || lease?.provider !== provider || key === "") return undefined;
  const { ports, selector } = fieldsOf(object["spec"]);
  const [{ port, targetPort, protocol } = {}] = recordsOf(ports);
  return {
    key,
    lease,
    service: textOf(fieldsOf(selector)[serviceLabel]) ?? "",
    port: Number(targetPort ?? port),
    externalPort: Number(port),
    protocol: textOf(protocol) ?? "TCP",
    /** The address and the pool that it requests; empty where any will do. */
    pin: requestedAddress(object),
    pool: metalLbWord(annotations, "address-pool"),
    fields: ownedFields(object, fieldManager),
    /** By the API server's clock. */
    changedAtMs: changedAt(object),
  };
}

export function isForPort({ namespace, ours }: Balancer, port: AddressPort): boolean {
  const isSame = ours?.protocol === port.protocol && ours.externalPort === port.externalPort;
  return isSame && namespace === port.namespace && ours.service === port.service;
}

/** As the network's operator calls it. */
export function networkName({ service, externalPort, protocol }: AddressPort): string {
  return `${service}-ip-${externalPort}-${protocol}`.toLowerCase();
}

const longestName = 63;

/** Names it may have: the network's if it is short enough, then others without end, as tenants can take any of them. */
export function* namesFor(port: AddressPort): Generator<string> {
  const plain = networkName(port);
  if (plain.length <= longestName) yield plain;
  for (let turn = 0; ; turn++) yield otherName(port, turn);
}

export function otherName({ service, externalPort, protocol, sharingKey }: AddressPort, turn = 0): string {
  const salt = turn === 0 ? "" : `/${turn}`;
  const digest = createHash("sha256").update(`${sharingKey}/${service}${salt}`).digest().subarray(0, 10);
  return `ip-${externalPort}-${protocol}-${base32Hex(digest)}`.toLowerCase();
}

/** Without a pool, MetalLB takes one by itself. */
export function desiredBalancer(name: string, requested: AddressPort, pin?: string, pool?: string): KubeObject {
  const { lease, namespace, service, port: targetPort, externalPort, protocol, sharingKey } = requested;
  return {
    metadata: {
      name,
      namespace,
      labels: { ...idLabels(lease), ...targetLabels },
      annotations: {
        ...metalLbAnnotations("allow-shared-ip", sharingKey),
        ...(pool !== undefined && metalLbAnnotations("address-pool", pool)),
      },
    },
    spec: {
      type: "LoadBalancer",
      // Tenants are reached by the address; the cluster has only 2,768 node ports.
      allocateLoadBalancerNodePorts: false,
      ...(pin !== undefined && { loadBalancerIP: pin }),
      selector: { "akash.network": "true", [serviceLabel]: service },
      ports: [{ name, protocol, port: externalPort, targetPort }],
    },
  };
}

export function pathOf({ namespace = "", name }: ObjectAt): string {
  return `${namespace}/${name}`;
}

/** Longer than a label may be. */
const keyAnnotation = "akash.network/sharing-key";
const providerLabel = "akash.network/lease.id.provider";

export type WatchedPool = ReturnType<typeof readWatchedPool>;
export type WatchedAdvertisement = ReturnType<typeof readWatchedAdvertisement>;

export function readWatchedPool(object: KubeObject, provider: Address, fieldManager: string) {
  const pool = readPool(object);
  const { uid, deletionTimestamp } = object.metadata;
  const [only] = pool.ranges;
  const address = only && ipAddressText({ family: only.family, value: only.first });
  const fields = ownedFields(object, fieldManager);
  /** Undefined where its labels or annotation were removed. */
  const key = ownKey(object, provider, fieldManager);
  const isOurs = address !== undefined && isOwn(object, provider, fieldManager);
  return {
    ...pool,
    deleting: deletionTimestamp !== undefined,
    own: isOurs ? { key, address, uid, fields } : undefined,
  };
}

export function readWatchedAdvertisement(object: KubeObject, provider: Address, fieldManager: string) {
  const { name, uid, deletionTimestamp } = object.metadata;
  const fields = ownedFields(object, fieldManager);
  const key = ownKey(object, provider, fieldManager);
  return { name, uid, deleting: deletionTimestamp !== undefined, key, fields };
}

/**
 * By its labels or its field manager: a pool that lost a label would otherwise overlap with the range as a foreign one.
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

/** After the first ProviderLeasedIP of the key; the pool keeps that name. */
export function poolName(resource: string): string {
  return `akash-ip-${resource}`;
}

export function desiredPool(name: string, key: string, address: string, provider: Address): KubeObject {
  const bits = address.includes(":") ? 128 : 32;
  return {
    metadata: metadataOf(name, key, provider),
    // Only Services that name it get the address.
    spec: { addresses: [`${address}/${bits}`], autoAssign: false },
  };
}

export function desiredAdvertisement(name: string, key: string, provider: Address): KubeObject {
  return { metadata: metadataOf(name, key, provider), spec: { ipAddressPools: [name] } };
}

function metadataOf(name: string, key: string, provider: Address): KubeObject["metadata"] {
  return { name, namespace: metalLbNamespace, labels: ownLabels(provider), annotations: { [keyAnnotation]: key } };
}
