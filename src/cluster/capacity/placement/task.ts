/** What is to be placed: what each unit takes, and the nodes on which one of its replicas fits. */

import type { Fits } from "../../../market/fit.ts";
import { committed, diskBytesOf, type Overcommit } from "../../../market/fit.ts";
import { type GpuDemand, modelsFor, readGpuDemands } from "../../../market/gpu-attributes.ts";
import { type ResourceUnit, type UnitResources, volumeKind } from "../../../market/group-spec.ts";
import { addTo } from "../../../market/group-totals.ts";
import {
  countOf,
  gpuAt,
  gpusLeft,
  kindsFor,
  type NodeAmounts,
  type ReplicaClaim,
  type ReplicaDemand,
  type Room,
  type RoomNode,
  requestedOf,
  takeGpus,
} from "./room.ts";

export interface UnitDemand extends ReplicaDemand {
  readonly id: number;
  readonly count: bigint;
  /** Any of these is accepted; empty where it requests no GPU. */
  readonly gpus: readonly GpuDemand[];
}

/** A demand that no cluster can satisfy. */
export class InvalidDemand extends Error {
  override readonly name = "InvalidDemand";
}

/** In the order of the units. Throws InvalidDemand. */
export function demandsOf(units: readonly ResourceUnit[], overcommit: Overcommit): UnitDemand[] {
  return units.map((unit) => {
    const { id, count, gpu } = unit;
    const invalid = (reason: string) => new InvalidDemand(`unit ${id} ${reason}`);
    if (!Number.isSafeInteger(count) || count < 0) throw invalid(`requests ${count} replicas`);
    const demand = replicaDemand(unit, overcommit);
    if (typeof demand === "string") throw invalid(demand);
    const gpus = gpu.count > 0n ? readGpuDemands(gpu.attributes) : [];
    if (typeof gpus === "string") throw invalid(`requests a gpu with unreadable attributes: ${gpus}`);
    if (gpu.count > 0n && gpus.length === 0) throw invalid("requests a gpu without its vendor and model");
    return { id, count: BigInt(count), gpus, ...demand };
  });
}

/** The claims of all replicas, in their order: what a reservation takes from a room. */
export function claimsOf(
  { replicas, offer }: Pick<Fits, "replicas" | "offer">,
  overcommit: Overcommit,
): ReplicaClaim[] {
  const byUnit = new Map(
    offer.map((unit) => {
      const demand = replicaDemand(unit, overcommit);
      const gpus = unit.gpu.count > 0n ? readGpuDemands(unit.gpu.attributes) : [];
      const claim = { gpus: typeof gpus === "string" ? undefined : gpus[0] };
      return [unit.id, typeof demand === "string" ? undefined : { ...demand, ...claim }];
    }),
  );
  return replicas.flatMap(({ unit, node }) => {
    const claim = byUnit.get(unit);
    return claim ? [{ ...claim, node }] : [];
  });
}

/** A reason where it is invalid. */
function replicaDemand(unit: UnitResources, overcommit: Overcommit) {
  const { cpuPercent, memoryPercent, storagePercent } = overcommit;
  const requested = [unit.cpu.milli, unit.memory.bytes, unit.gpu.count, ...unit.storage.map(({ bytes }) => bytes)];
  if (requested.some((amount) => amount < 0n)) return "requests a negative amount";
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

/** 50 ms at 11 to 28 ns per step on 2 cores; twenty services on 10,000 nearly full nodes spend a quarter. */
export const searchSteps = 2_500_000;

export class SearchLimit extends Error {
  override readonly name = "SearchLimit";
}

export type Search = ReturnType<typeof openSearch>;

/** A room with a limit on the steps of one search, so that the same group always gets the same answer. */
export function openSearch(room: Room, most: number) {
  let spent = 0;
  return {
    ...room,
    /** Throws SearchLimit when no steps are left. */
    spend(steps: number): void {
      spent += steps;
      if (spent > most) throw new SearchLimit("search limit reached");
    },
  };
}

/** In steps: GPUs of a node are counted once for each set of kinds that was taken. */
export function gpuSteps({ gpus: { kinds, takings } }: RoomNode): number {
  return 1 + kinds.length * (1 + takings.size);
}

/** GPUs of a node that are free for this demand. */
export function freeGpus({ gpus }: RoomNode, demand: GpuDemand): number {
  return gpusLeft(gpus, kindsFor(gpus, demand));
}

/** In the order of `nodeResources`, as numbers that can be compared with what a node has to spare. */
export type RequestedAmounts = readonly number[];

export interface Task {
  readonly unit: UnitDemand;
  readonly count: number;
  /** By one replica; less than the unit's to find out which resource is short. */
  readonly requested: RequestedAmounts;
  /** Each fits all replicas in a cluster of its own; by name of the model, and one where no GPU is requested. */
  readonly options: readonly Option[];
}

/** One model for all replicas of a unit. */
export interface Option {
  readonly gpus: GpuDemand | undefined;
  /** The nodes on which at least one replica fits, by their indexes, the tightest first. */
  readonly places: readonly number[];
}

/** So many replicas of a unit on one node. */
export interface Spot {
  readonly task: Task;
  readonly option: Option;
  readonly place: number;
  readonly count: number;
}

/** Nodes that could ever take a replica, whatever is free of them. */
export function isSuited(node: RoomNode, unit: UnitDemand, gpus: GpuDemand | undefined): boolean {
  if (!unit.classes.keys().every((name) => node.classes.has(name))) return false;
  return gpus === undefined || countOf(node.gpus, kindsFor(node.gpus, gpus)) >= (unit.amounts[gpuAt] ?? 0n);
}

/** The models of existing GPUs that a unit could get; one that is undefined where it requests no GPU. */
export function modelsOf({ gpus }: UnitDemand, room: Search): (GpuDemand | undefined)[] {
  room.spend(1 + room.gpus.length * (gpus.length + room.gpus.length));
  return gpus.length > 0 ? modelsFor(gpus, room.gpus) : [undefined];
}

export function taskOf(unit: UnitDemand, room: Search, amounts: NodeAmounts = unit.amounts): Task {
  const requested = amounts.map(requestedOf);
  const count = Number(unit.count);
  const roomy = roomyPlaces(room, unit, requested);
  const options = modelsOf(unit, room).flatMap((gpus) => {
    const places = gpus ? placesWithGpus(room, roomy, unit, requested, gpus) : roomy;
    let missing = count;
    for (const place of places) {
      missing -= missing > 1 ? howMany(room, place, requested, gpus, missing) : 1;
      if (missing <= 0) return [{ gpus, places }];
    }
    return [];
  });
  return { unit, count, requested, options };
}

/** Nodes with enough of everything but GPUs, by columns: reading the nodes one by one takes longer. */
function roomyPlaces(room: Search, { classes }: UnitDemand, requested: RequestedAmounts): number[] {
  room.spend(room.nodes.length);
  const isShort = new Uint8Array(room.nodes.length);
  for (const [at, amount] of requested.entries()) if (amount > 0) markShort(isShort, room.spare[at], amount);
  for (const name of classes.keys()) markShort(isShort, room.mounts.get(name), 1);
  const places: number[] = [];
  for (const place of room.tightest()) if (isShort[place] === 0) places.push(place);
  return places;
}

function markShort(isShort: Uint8Array, column: Float64Array | undefined, amount: number): void {
  if (!column) isShort.fill(1);
  else for (let place = 0; place < column.length; place += 1) if ((column[place] ?? 0) < amount) isShort[place] = 1;
}

function placesWithGpus(
  room: Search,
  roomy: number[],
  unit: UnitDemand,
  requested: RequestedAmounts,
  demand: GpuDemand,
): number[] {
  // Few nodes have any of a model.
  const kinds = room.kindsFor(demand);
  room.spend(roomy.length / 4);
  const gpus = gpusOf(requested);
  return roomy.filter((place) => {
    const node = room.nodes[place];
    if (kinds[place] === 0 || !node) return false;
    room.spend(2 * gpuSteps(node));
    return isSuited(node, unit, demand) && (gpus === 0 || freeGpus(node, demand) >= gpus);
  });
}

/** How many replicas a node still takes, up to a most. */
export function howMany(
  room: Search,
  place: number,
  requested: RequestedAmounts,
  demand: GpuDemand | undefined,
  most: number,
): number {
  room.spend(1);
  let count = most;
  for (let at = 0; at < requested.length; at += 1) {
    const amount = requested[at] ?? 0;
    if (amount === 0) continue;
    const there = room.spare[at]?.[place] ?? 0;
    if (there < amount) return 0;
    if (there < amount * count) count = Math.floor(there / amount);
  }
  const [gpus, node] = [gpusOf(requested), room.nodes[place]];
  if (!demand || !node || gpus === 0) return count;
  room.spend(gpuSteps(node));
  return Math.min(count, Math.floor(freeGpus(node, demand) / gpus));
}

/** Takes it from the node; minus one releases it. */
export function occupy(room: Room, { task: { requested }, option, place, count }: Spot, sign: 1 | -1): void {
  const times = count * sign;
  for (const [at, column] of room.spare.entries()) column[place] = (column[place] ?? 0) - (requested[at] ?? 0) * times;
  const [gpus, node] = [gpusOf(requested), room.nodes[place]];
  if (option.gpus && node && gpus > 0) takeGpus(node.gpus, kindsFor(node.gpus, option.gpus), gpus * times);
}

export function gpusOf(requested: RequestedAmounts): number {
  return requested[gpuAt] ?? 0;
}
