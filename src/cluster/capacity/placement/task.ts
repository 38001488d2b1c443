/** What has to be placed: what each unit takes, and the nodes on which one of its replicas could go. */

import { volumeKind } from "../../../market/attributes.ts";
import type { Fits } from "../../../market/fit.ts";
import { committed, diskBytesOf, type Overcommit } from "../../../market/fit.ts";
import { type GpuDemand, modelsFor, readGpuDemands } from "../../../market/gpu-attributes.ts";
import type { ResourceUnit, UnitResources } from "../../../market/group-spec.ts";
import { addTo } from "../../../market/group-totals.ts";
import {
  askedOf,
  countOf,
  gpuAt,
  gpusLeft,
  kindsFor,
  type NodeAmounts,
  type ReplicaClaim,
  type ReplicaDemand,
  type Room,
  type RoomNode,
  takeGpus,
} from "./room.ts";

export interface UnitDemand extends ReplicaDemand {
  readonly id: number;
  readonly count: bigint;
  /** Any of these will do; empty where it asks for no gpu. */
  readonly cards: readonly GpuDemand[];
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
    const cards = unit.gpu.count > 0n ? readGpuDemands(unit.gpu.attributes) : [];
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
export function claimsOf(
  { replicas, offer }: Pick<Fits, "replicas" | "offer">,
  overcommit: Overcommit,
): ReplicaClaim[] {
  const byUnit = new Map(offer.map((unit) => [unit.id, claimOf(unit, overcommit)]));
  return replicas.flatMap(({ unit, node }) => {
    const claim = byUnit.get(unit);
    return claim ? [{ ...claim, node }] : [];
  });
}

function claimOf(unit: UnitResources, overcommit: Overcommit): Omit<ReplicaClaim, "node"> | undefined {
  const demand = replicaDemand(unit, overcommit);
  if (typeof demand === "string") return undefined;
  const cards = unit.gpu.count > 0n ? readGpuDemands(unit.gpu.attributes) : [];
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

/** A room with a bound on the work of one decision, in steps, so that the same group always gets the same answer. */
export interface Search extends Room {
  /** Throws SearchLimit when no steps are left. */
  spend(steps: number): void;
}

/** 50 ms at 11 to 28 ns per step on 2 cores; twenty services on 10,000 nearly full nodes spend a quarter. */
export const searchSteps = 2_500_000;

export class SearchLimit extends Error {
  override readonly name = "SearchLimit";
}

export function openSearch(room: Room, most: number): Search {
  let spent = 0;
  return {
    ...room,
    spend(steps) {
      spent += steps;
      if (spent > most) throw new SearchLimit("search limit reached");
    },
  };
}

/** In steps: GPUs of a node are counted once for each set of kinds that was taken. */
export function cardSteps({ cards: { kinds, takings } }: RoomNode): number {
  return 1 + kinds.length * (1 + takings.size);
}

/** In the order of `nodeResources`, as numbers that can be compared with what a node has to spare. */
export type AskedAmounts = readonly number[];

export interface Task {
  readonly unit: UnitDemand;
  readonly count: number;
  /** What one replica asks for; less of it where the search is asked whether that would help. */
  readonly asked: AskedAmounts;
  /** Each would do for all replicas, were the cluster its own; by name of the model, and one where no gpu is asked for. */
  readonly options: readonly Option[];
}

/** One model for all replicas of a unit. */
export interface Option {
  readonly cards: GpuDemand | undefined;
  /** The nodes on which at least one replica fits, by their places, the tightest first. */
  readonly places: readonly number[];
}

/** So many replicas of a unit on one node. */
export interface Spot {
  readonly task: Task;
  readonly option: Option;
  readonly place: number;
  readonly count: number;
}

/** Nodes that could ever take a replica, by what they are rather than by what is free of them. */
export function isSuited(node: RoomNode, unit: UnitDemand, cards: GpuDemand | undefined): boolean {
  for (const name of unit.classes.keys()) if (!node.classes.has(name)) return false;
  return cards === undefined || countOf(node.cards, kindsFor(node.cards, cards)) >= (unit.amounts[gpuAt] ?? 0n);
}

/** The models of real cards that a unit could get; one that is undefined where it asks for no gpu. */
export function modelsOf({ cards }: UnitDemand, room: Search): (GpuDemand | undefined)[] {
  room.spend(1 + room.cards.length * (cards.length + room.cards.length));
  return cards.length > 0 ? modelsFor(cards, room.cards) : [undefined];
}

export function taskOf(unit: UnitDemand, room: Search, amounts: NodeAmounts = unit.amounts): Task {
  const asked = amounts.map(askedOf);
  const count = Number(unit.count);
  const roomy = roomyPlaces(room, unit, asked);
  const options = modelsOf(unit, room).flatMap((cards) => {
    const places = cards ? placesWithCards(room, roomy, unit, asked, cards) : roomy;
    let missing = count;
    for (const place of places) {
      missing -= missing > 1 ? howMany(room, place, asked, cards, missing) : 1;
      if (missing <= 0) return [{ cards, places }];
    }
    return [];
  });
  return { unit, count, asked, options };
}

/** Places with enough of everything but cards. Columns are gone through quickly, and nodes looked at one by one are not. */
function roomyPlaces(room: Search, { classes }: UnitDemand, asked: AskedAmounts): number[] {
  room.spend(room.nodes.length);
  const isShort = new Uint8Array(room.nodes.length);
  for (const [at, amount] of asked.entries()) if (amount > 0) markShort(isShort, room.spare[at], amount);
  for (const name of classes.keys()) markShort(isShort, room.mounts.get(name), 1);
  const places: number[] = [];
  const tightest = room.tightest();
  for (let rank = 0; rank < tightest.length; rank += 1) {
    const place = tightest[rank] ?? 0;
    if (isShort[place] === 0) places.push(place);
  }
  return places;
}

function markShort(isShort: Uint8Array, column: Float64Array | undefined, amount: number): void {
  if (!column) isShort.fill(1);
  else for (let place = 0; place < column.length; place += 1) if ((column[place] ?? 0) < amount) isShort[place] = 1;
}

/** Few nodes have any of a model, and most are passed over without a look at them. */
function placesWithCards(
  room: Search,
  roomy: number[],
  unit: UnitDemand,
  asked: AskedAmounts,
  cards: GpuDemand,
): number[] {
  const kinds = room.kindsFor(cards);
  room.spend(roomy.length / 4);
  return roomy.filter((place) => kinds[place] !== 0 && hasCards(room, place, unit, asked, cards));
}

function hasCards(room: Search, place: number, unit: UnitDemand, asked: AskedAmounts, cards: GpuDemand): boolean {
  const node = room.nodes[place];
  if (!node) return false;
  room.spend(2 * cardSteps(node));
  if (!isSuited(node, unit, cards)) return false;
  const gpus = gpusOf(asked);
  return gpus === 0 || gpusLeft(node.cards, kindsFor(node.cards, cards)) >= gpus;
}

/** How many replicas a node still takes, up to a most. */
export function howMany(
  room: Search,
  place: number,
  asked: AskedAmounts,
  cards: GpuDemand | undefined,
  most: number,
): number {
  room.spend(1);
  let count = most;
  for (let at = 0; at < asked.length; at += 1) {
    const amount = asked[at] ?? 0;
    if (amount === 0) continue;
    const there = room.spare[at]?.[place] ?? 0;
    if (there < amount) return 0;
    if (there < amount * count) count = Math.floor(there / amount);
  }
  const [gpus, node] = [gpusOf(asked), room.nodes[place]];
  if (!cards || !node || gpus === 0) return count;
  room.spend(cardSteps(node));
  return Math.min(count, Math.floor(gpusLeft(node.cards, kindsFor(node.cards, cards)) / gpus));
}

/** Takes it from the node; minus one gives it back. */
export function occupy(room: Room, { task: { asked }, option: { cards }, place, count }: Spot, sign: 1 | -1): void {
  const times = count * sign;
  for (const [at, column] of room.spare.entries()) column[place] = (column[place] ?? 0) - (asked[at] ?? 0) * times;
  const [gpus, node] = [gpusOf(asked), room.nodes[place]];
  if (cards && node && gpus > 0) takeGpus(node.cards, kindsFor(node.cards, cards), gpus * times);
}

export function gpusOf(asked: AskedAmounts): number {
  return asked[gpuAt] ?? 0;
}
