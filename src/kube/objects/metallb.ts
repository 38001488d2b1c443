/** MetalLB's annotations on Services, and its address pools. */
import { type AddressRange, type IpAddress, isWithin, mergedRanges, readAddressRange } from "../../market/ip-range.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { conditionHolds, fieldsOf, listOf, recordsOf, textOf } from "../json-fields.ts";
import type { KubeObject } from "../kube.ts";
import type { Labels } from "./lease-labels.ts";

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

/** The address that a Service requests; empty for any. */
export function requestedAddress({ metadata, ...object }: KubeObject): string {
  return (
    metalLbWord(metadata.annotations, "loadBalancerIPs") || (textOf(fieldsOf(object["spec"])["loadBalancerIP"]) ?? "")
  );
}

export function assignedAddresses(service: KubeObject): string[] {
  const { ingress } = fieldsOf(fieldsOf(service["status"])["loadBalancer"]);
  return recordsOf(ingress).flatMap(({ ip }) => textOf(ip) || []);
}

export interface MetalLbPool {
  readonly name: string;
  /** In order of use. */
  readonly ranges: readonly AddressRange[];
  /** Used for Services that name no pool. */
  readonly autoAssign: boolean;
  /** IPv4 addresses ending in .0 and .255 are not used. */
  readonly avoidsBuggy: boolean;
  /** For some namespaces or Services only. */
  readonly isRestricted: boolean;
  /** For namespaces by name only, which lease namespaces cannot be. */
  readonly isForNamed: boolean;
}

/** Invalid ranges are left out: MetalLB rejects such a pool. */
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

/** Number of addresses of a family. */
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
