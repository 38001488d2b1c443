/**
 * What is free in the cluster: a snapshot says it of one moment, and a room follows what is taken and given back since.
 * Which GPUs are taken by whom is not known: each taking is counted against every kind that it may have hit, and what is
 * left of a kind is what is left in the worst case.
 */
import { describeGpu, type Gpu, type GpuDemand, gpuAttribute, gpuSatisfies } from "../../../market/gpu-attributes.ts";
import { invariant } from "../../../runtime/invariant.ts";

/** Kinds of gpus on one node: a set of them is bits of a number, and no machine has more slots. */
const nodeCardKinds = 30;

export interface GpuCount {
  readonly card: Gpu;
  readonly count: bigint;
}

/** A set of kinds, as bits by their place in the list. */
export type Kinds = number;

interface NodeCards {
  readonly kinds: readonly { readonly card: Gpu; readonly count: number }[];
  /** How many were taken that are of one of these kinds. */
  readonly takings: Map<Kinds, number>;
}

/** What there is, and how many of them are taken, of unknown kinds. */
function nodeCards(counts: readonly GpuCount[], unknown: bigint): NodeCards {
  const kinds = counts.slice(0, nodeCardKinds).map(({ card, count }) => ({ card, count: Number(count) }));
  const takings = new Map<Kinds, number>();
  if (unknown > 0n && kinds.length > 0) takings.set(allOf({ kinds }), Number(unknown));
  return { kinds, takings };
}

/** Those that will do. */
export function kindsFor({ kinds }: NodeCards, demand: GpuDemand): Kinds {
  return kinds.reduce((set, { card }, at) => (gpuSatisfies(card, demand) ? set | (1 << at) : set), 0);
}

/** How many are there, taken or not. */
export function countOf({ kinds }: NodeCards, set: Kinds): number {
  return kinds.reduce((sum, { count }, at) => ((set >> at) & 1 ? sum + count : sum), 0);
}

/** How many more of these can be promised without breaking what was promised before. */
export function gpusLeft(cards: NodeCards, wanted: Kinds): number {
  if (wanted === 0) return 0;
  let least = leftOf(cards, wanted);
  for (const taken of cards.takings.keys()) {
    if ((taken & wanted) === 0 || taken === wanted) continue;
    const left = leftOf(cards, taken);
    if (left < least) least = left;
  }
  return Math.max(least, 0);
}

/** A negative count gives back. */
export function takeGpus({ takings }: NodeCards, set: Kinds, count: number): void {
  const taken = (takings.get(set) ?? 0) + count;
  if (taken === 0) takings.delete(set);
  else takings.set(set, taken);
}

/** So many of those whose kind was unknown are of these kinds. */
function recogniseCards(cards: NodeCards, set: Kinds, count: number): void {
  const known = Math.min(count, cards.takings.get(allOf(cards)) ?? 0);
  if (set === 0 || known <= 0) return;
  takeGpus(cards, allOf(cards), -known);
  takeGpus(cards, set, known);
}

function allOf({ kinds }: Pick<NodeCards, "kinds">): Kinds {
  return (1 << kinds.length) - 1;
}

function leftOf(cards: NodeCards, set: Kinds): number {
  let left = countOf(cards, set);
  for (const [taken, count] of cards.takings) if ((taken & set) !== 0) left -= count;
  return left;
}

/** What one snapshot has for sale. */
export interface ClusterRoom {
  /** Only those that are offered. */
  readonly nodes: readonly NodeRoom[];
  /** Free bytes of each storage class; undefined where it has no end. */
  readonly classes: ReadonlyMap<string, bigint | undefined>;
  /** The class that volumes of the class "default" get, where that is known. */
  readonly defaultClass?: string | undefined;
}

/** What is free of one node. Below zero where it is overbooked: that much has to go before anything fits again. */
export interface NodeRoom {
  readonly name: string;
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
  readonly gpus: bigint;
  /** Those that are for sale by name, taken or not, without those that are known to be taken. */
  readonly gpuCounts: readonly GpuCount[];
  /** How many of the cards are taken, held back or gone, and nobody knows which; see `unknownGpus`. */
  readonly unknownGpus: bigint;
  /** How many more volumes can be attached; undefined where nobody limits it. */
  readonly volumes: bigint | undefined;
  /** The classes whose volumes it can mount. */
  readonly storageClasses: readonly string[];
}

/** What a node runs out of, in the order of its amounts. */
export const nodeResources = ["cpu", "memory", "storage-ephemeral", "gpu", "volumes"] as const;
export type NodeAmounts = readonly bigint[];
export const gpuAt = nodeResources.indexOf("gpu");
export const volumesAt = nodeResources.indexOf("volumes");

/** More than anybody can ask for. */
export const endless = 2n ** 100n;
const mostExact = BigInt(Number.MAX_SAFE_INTEGER);

/** What one replica takes. */
export interface ReplicaDemand {
  /** In the order of `nodeResources`. */
  readonly amounts: NodeAmounts;
  /** Bytes by storage class. */
  readonly classes: ReadonlyMap<string, bigint>;
}

/** What one replica has on its node, for as long as it is promised. */
export interface ReplicaClaim extends ReplicaDemand {
  readonly node: string;
  readonly cards: GpuDemand | undefined;
}

export interface RoomNode {
  readonly name: string;
  /** Its place among all, by name. */
  readonly at: number;
  /** In the order of `nodeResources`. */
  readonly free: bigint[];
  readonly cards: NodeCards;
  readonly classes: ReadonlySet<string>;
}

/** By resource, then by the place of the node: columns of plain numbers take a twentieth of the time of bigints. */
type Spare = readonly Float64Array[];

export interface Room {
  /** By name. */
  readonly nodes: readonly RoomNode[];
  readonly classes: ReadonlyMap<string, bigint>;
  /** The class that volumes of this one take room of: another one for "default". */
  classOf(name: string): string;
  /** What is free, for the search to reckon with: a column for each resource, in which each node has its place. */
  readonly spare: Spare;
  /** By class, and by the place of the node: 1 where it can mount it. */
  readonly mounts: ReadonlyMap<string, Float64Array>;
  /** Every kind of card that there is, once. */
  readonly cards: readonly Gpu[];
  node(name: string): RoomNode | undefined;
  /** By the place of the node: which of its kinds of cards will do. */
  kindsFor(demand: GpuDemand): Uint32Array;
  /** Those with gpus last, so that nobody who needs none is in the way; then by what is free, the least first. Places by name. */
  tightest(): Uint32Array;
  /** Without a look at whether it fits: what is promised is promised, also when a newer picture has less. */
  take(claim: ReplicaClaim): void;
  /** Exactly what was taken from this very room. */
  giveBack(claim: ReplicaClaim): void;
  /** The snapshot counts this claim already: of the GPUs that it counts as taken, these are of a known kind. */
  recognise(claim: ReplicaClaim): void;
}

export function openRoom(picture: ClusterRoom): Room {
  const nodes = picture.nodes.toSorted((left, right) => (left.name < right.name ? -1 : 1)).map(stateOf);
  const byName = new Map(nodes.map((node) => [node.name, node]));
  invariant(byName.size === nodes.length, "two nodes have one name");
  const classes = new Map(Array.from(picture.classes, ([name, bytes]) => [name, bytes ?? endless]));
  const { defaultClass = "default" } = picture;
  const classOf = (name: string) => (name === "default" ? defaultClass : name);
  // No volume gets a class that is only named so.
  if (defaultClass !== "default") classes.delete("default");
  const cards = new Map(picture.nodes.flatMap((node) => node.gpuCounts.map(({ card }) => [describeGpu(card), card])));
  const spare = nodeResources.map((_, at) => Float64Array.from(nodes, ({ free }) => spareOf(free[at] ?? 0n)));
  const mountable = new Set(picture.nodes.flatMap(({ storageClasses }) => storageClasses));
  const mounts = new Map(
    Array.from(mountable, (name) => [name, Float64Array.from(nodes, (node) => Number(node.classes.has(name)))]),
  );
  const compare = byTightness(nodes, spare);
  const kinds = new Map<string, Uint32Array>();
  const tight = Uint32Array.from(nodes.keys());
  let isSorted = false;
  const change = (claim: ReplicaClaim, sign: 1n | -1n) => {
    const node = byName.get(claim.node);
    // A node that is no longer in the picture has nothing to take from, and got nothing taken.
    if (node) takeFrom(node, spare, claim, sign);
    isSorted = false;
    for (const [asked, bytes] of claim.classes) {
      const name = classOf(asked);
      const left = classes.get(name);
      if (left !== undefined) classes.set(name, left - sign * bytes);
    }
  };
  return {
    nodes,
    classes,
    spare,
    mounts,
    cards: [...cards.values()],
    tightest() {
      // Little has changed since the last time, which makes sorting again cheap.
      if (!isSorted) tight.sort(compare);
      isSorted = true;
      return tight;
    },
    classOf,
    node: (name) => byName.get(name),
    kindsFor(demand) {
      const { key } = gpuAttribute(demand);
      const known = kinds.get(key) ?? Uint32Array.from(nodes, (node) => kindsFor(node.cards, demand));
      kinds.set(key, known);
      return known;
    },
    take: (claim) => change(claim, 1n),
    giveBack: (claim) => change(claim, -1n),
    recognise({ node, cards, amounts }) {
      const state = byName.get(node);
      if (state && cards) recogniseCards(state.cards, kindsFor(state.cards, cards), Number(amounts[gpuAt] ?? 0n));
    },
  };
}

/** How many cards are not free, of which it is not known which: the list may be longer or shorter than what can be given. */
export function unknownCards(listed: bigint, allocatable: bigint, free: bigint): bigint {
  return (listed > allocatable ? listed : allocatable) - free;
}

function takeFrom(node: RoomNode, spare: Spare, { amounts, cards }: ReplicaClaim, sign: 1n | -1n): void {
  for (let at = 0; at < amounts.length; at += 1) {
    const left = (node.free[at] ?? 0n) - sign * (amounts[at] ?? 0n);
    node.free[at] = left;
    const column = spare[at];
    if (column) column[node.at] = spareOf(left);
  }
  if (cards) takeGpus(node.cards, kindsFor(node.cards, cards), Number(sign * (amounts[gpuAt] ?? 0n)));
}

/** What is free of a resource on all nodes together. */
export function freeInAll({ nodes }: Pick<Room, "nodes">, at: number): bigint {
  return nodes.reduce((sum, { free: { [at]: free = 0n } }) => (free > 0n ? sum + free : sum), 0n);
}

function byTightness(
  nodes: readonly RoomNode[],
  [cpu, memory, , gpus]: Spare,
): (left: number, right: number) => number {
  const hasGpus = Uint8Array.from(nodes, ({ cards }) => Math.min(cards.kinds.length, 1));
  const difference = (column: ArrayLike<number> | undefined, left: number, right: number) =>
    (column?.[left] ?? 0) - (column?.[right] ?? 0);
  return (left, right) =>
    difference(hasGpus, left, right) ||
    difference(gpus, left, right) ||
    difference(cpu, left, right) ||
    difference(memory, left, right) ||
    left - right;
}

/** A number that is exact: of what is more than nine peta, nine peta are offered, and less than nothing is less than nothing. */
function spareOf(free: bigint): number {
  if (free < 0n) return -1;
  return free > mostExact ? Number.MAX_SAFE_INTEGER : Number(free);
}

/** What a search takes for an amount that is asked for: more than any spare where it is more than a number can say. */
export function askedOf(amount: bigint): number {
  return amount > mostExact ? Number.POSITIVE_INFINITY : Number(amount);
}

function stateOf(node: NodeRoom, at: number): RoomNode {
  const { name, cpuMilli, memoryBytes, ephemeralBytes, gpus, volumes = endless } = node;
  return {
    name,
    at,
    free: [cpuMilli, memoryBytes, ephemeralBytes, gpus, volumes],
    cards: nodeCards(node.gpuCounts, node.unknownGpus),
    classes: new Set(node.storageClasses),
  };
}
