/** ProviderHost resources: host names of leases, read by the hostname operator. */
import { createHash } from "node:crypto";
import type { LeaseId } from "../../market/ids.ts";
import { base32Hex } from "../../market/lease-namespace.ts";
import { fieldsOf, textOf } from "../json-fields.ts";
import { kinds } from "../kinds.ts";
import type { KubeObject } from "../kube.ts";
import { idLabels, leaseOfLabels } from "./lease-labels.ts";
import type { DesiredObject } from "./lease-workload.ts";
import { leaseIn } from "./read-manifest-resource.ts";

export interface HostDeclaration {
  readonly lease: LeaseId;
  /** "web.example.com" or "*.example.com" */
  readonly host: string;
  readonly service: string;
  readonly externalPort: number;
}

const longestName = 253;
const plainHost = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** A sha256 in base32hex. */
const hashedName = /^hashed-[0-9a-v]{52}$/;

/** The host itself, or its hash where it is no object name (a wildcard) or looks like a hash. */
export function providerHostName(host: string): string {
  if (host.length <= longestName && plainHost.test(host) && !hashedName.test(host)) return host;
  return `hashed-${base32Hex(createHash("sha256").update(host).digest())}`;
}

export function providerHost(
  { lease, host, service, externalPort }: HostDeclaration,
  { manifestNamespace }: { readonly manifestNamespace: string },
): DesiredObject {
  const { owner, dseq, gseq, oseq, provider } = lease;
  // A number in this resource, where a larger one would lose digits; the labels have it in any case.
  const exactDseq = dseq <= BigInt(Number.MAX_SAFE_INTEGER) ? { dseq: Number(dseq) } : {};
  return {
    kind: kinds.providerHost,
    object: {
      metadata: { name: providerHostName(host), namespace: manifestNamespace, labels: idLabels(lease) },
      spec: {
        hostname: host,
        owner,
        provider,
        ...exactDseq,
        gseq,
        oseq,
        service_name: service,
        external_port: externalPort,
      },
    },
  };
}

/** Undefined without a lease or host. */
export function readProviderHost({ metadata, ...object }: KubeObject): HostDeclaration | undefined {
  const spec = fieldsOf(object["spec"]);
  const lease = leaseOfLabels(metadata.labels) ?? leaseIn(spec);
  const host = textOf(spec["hostname"]);
  if (!lease || !host) return undefined;
  return { lease, host, service: textOf(spec["service_name"]) ?? "", externalPort: Number(spec["external_port"] ?? 0) };
}
