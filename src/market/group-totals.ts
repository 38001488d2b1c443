/** Totals of a group, with every replica of its units. */

import type { DecCoin } from "./coin.ts";
import { addDecimals, decimalOf, mulDecimals, zero } from "./decimal.ts";
import type { GroupSpec, UnitResources, Volume } from "./group-spec.ts";

/** So many replicas of a unit. */
export interface CountedUnit extends UnitResources {
  readonly count: number;
}

/** Of a volume that goes with its pod. */
export const ephemeralClass = "ephemeral";
/** Of a volume that is memory. */
export const ramClass = "ram";

export function totalOf(units: readonly CountedUnit[], amount: (unit: CountedUnit) => bigint): bigint {
  return units.reduce((sum, unit) => sum + amount(unit) * BigInt(unit.count), 0n);
}

export function storageClassOf({ attributes }: Pick<Volume, "attributes">): string {
  return attributes.find(({ key }) => key === "class")?.value || ephemeralClass;
}

/** Bytes by class. */
export function storageOf(units: readonly CountedUnit[]): Map<string, bigint> {
  const bytes = new Map<string, bigint>();
  for (const { storage, count } of units) {
    for (const volume of storage) {
      const name = storageClassOf(volume);
      addTo(bytes, name, volume.bytes * BigInt(count));
    }
  }
  return bytes;
}

/** What these units sell, by resource: "cpu" in thousandths, "gpu h100" in pieces, "storage-beta3" in bytes, "ips". */
export function soldWith(units: readonly CountedUnit[]): Map<string, bigint> {
  const sold = new Map([
    ["cpu", totalOf(units, ({ cpu }) => cpu.milli)],
    ["memory", totalOf(units, ({ memory }) => memory.bytes)],
    ["gpu", totalOf(units, ({ gpu }) => gpu.count)],
    ["ips", BigInt(leasedAddressesOf(units))],
  ]);
  for (const [name, bytes] of storageOf(units)) sold.set(`storage-${name}`, bytes);
  for (const { gpu, count } of units) {
    const models = new Set(gpu.attributes.flatMap(({ key }) => key.split("/")[3] ?? []));
    for (const model of models) addTo(sold, `gpu ${model}`, gpu.count * BigInt(count));
  }
  return sold;
}

export function addTo(totals: Map<string, bigint>, resource: string, amount: bigint): void {
  totals.set(resource, (totals.get(resource) ?? 0n) + amount);
}

/** Addresses are shared by name within a deployment, however many endpoints and replicas use one. */
export function leasedAddressesOf(units: readonly Pick<UnitResources, "endpoints">[]): number {
  const leased = units.flatMap(({ endpoints }) => endpoints.filter(({ kind }) => kind === "leased-ip"));
  return new Set(leased.map(({ sequenceNumber }) => sequenceNumber)).size;
}

/** The most that a tenant pays per block for a whole group. All units of a valid one have the same denomination. */
export function mostFor({ units }: GroupSpec): DecCoin {
  const prices = units.map(({ price, count }) => mulDecimals(price.amount, decimalOf(BigInt(count))));
  return { denom: units[0]?.price.denom ?? "", amount: prices.reduce(addDecimals, zero) };
}
