/** Which addresses are a node's: its own and those of its pods, without those that are closed to tenants anyway. */
import { fieldsOf, listOf, recordsOf, textOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { closedRanges } from "../../../kube/objects/network-policies.ts";
import { type IpRange, readRange, smallestList } from "../../../market/ip-range.ts";
import { ProviderError } from "../../../runtime/errors.ts";

export const closed = closedRanges.map(readRange);

export function nodeRanges(node: KubeObject): readonly IpRange[] {
  const addresses = recordsOf(fieldsOf(node["status"])["addresses"]).map(({ address }) => address);
  const { podCIDR, podCIDRs } = fieldsOf(node["spec"]);
  return smallestList([...addresses, podCIDR, ...listOf(podCIDRs)].flatMap(readIfRange), closed);
}

/** Host names are among the addresses of a node. */
export function readIfRange(value: unknown): IpRange[] {
  try {
    return [readRange(textOf(value) ?? "")];
  } catch (thrown) {
    if (thrown instanceof ProviderError) return [];
    throw thrown;
  }
}
