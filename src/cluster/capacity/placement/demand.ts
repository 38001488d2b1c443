/** What the replicas of a group take of a node and of the cluster, in the amounts that are really set aside. */
import type { Fits } from "../../../market/fit.ts";
import { type CardDemand, readCardDemands } from "../../../market/gpu-attributes.ts";
import type { ResourceUnit, UnitResources } from "../../../market/group-spec.ts";
import { addTo } from "../../../market/group-totals.ts";
import { committed, diskBytesOf, type Overcommit } from "../../../market/overcommit.ts";
import { volumeKind } from "../../../market/volume-kind.ts";
import type { Amounts, Room } from "./room.ts";

/** What one replica takes. */
interface ReplicaDemand {
  /** In the order of `nodeResources`. */
  readonly amounts: Amounts;
  /** Bytes by storage class. */
  readonly classes: ReadonlyMap<string, bigint>;
}

export interface UnitDemand extends ReplicaDemand {
  readonly id: number;
  readonly count: bigint;
  /** Any of these will do; empty where it asks for no gpu. */
  readonly cards: readonly CardDemand[];
}

/** What one replica has on its node, for as long as it is promised. */
export interface Claim extends ReplicaDemand {
  readonly node: string;
  readonly cards: CardDemand | undefined;
}

/** In the order of the units. A sentence says what nobody can give. */
export function demandOf(units: readonly ResourceUnit[], overcommit: Overcommit): UnitDemand[] | Unreadable {
  const demands: UnitDemand[] = [];
  for (const unit of units) {
    if (!Number.isSafeInteger(unit.count) || unit.count < 0) {
      return { unit: unit.id, fault: `asks for ${unit.count} replicas` };
    }
    const demand = replicaDemand(unit, overcommit);
    if (typeof demand === "string") return { unit: unit.id, fault: demand };
    const cards = unit.gpu.count > 0n ? readCardDemands(unit.gpu.attributes) : [];
    if (typeof cards === "string") return { unit: unit.id, fault: `asks for a gpu that nobody can read: ${cards}` };
    if (unit.gpu.count > 0n && cards.length === 0) {
      return { unit: unit.id, fault: "asks for a gpu and does not say of which vendor and model" };
    }
    demands.push({ id: unit.id, count: BigInt(unit.count), cards, ...demand });
  }
  return demands;
}

export interface Unreadable {
  readonly unit: number;
  readonly fault: string;
}

/** The claims of all replicas, in their order: what a reservation takes from a room. */
export function claimsOf({ replicas, offer }: Pick<Fits, "replicas" | "offer">, overcommit: Overcommit): Claim[] {
  const byUnit = new Map(offer.map((unit) => [unit.id, claimOf(unit, overcommit)]));
  return replicas.flatMap(({ unit, node }) => {
    const claim = byUnit.get(unit);
    return claim ? [{ ...claim, node }] : [];
  });
}

function claimOf(unit: UnitResources, overcommit: Overcommit): Omit<Claim, "node"> | undefined {
  const demand = replicaDemand(unit, overcommit);
  if (typeof demand === "string") return undefined;
  const cards = unit.gpu.count > 0n ? readCardDemands(unit.gpu.attributes) : [];
  return { ...demand, cards: typeof cards === "string" ? undefined : cards[0] };
}

function replicaDemand(unit: UnitResources, overcommit: Overcommit) {
  const { cpuPercent, memoryPercent, storagePercent } = overcommit;
  const asked = [unit.cpu.milli, unit.memory.bytes, unit.gpu.count, ...unit.storage.map(({ bytes }) => bytes)];
  if (asked.some((amount) => amount < 0n)) return "asks for less than nothing";
  let memoryBytes = unit.memory.bytes;
  let ephemeralBytes = 0n;
  let volumes = 0n;
  const classes = new Map<string, bigint>();
  for (const volume of unit.storage) {
    const { persistent, storageClass } = volumeKind(volume);
    if (!persistent && storageClass === "ram") memoryBytes += volume.bytes;
    else if (!persistent) ephemeralBytes += volume.bytes;
    else if (storageClass === undefined) return `has a persistent volume ${volume.name} that names no storage class`;
    else if (storageClass === "ram") return `has a persistent volume ${volume.name} in memory, which keeps nothing`;
    else {
      addTo(classes, storageClass, volume.bytes);
      volumes += 1n;
    }
  }
  const amounts = [
    committed(unit.cpu.milli, cpuPercent),
    committed(memoryBytes, memoryPercent),
    committed(diskBytesOf(ephemeralBytes, overcommit), storagePercent),
    unit.gpu.count,
    volumes,
  ];
  return { amounts, classes };
}

/** Persistent volumes of all replicas together, in bytes by the class that they get. */
export function volumesOf(
  units: readonly Pick<UnitDemand, "classes" | "count">[],
  { classOf }: Pick<Room, "classOf">,
): ReadonlyMap<string, bigint> {
  const volumes = new Map<string, bigint>();
  for (const { classes, count } of units) {
    for (const [name, bytes] of classes) addTo(volumes, classOf(name), bytes * count);
  }
  return volumes;
}
