/** What a group asks for in all: every unit as often as it is wanted. */
import type { ResourceUnit, Volume } from "./group-spec.ts";

/** Of a volume that goes with its pod. */
export const ephemeralClass = "ephemeral";
/** Of a volume that is memory. */
export const ramClass = "ram";

export function totalOf(units: readonly ResourceUnit[], amount: (unit: ResourceUnit) => bigint): bigint {
  return units.reduce((sum, unit) => sum + amount(unit) * BigInt(unit.count), 0n);
}

export function storageClassOf({ attributes }: Pick<Volume, "attributes">): string {
  return attributes.find(({ key }) => key === "class")?.value || ephemeralClass;
}

/** Bytes by class. */
export function storageOf(units: readonly ResourceUnit[]): Map<string, bigint> {
  const bytes = new Map<string, bigint>();
  for (const { storage, count } of units) {
    for (const volume of storage) {
      const name = storageClassOf(volume);
      bytes.set(name, (bytes.get(name) ?? 0n) + volume.bytes * BigInt(count));
    }
  }
  return bytes;
}

/** Addresses are shared by name within a deployment, however many endpoints and replicas use one. */
export function leasedAddressesOf(units: readonly Pick<ResourceUnit, "endpoints">[]): number {
  const leased = units.flatMap(({ endpoints }) => endpoints.filter(({ kind }) => kind === "leased-ip"));
  return new Set(leased.map(({ sequenceNumber }) => sequenceNumber)).size;
}
