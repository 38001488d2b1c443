/** MetalLB's words on Services, and its pools of addresses as it reads them. */
import { type AddressRange, type IpAddress, isWithin, mergedRanges, readAddressRange } from "../../market/ip-range.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { conditionHolds, fieldsOf, listOf, recordsOf, textOf } from "../json-fields.ts";
import type { KubeObject } from "../kube.ts";
import type { Labels } from "./lease-labels.ts";

/** Where MetalLB and its pools are. */
export const metalLbNamespace = "metallb-system";

/** As the Go provider's IP operator writes it. */
export const sharingAnnotation = "metallb.universe.tf/allow-shared-ip";
/** Written by MetalLB. */
export const allocatedAnnotation = "metallb.io/ip-allocated-from-pool";

type Word = "allow-shared-ip" | "address-pool" | "loadBalancerIPs";

export function metalLbWord(annotations: Labels | undefined, word: Word): string {
  return annotations?.[`metallb.io/${word}`] ?? annotations?.[`metallb.universe.tf/${word}`] ?? "";
}

/** Under both prefixes: MetalLB before 0.14.9 reads only the older one, later versions warn of it. */
export function metalLbAnnotations(word: Word, value: string): Labels {
  return { [`metallb.io/${word}`]: value, [`metallb.universe.tf/${word}`]: value };
}

/** The address that a Service asks for; empty where any will do. */
export function requestedAddress({ metadata, ...object }: KubeObject): string {
  return (
    metalLbWord(metadata.annotations, "loadBalancerIPs") || (textOf(fieldsOf(object["spec"])["loadBalancerIP"]) ?? "")
  );
}

/** Those that a Service has. */
export function assignedAddresses(service: KubeObject): string[] {
  const { ingress } = fieldsOf(fieldsOf(service["status"])["loadBalancer"]);
  return recordsOf(ingress).flatMap(({ ip }) => textOf(ip) || []);
}

export interface MetalLbPool {
  readonly name: string;
  /** In the order in which they are gone through. */
  readonly ranges: readonly AddressRange[];
  /** Gives addresses to Services that name no pool. */
  readonly autoAssign: boolean;
  /** Of IPv4, those that end in .0 and .255 are not used. */
  readonly avoidsBuggy: boolean;
  /** Only for some namespaces or Services. */
  readonly isRestricted: boolean;
  /** Only for namespaces by name: those of leases come and go. */
  readonly isForNamed: boolean;
}

/** What is no range is left out: MetalLB takes no pool that has one. */
export function readPool({ metadata: { name }, ...object }: KubeObject): MetalLbPool {
  const spec = fieldsOf(object["spec"]);
  const { namespaces, namespaceSelectors } = fieldsOf(spec["serviceAllocation"]);
  return {
    name,
    ranges: listOf(spec["addresses"]).flatMap(readIfRange),
    autoAssign: spec["autoAssign"] !== false,
    avoidsBuggy: spec["avoidBuggyIPs"] === true,
    isRestricted: spec["serviceAllocation"] !== undefined,
    isForNamed: listOf(namespaces).length > 0 && listOf(namespaceSelectors).length === 0,
  };
}

/** By the labels of MetalLB's manifests and of its Helm chart. */
export function isReadyController({ metadata: { labels = {}, deletionTimestamp }, ...pod }: KubeObject): boolean {
  const isController = ["component", "app.kubernetes.io/component"].some((label) => labels[label] === "controller");
  if (!isController || deletionTimestamp !== undefined) return false;
  return conditionHolds(fieldsOf(pod["status"])["conditions"], "Ready");
}

function readIfRange(value: unknown): AddressRange[] {
  try {
    return [readAddressRange(textOf(value) ?? "")];
  } catch (thrown) {
    if (thrown instanceof ProviderError) return [];
    throw thrown;
  }
}

export function poolHas({ ranges, avoidsBuggy }: Pick<MetalLbPool, "ranges" | "avoidsBuggy">, address: IpAddress) {
  return !(avoidsBuggy && isBuggy(address)) && ranges.some((range) => isWithin(address, range));
}

export function isBuggy({ family, value }: IpAddress): boolean {
  return family === 4 && [0n, 255n].includes(value & 255n);
}

/** How many addresses a pool has of a family. */
export function poolSize({ ranges, avoidsBuggy }: Pick<MetalLbPool, "ranges" | "avoidsBuggy">, family: 4 | 6): bigint {
  const ofFamily = mergedRanges(ranges.filter((range) => range.family === family));
  const buggy = family === 4 && avoidsBuggy ? buggyIn : () => 0n;
  return ofFamily.reduce((sum, range) => sum + range.last - range.first + 1n - buggy(range), 0n);
}

function buggyIn({ first, last }: AddressRange): bigint {
  const zeros = last / 256n - (first + 255n) / 256n + 1n;
  const ends = (last + 1n) / 256n - first / 256n;
  return zeros + ends;
}
