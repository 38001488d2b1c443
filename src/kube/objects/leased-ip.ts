/** ProviderLeasedIP resources: ports of leases on addresses of their own, read by the IP operator. */
import { createHash } from "node:crypto";
import type { Address } from "../../market/address.ts";
import type { LeaseId } from "../../market/ids.ts";
import { base32Hex, leaseNamespace } from "../../market/lease-namespace.ts";
import type { ManifestService } from "../../market/manifest.ts";
import { fieldsOf, recordsOf, textOf } from "../json-fields.ts";
import { kinds } from "../kinds.ts";
import type { KubeObject } from "../kube.ts";
import { idLabels, leaseOfLabels, memberLabels, serviceLabel } from "./lease-labels.ts";
import type { DesiredObject } from "./lease-workload.ts";
import { writeLeaseId } from "./manifest-resource.ts";
import { assignedAddresses, metalLbWord } from "./metallb.ts";
import { leaseIn } from "./read-manifest-resource.ts";

export interface IpDeclaration {
  readonly lease: LeaseId;
  readonly service: string;
  /** Of the container. */
  readonly port: number;
  readonly externalPort: number;
  readonly protocol: "TCP" | "UDP";
  /** Ports with the same key are on the same address. */
  readonly sharingKey: string;
}

/** The second of the two labels by which operators select managed objects. */
const alsoManaged = { "akash.network/managed": "true" };
/** Longer names would make invalid object names, so they are hashed. */
const longestEndpoint = 63;
const hashedBytes = 15;

/** Endpoint names are per owner. */
export function sharingKey(owner: Address, endpoint: string): string {
  return `${owner}-ip-${endpointKey(endpoint)}`;
}

/** The endpoint's name where it can be part of an object name, otherwise its hash. */
export function endpointKey(endpoint: string): string {
  const isPlain = /^[a-z\d-]+$/.test(endpoint) && endpoint.length <= longestEndpoint;
  return isPlain ? endpoint : base32Hex(createHash("sha256").update(endpoint).digest().subarray(0, hashedBytes));
}

/** A Service that the IP operator made for a port. */
export interface LeasedService {
  readonly sharingKey: string;
  readonly service: string;
  /** Of the container. */
  readonly port: number;
  readonly externalPort: number;
  readonly protocol: string;
  /** Undefined while it has none. */
  readonly address: string | undefined;
}

export function readLeasedService(object: KubeObject): LeasedService | undefined {
  const sharingKey = metalLbWord(object.metadata.annotations, "allow-shared-ip");
  if (sharingKey === "" || object.metadata.labels?.["akash.network/service-target"] === undefined) return undefined;
  const { ports, selector } = fieldsOf(object["spec"]);
  const [{ port, targetPort, protocol } = {}] = recordsOf(ports);
  const [address] = assignedAddresses(object);
  return {
    sharingKey,
    service: textOf(fieldsOf(selector)[serviceLabel]) ?? "",
    port: Number(targetPort ?? port),
    externalPort: Number(port),
    protocol: textOf(protocol) ?? "TCP",
    address,
  };
}

export function leasedIpName({
  sharingKey,
  protocol,
  externalPort,
}: Pick<IpDeclaration, "sharingKey" | "protocol" | "externalPort">): string {
  return `${sharingKey}-${protocol}-${externalPort}`.toLowerCase();
}

export function leasedIp(
  declaration: IpDeclaration,
  { manifestNamespace }: { readonly manifestNamespace: string },
): DesiredObject {
  const { lease, service, port, externalPort, protocol, sharingKey } = declaration;
  return {
    kind: kinds.providerLeasedIp,
    object: {
      metadata: {
        name: leasedIpName(declaration),
        namespace: manifestNamespace,
        labels: {
          ...idLabels(lease),
          ...alsoManaged,
          "service-name": service,
          "external-port": `${externalPort}`,
          proto: protocol,
        },
      },
      spec: {
        lease_id: writeLeaseId(lease),
        service_name: service,
        port,
        external_port: externalPort,
        sharing_key: sharingKey,
        protocol,
      },
    },
  };
}

/** In snake or camel case; without a provider, the reader's. Undefined without an owner or port. */
export function readLeasedIp({ metadata, ...object }: KubeObject, ours?: Address): IpDeclaration | undefined {
  const spec = fieldsOf(object["spec"]);
  const lease = leaseOfLabels(metadata.labels) ?? leaseIn(spec["lease_id"] ?? spec["leaseID"], ours);
  const externalPort = Number(spec["external_port"] ?? spec["externalPort"] ?? spec["port"]);
  if (!lease || !Number.isInteger(externalPort)) return undefined;
  return {
    lease,
    service: textOf(spec["service_name"] ?? spec["serviceName"]) ?? "",
    port: Number(spec["port"] ?? externalPort),
    externalPort,
    protocol: textOf(spec["protocol"])?.toUpperCase() === "UDP" ? "UDP" : "TCP",
    sharingKey: textOf(spec["sharing_key"] ?? spec["sharingKey"]) ?? lease.owner,
  };
}

/** The ConfigMap of leased addresses. Pods read it as environment variables, so a changed address does not restart them. */
const addressesName = "akash-addresses";

interface AddressVariable {
  readonly name: string;
  readonly valueFrom: {
    readonly configMapKeyRef: { readonly name: string; readonly key: string; readonly optional: true };
  };
}

/** AKASH_IP_<ENDPOINT> for each endpoint of the service; of equal variable names, the first. */
export function addressVariables({ expose }: Pick<ManifestService, "expose">): AddressVariable[] {
  const variables = new Map<string, AddressVariable>();
  for (const { global, ip } of expose) {
    if (!global || ip === "") continue;
    const variable = `AKASH_IP_${ip.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
    if (variables.has(variable)) continue;
    // Optional, or a pod would wait for an address that may never come.
    variables.set(variable, {
      name: variable,
      valueFrom: { configMapKeyRef: { name: addressesName, key: endpointKey(ip), optional: true } },
    });
  }
  return [...variables.values()];
}

/** Known addresses by endpoint. */
export function leaseAddresses(lease: LeaseId, addresses: ReadonlyMap<string, string>): DesiredObject {
  const data = Object.fromEntries([...addresses].map(([endpoint, address]) => [endpointKey(endpoint), address]));
  return {
    kind: kinds.configMap,
    object: { metadata: { name: addressesName, namespace: leaseNamespace(lease), labels: memberLabels(lease) }, data },
  };
}
