/** Compares a manifest with its deployment's groups on chain, with the network's messages. */

import { goQuote } from "./go-json.ts";
import type { Attribute, EndpointKind, GroupSpec, ResourceUnit } from "./group-spec.ts";
import {
  isIngress,
  type Manifest,
  type ManifestGroup,
  type ManifestResources,
  type ManifestService,
} from "./manifest.ts";

/** Of a name that is not on chain, and may be as long as a body. */
const shownChars = 512;

/** The first thing that does not match. */
export function mismatchOf(manifest: Manifest, groups: readonly GroupSpec[]): string | undefined {
  if (manifest.length !== groups.length) {
    return `invalid manifest: group count mismatch (${manifest.length} != ${groups.length})`;
  }
  const offers = new Map(groups.map((group) => [group.name, unitsLeft(group)]));
  for (const group of manifest) {
    const left = offers.get(group.name);
    if (!left) return `invalid manifest: unknown deployment group ('${group.name.slice(0, shownChars)}')`;
    const excess = takeGroup(group, left);
    if (excess !== undefined) return crossed(group.name, excess);
  }
  for (const [name, left] of offers) {
    const rest = restOf(left);
    if (rest !== undefined) return crossed(name, rest);
  }
  return undefined;
}

/** What is still to be used of a unit, by its id. */
interface UnitLeft {
  readonly unit: ResourceUnit;
  replicas: number;
  readonly endpoints: Record<UsedKind, number>;
}

type UsedKind = Exclude<EndpointKind, "unknown">;

const endpointWords: readonly (readonly [UsedKind, string])[] = [
  ["shared-http", "HTTP"],
  ["random-port", "PORT"],
  ["leased-ip", "IP"],
];

function unitsLeft({ units }: GroupSpec): ReadonlyMap<number, UnitLeft> {
  return new Map(
    units.map((unit) => {
      const endpoints = { "shared-http": 0, "random-port": 0, "leased-ip": 0 };
      for (const { kind } of unit.endpoints) if (kind !== "unknown") endpoints[kind] += 1;
      return [unit.id, { unit, replicas: unit.count, endpoints }];
    }),
  );
}

function takeGroup({ services }: ManifestGroup, left: ReadonlyMap<number, UnitLeft>): string | undefined {
  for (const service of services) {
    const excess = takeService(service, left.get(service.resources.id));
    if (excess !== undefined) return `service ${goQuote(service.name)}: ${excess}`;
  }
  return undefined;
}

function takeService({ resources, count, expose }: ManifestService, left: UnitLeft | undefined): string | undefined {
  const { id } = resources;
  if (!left) return `not found deployment group resources with ID = ${id}`;
  if (count > left.replicas) {
    return `over-utilized replicas (${count}) > group spec resources count (${left.replicas})`;
  }
  const other = otherResource(resources, left.unit);
  if (other !== undefined) return `${other} resources mismatch for ID ${id}`;
  const take = (kind: UsedKind) => {
    left.endpoints[kind] -= 1;
    return left.endpoints[kind] >= 0;
  };
  for (const one of expose.filter(({ global }) => global)) {
    const [kind, word] = isIngress(one) ? (["shared-http", "HTTP"] as const) : (["random-port", "PORT"] as const);
    if (!take(kind)) return `resource ID ${id}: over-utilized ${word} endpoints`;
    if (one.ip !== "" && !take("leased-ip")) return `resource ID ${id}: over-utilized IP endpoints`;
  }
  left.replicas -= count;
  return undefined;
}

/** The first resource that differs from the chain's; volumes are in the same order. */
function otherResource(given: ManifestResources, { cpu, gpu, memory, storage }: ResourceUnit): string | undefined {
  if (given.cpu.units.val !== `${cpu.milli}` || !sameAttributes(given.cpu, cpu)) return "CPU";
  if (given.gpu.units.val !== `${gpu.count}` || !sameAttributes(given.gpu, gpu)) return "GPU";
  if (given.memory.size.val !== `${memory.bytes}` || !sameAttributes(given.memory, memory)) return "Memory";
  const volumes = given.storage ?? [];
  const isSame = storage.every((volume, index) => {
    const other = volumes[index];
    return other?.name === volume.name && other.size.val === `${volume.bytes}` && sameAttributes(other, volume);
  });
  return isSame && volumes.length === storage.length ? undefined : "Storage";
}

type Attributed = Readonly<{ attributes?: readonly Attribute[] }>;

function sameAttributes({ attributes: left = [] }: Attributed, { attributes: right = [] }: Attributed): boolean {
  const isSame = ({ key, value }: Attribute, index: number) =>
    key === right[index]?.key && value === right[index]?.value;
  return left.length === right.length && left.every(isSame);
}

function restOf(left: ReadonlyMap<number, UnitLeft>): string | undefined {
  for (const [id, { endpoints }] of left) {
    for (const [kind, word] of endpointWords) {
      if (endpoints[kind] > 0) return `resources ID (${id}): under-utilized (${endpoints[kind]}) ${word} endpoints`;
    }
  }
  for (const [id, { replicas }] of left) {
    if (replicas > 0) return `resources ID (${id}): under-utilized (${replicas}) resources`;
  }
  return undefined;
}

function crossed(group: string, reason: string): string {
  return `manifest cross-validation error: group ${goQuote(group)}: ${reason}`;
}
