/** Network policies of a lease: pods reach each other, DNS, and the internet without the cluster's networks. */
import type { LeaseId } from "../../market/ids.ts";
import { compareRanges, type IpRange, rangeText, readRange } from "../../market/ip-range.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { isIngress, type ManifestExpose, type ManifestGroup } from "../../market/manifest.ts";
import { kinds } from "../kinds.ts";
import { hasPermissions } from "./credentials.ts";
import { memberLabels, namespaceLabel, serviceLabel } from "./lease-labels.ts";
import type { DesiredObject } from "./lease-workload.ts";

export interface PolicySettings {
  /** Without it there are no policies, and existing ones are deleted. */
  readonly enabled: boolean;
  readonly admitted: readonly AdmittedController[];
  readonly facts: NetworkFacts;
}

/** Ingress controllers: pods by their name, all pods of a namespace, or an address range. */
export type AdmittedController =
  | { readonly pods: string }
  | { readonly namespace: string }
  | { readonly range: string };

/** Observed facts of the cluster's network. */
export interface NetworkFacts {
  /** Ranges of the cluster outside of `closedRanges`, sorted. */
  readonly ranges: readonly string[];
  readonly apiServer: readonly ApiServerAddress[];
}

export interface ApiServerAddress {
  readonly ip: string;
  readonly port: number;
}

/** Private ranges. Nodes, pods, Services and the metadata of most clouds are in one of them. */
export const closedRanges: readonly string[] = [
  "10.0.0.0/8",
  "100.64.0.0/10", // carriers' networks; some clouds have nodes, pods and metadata there
  "168.63.129.16/32", // Azure's platform
  "169.254.0.0/16", // link-local: the metadata of most clouds
  "172.16.0.0/12",
  "192.0.0.0/24", // Oracle's metadata
  "192.168.0.0/16",
  "fc00::/7",
  "fe80::/10",
];

export function networkPolicies(
  { lease, group }: { readonly lease: LeaseId; readonly group: ManifestGroup },
  { enabled, admitted, facts }: PolicySettings,
): DesiredObject[] {
  if (!enabled) return [];
  const policy = (name: string, spec: object): DesiredObject => ({
    kind: kinds.networkPolicy,
    object: {
      metadata: { name: `akash-${name}`, namespace: leaseNamespace(lease), labels: memberLabels(lease) },
      spec,
    },
  });
  return [
    policy("deployment-restrictions", restrictions(lease, admitted, facts.ranges)),
    ...group.services.flatMap((service) => {
      const { name, expose } = service;
      const ports = portsOf(expose.filter((each) => each.global && !isIngress(each)));
      const ipPorts = portsOf(expose.filter((each) => each.global && each.ip !== ""));
      const usesApi = hasPermissions(service) && facts.apiServer.length > 0;
      return [
        ...(ports.length > 0 ? [policy(`${name}-np`, openPorts(name, { ports }))] : []),
        ...(ipPorts.length > 0 ? [policy(`${name}-ip`, openPorts(name, { from: anywhere, ports: ipPorts }))] : []),
        ...(usesApi ? [policy(`apiserver-${name}`, openApiServer(name, facts.apiServer))] : []),
      ];
    }),
  ];
}

const anywhere = ["0.0.0.0/0", "::/0"].map((cidr) => ({ ipBlock: { cidr } }));
/** In any namespace, since pods of tenants never have this label. */
const podsNamed = (name: string) => ({
  namespaceSelector: {},
  podSelector: { matchLabels: { "app.kubernetes.io/name": name } },
});
const namespaceNamed = (name: string) => ({
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } },
});

const dns = {
  ports: ["UDP", "TCP"].map((protocol) => ({ port: 53, protocol })),
  to: [
    { ...namespaceNamed("kube-system"), podSelector: { matchLabels: { "k8s-app": "kube-dns" } } },
    // A cache on each node (NodeLocal DNSCache) has a link-local address; clouds answer there too, within the /24.
    { ipBlock: { cidr: "169.254.0.0/16", except: ["169.254.169.0/24"] } },
  ],
};

function restrictions(lease: LeaseId, admitted: readonly AdmittedController[], ranges: readonly string[]) {
  const itself = [{ namespaceSelector: { matchLabels: { [namespaceLabel]: leaseNamespace(lease) } } }];
  return {
    podSelector: {},
    policyTypes: ["Ingress", "Egress"],
    ingress: [{ from: itself }, ...admitted.map((each) => ({ from: [peerOf(each)] }))],
    egress: [{ to: itself }, dns, ...internet([...closedRanges, ...ranges].map(readRange).flatMap(withTranslated))],
  };
}

function peerOf(admitted: AdmittedController) {
  if ("range" in admitted) return { ipBlock: { cidr: admitted.range } };
  return "namespace" in admitted ? namespaceNamed(admitted.namespace) : podsNamed(admitted.pods);
}

/** NAT64 (RFC 6052): IPv4 addresses inside IPv6. */
const translated = readRange("64:ff9b::/96");

/** With the NAT64 range of an IPv4 range. */
function withTranslated(range: IpRange): IpRange[] {
  if (range.family === 6) return [range];
  return [range, { family: 6, first: translated.first | range.first, prefix: translated.prefix + range.prefix }];
}

/** No rule where everything is closed: an empty list of blocks would mean everywhere. */
function internet(closed: readonly IpRange[]) {
  const blocks = ([4, 6] as const).flatMap((family) => {
    const ranges = closed.filter((range) => range.family === family).sort(compareRanges);
    // Kubernetes rejects a block whose exceptions cover all of it.
    if (ranges.some(({ prefix }) => prefix === 0)) return [];
    return [{ ipBlock: { cidr: family === 4 ? "0.0.0.0/0" : "::/0", except: ranges.map(rangeText) } }];
  });
  return blocks.length > 0 ? [{ to: blocks }] : [];
}

function openPorts(service: string, rule: object) {
  return { podSelector: podsOf(service), policyTypes: ["Ingress"], ingress: [rule] };
}

function openApiServer(service: string, apiServer: readonly ApiServerAddress[]) {
  const ports = [...new Set(apiServer.map(({ port }) => port))].sort((a, b) => a - b);
  const ips = [...new Set(apiServer.map(({ ip }) => rangeText(readRange(ip))))];
  const rule = {
    ports: ports.map((port) => ({ port, protocol: "TCP" })),
    to: ips.map((cidr) => ({ ipBlock: { cidr } })),
  };
  return { podSelector: podsOf(service), policyTypes: ["Egress"], egress: [rule] };
}

function podsOf(service: string) {
  return { matchLabels: { [serviceLabel]: service } };
}

/** Container ports, each once. */
function portsOf(expose: readonly ManifestExpose[]) {
  const ports = new Map(expose.map(({ port, proto }) => [`${port}/${proto}`, { port, protocol: proto }]));
  return [...ports.values()];
}
