/** Matches a provider's attributes and hardware with a group's requirements. */
import type { Attribute, AuditedProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { GroupSpec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import type { ResourceOffer } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { Panic } from "../../errors.ts";
import { readValue } from "../deployment/group-spec.ts";

type Attributes = readonly Attribute[];

/** Attributes that an auditor must have signed count only as that auditor signed them. */
export function requirementsMatch(group: GroupSpec, own: Attributes, signed: readonly AuditedProvider[]): boolean {
  const required = group.requirements?.attributes ?? [];
  const { allOf = [], anyOf = [] } = group.requirements?.signedBy ?? {};
  if (allOf.length === 0 && anyOf.length === 0) return isSubset(required, own);
  const hasSigned = (auditor: string) =>
    signed.some((entry) => entry.auditor === auditor && isSubset(required, entry.attributes));
  return allOf.every(hasSigned) && (anyOf.length === 0 || anyOf.some(hasSigned));
}

/** Volumes and GPUs with attributes need a capability of the provider that has them. */
export function capabilitiesMatch({ resources }: GroupSpec, own: Attributes): boolean {
  const volumeKinds = storageCapabilities(own);
  const gpus = gpuCapabilities(own);
  return resources.every(({ resource }) => {
    const volumes = resource?.storage.filter(({ attributes }) => attributes.length > 0) ?? [];
    if (!volumes.every(({ attributes }) => volumeKinds.some((kind) => isSubset(attributes, kind)))) return false;
    const { gpu } = resource ?? {};
    if (!gpu || gpu.attributes.length === 0 || readValue(gpu.units) === 0n) return true;
    return gpu.attributes.some((wanted) => gpus.some((has) => satisfies(has, wanted)));
  });
}

/** Every offered unit must be requested, with the same count. An empty offer matches. */
export function offerMatches({ resources }: GroupSpec, offers: readonly ResourceOffer[]): boolean {
  const offered = new Set<number>();
  return offers.every(({ resources: offer, count }) => {
    const id = offer?.id ?? 0;
    const requested = resources.find(({ resource }) => resource?.id === id);
    if (!requested) return false;
    if (offered.has(id)) throw new Panic(`resource ${id} is offered twice`);
    offered.add(id);
    return requested.count === count;
  });
}

/** "capabilities/storage/1/class" is the class of the provider's first kind of volume. */
function storageCapabilities(own: Attributes): Attributes[] {
  const kinds = new Map<string, Attribute[]>();
  for (const { key, value } of own) {
    const [root, what = "", kind = "", name, ...more] = key.split("/");
    if (root !== "capabilities" || !what.startsWith("storage") || name === undefined || more.length > 0) continue;
    kinds.set(kind, [...(kinds.get(kind) ?? []), { key: name, value }]);
  }
  return [...kinds.values()];
}

/** "capabilities/gpu/vendor/nvidia/model/a100" is matched as "vendor/nvidia/model/a100". */
function gpuCapabilities(own: Attributes): Attributes {
  return own.flatMap(({ key, value }) => {
    const [root, what = "", ...rest] = key.split("/");
    return root === "capabilities" && what.startsWith("gpu") && rest.length >= 2
      ? [{ key: rest.join("/"), value }]
      : [];
  });
}

function isSubset(required: Attributes, given: Attributes): boolean {
  return required.every((wanted) => given.some((has) => satisfies(has, wanted)));
}

function satisfies(has: Attribute, wanted: Attribute): boolean {
  return wanted.value === has.value && keyPattern(wanted.key).test(has.key);
}

/** A key may be a pattern as for file names: "*" and "?" stand for anything but a slash. */
function keyPattern(key: string): RegExp {
  const text = key
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", "[^/]*")
    .replaceAll("?", "[^/]");
  return new RegExp(`^${text}$`);
}
