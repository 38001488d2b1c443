/** The Service by which MetalLB gives a port of a lease an address: as we want it, and as it is. */
import { createHash } from "node:crypto";
import { fieldsOf, recordsOf, textOf } from "../../kube/json-fields.ts";
import type { KubeObject, ObjectAt } from "../../kube/kube.ts";
import { idLabels, leaseOfLabels, serviceLabel } from "../../kube/objects/lease-labels.ts";
import { givenAddresses, metalLbAnnotations, metalLbWord, requestedAddress } from "../../kube/objects/metallb.ts";
import { type OwnedFields, ownedFields } from "../../kube/owned-fields.ts";
import type { Address } from "../../market/address.ts";
import { readIpAddress } from "../../market/address-range.ts";
import type { LeaseId } from "../../market/ids.ts";
import { base32Hex } from "../../market/lease-namespace.ts";
import { changedAt, type LeasedPort } from "./leased-port.ts";

/** The label by which the network's operator knows its Services; ours has it on pools too. */
export const targetLabels = { "akash.network/service-target": "metal-lb" } as const;

/** Any Service of the cluster, as far as it matters to leased addresses. */
export interface Balancer {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | undefined;
  readonly createdAt: string;
  readonly deleting: boolean;
  /** Of its cluster IP. */
  readonly family: 4 | 6 | undefined;
  /** Those that it has. */
  readonly addresses: readonly string[];
  /** Written by us, whatever somebody made of it since. */
  readonly isMade: boolean;
  /** The lease has a service of this name itself: its provider writes it too. */
  readonly isTenants: boolean;
  /** Of those that an IP operator made for a lease of ours. */
  readonly ours: OwnFacts | undefined;
}

interface OwnFacts {
  readonly key: string;
  readonly lease: LeaseId;
  readonly service: string;
  readonly port: number;
  readonly externalPort: number;
  readonly protocol: string;
  /** The address that it asks for; empty where any will do. */
  readonly pin: string;
  /** The pool that it names; empty where it names none. */
  readonly pool: string;
  readonly fields: OwnedFields;
  /** By the API server's clock. */
  readonly changedAtMs: number;
}

export type OwnBalancer = Balancer & { readonly ours: OwnFacts };

export function readBalancer(object: KubeObject, provider: Address, fieldManager: string): Balancer {
  const {
    namespace = "",
    name,
    uid,
    creationTimestamp = "",
    deletionTimestamp,
    managedFields = [],
    labels,
  } = object.metadata;
  const { type, clusterIP } = fieldsOf(object["spec"]);
  const isBalancer = type === "LoadBalancer";
  return {
    namespace,
    name,
    uid,
    createdAt: creationTimestamp,
    deleting: deletionTimestamp !== undefined,
    family: readIpAddress(textOf(clusterIP) ?? "")?.family,
    addresses: isBalancer ? givenAddresses(object) : [],
    isMade: managedFields.some(({ manager }) => manager === fieldManager),
    isTenants: labels?.[serviceLabel] !== undefined,
    ours: isBalancer ? readOwn(object, provider, fieldManager) : undefined,
  };
}

function readOwn(object: KubeObject, provider: Address, fieldManager: string): OwnFacts | undefined {
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
    pin: requestedAddress(object),
    pool: metalLbWord(annotations, "address-pool"),
    fields: ownedFields(object, fieldManager),
    changedAtMs: changedAt(object),
  };
}

export function isForPort({ namespace, ours }: Balancer, port: LeasedPort): boolean {
  const isSame = ours?.protocol === port.protocol && ours.externalPort === port.externalPort;
  return isSame && namespace === port.namespace && ours.service === port.service;
}

/** As the network's operator calls it. */
export function plainName({
  service,
  externalPort,
  protocol,
}: Pick<LeasedPort, "service" | "externalPort" | "protocol">): string {
  return `${service}-ip-${externalPort}-${protocol}`.toLowerCase();
}

const longestName = 63;

/**
 * What it may be called, the first that is nobody else's: the network's name if Kubernetes lets a Service have one so long, and
 * then others without end, as tenants can know them too and call services of theirs so.
 */
export function* namesFor(port: LeasedPort): Generator<string> {
  const plain = plainName(port);
  if (plain.length <= longestName) yield plain;
  for (let turn = 0; ; turn++) yield otherName(port, turn);
}

export function otherName({ service, externalPort, protocol, sharingKey }: LeasedPort, turn = 0): string {
  const salt = turn === 0 ? "" : `/${turn}`;
  const digest = createHash("sha256").update(`${sharingKey}/${service}${salt}`).digest().subarray(0, 10);
  return `ip-${externalPort}-${protocol}-${base32Hex(digest)}`.toLowerCase();
}

interface Wanted {
  readonly port: LeasedPort;
  readonly name: string;
  readonly pin: string | undefined;
  /** The pool that must be named; without, MetalLB takes one by itself. */
  readonly pool: string | undefined;
}

export function desiredBalancer({ port, name, pin, pool }: Wanted): KubeObject {
  const { lease, namespace, service, port: targetPort, externalPort, protocol, sharingKey } = port;
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

export function placeOf({ namespace = "", name }: ObjectAt): string {
  return `${namespace}/${name}`;
}
