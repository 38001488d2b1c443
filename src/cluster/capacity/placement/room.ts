/**
 * Free capacity of the cluster: one snapshot, and what is taken and released since. Which GPUs of a node are taken is not known:
 * each taking counts against every kind that it may have hit, and what is left of a kind is what is left in the worst case.
 */
import { describeGpu, type Gpu, type GpuDemand, gpuAttribute, gpuSatisfies } from "../../../market/gpu-attributes.ts";
import { invariant } from "../../../runtime/invariant.ts";

/** Kinds of GPUs on one node: a set of them is bits of a number, and no machine has more slots. */
const nodeGpuKinds = 30;

export interface GpuCount {
  readonly gpu: Gpu;
  readonly count: bigint;
}

/** A set of kinds, as bits by their index in the list. */
export type Kinds = number;

interface NodeGpus {
  readonly kinds: readonly { readonly gpu: Gpu; readonly count: number }[];
  /** How many were taken that are of one of these kinds. */
  readonly takings: Map<Kinds, number>;
}

function nodeGpus({ gpuCounts, unknownGpus }: NodeRoom): NodeGpus {
  const kinds = gpuCounts.slice(0, nodeGpuKinds).map(({ gpu, count }) => ({ gpu, count: Number(count) }));
  const takings = new Map<Kinds, number>();
  if (unknownGpus > 0n && kinds.length > 0) takings.set(allOf({ kinds }), Number(unknownGpus));
  return { kinds, takings };
}

export function kindsFor({ kinds }: NodeGpus, demand: GpuDemand): Kinds {
  return kinds.reduce((set, { gpu }, at) => (gpuSatisfies(gpu, demand) ? set | (1 << at) : set), 0);
}

/** How many are there, taken or not. */
export function countOf({ kinds }: NodeGpus, set: Kinds): number {
  return kinds.reduce((sum, { count }, at) => ((set >> at) & 1 ? sum + count : sum), 0);
}

/** How many more of these can be promised without breaking what was promised before. */
export function gpusLeft(gpus: NodeGpus, wanted: Kinds): number {
  if (wanted === 0) return 0;
  let least = leftOf(gpus, wanted);
  for (const taken of gpus.takings.keys()) {
    if ((taken & wanted) === 0 || taken === wanted) continue;
    const left = leftOf(gpus, taken);
    if (left < least) least = left;
  }
  return Math.max(least, 0);
}

/** A negative count releases. */
export function takeGpus({ takings }: NodeGpus, set: Kinds, count: number): void {
  const taken = (takings.get(set) ?? 0) + count;
  if (taken === 0) takings.delete(set);
  else takings.set(set, taken);
}

/** So many of those whose kind was unknown are of these kinds. */
function recogniseGpus(gpus: NodeGpus, set: Kinds, count: number): void {
  const known = Math.min(count, gpus.takings.get(allOf(gpus)) ?? 0);
  if (set === 0 || known <= 0) return;
  takeGpus(gpus, allOf(gpus), -known);
  takeGpus(gpus, set, known);
}

function allOf({ kinds }: Pick<NodeGpus, "kinds">): Kinds {
  return (1 << kinds.length) - 1;
}

function leftOf(gpus: NodeGpus, set: Kinds): number {
  let left = countOf(gpus, set);
  for (const [taken, count] of gpus.takings) if ((taken & set) !== 0) left -= count;
  return left;
}

/** What one snapshot has for sale. */
export interface ClusterRoom {
  readonly nodes: readonly NodeRoom[];
  /** Free bytes of each storage class; undefined where it is unlimited. */
  readonly classes: ReadonlyMap<string, bigint | undefined>;
  /** The class that volumes of the class "default" get, where that is known. */
  readonly defaultClass?: string | undefined;
}

/** What is free of one node; below zero where it is overbooked. */
export interface NodeRoom {
  readonly name: string;
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
  readonly gpus: bigint;
  /** GPUs for sale by name, taken or not, without those that are known to be taken. */
  readonly gpuCounts: readonly GpuCount[];
  /** GPUs that are taken, held back or gone, of unknown kind. */
  readonly unknownGpus: bigint;
  /** How many more volumes can be attached; undefined where that is unlimited. */
  readonly volumes: bigint | undefined;
  /** The classes whose volumes it can mount. */
  readonly storageClasses: readonly string[];
}

/** The order of a node's amounts. */
export const nodeResources = ["cpu", "memory", "storage-ephemeral", "gpu", "volumes"] as const;
export type NodeAmounts = readonly bigint[];
export const gpuAt = nodeResources.indexOf("gpu");
export const volumesAt = nodeResources.indexOf("volumes");

/** Stands for unlimited. */
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
  readonly gpus: GpuDemand | undefined;
}

export interface RoomNode {
  readonly name: string;
  /** Its index among all, by name. */
  readonly at: number;
  /** In the order of `nodeResources`. */
  readonly free: bigint[];
  readonly gpus: NodeGpus;
  readonly classes: ReadonlySet<string>;
}

/** By resource, then by the index of the node: columns of plain numbers take a twentieth of the time of bigints. */
type Spare = readonly Float64Array[];

export type Room = ReturnType<typeof openRoom>;

export function openRoom(snapshot: ClusterRoom) {
  const nodes: readonly RoomNode[] = snapshot.nodes
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
    .map(roomNode);
  const byName = new Map(nodes.map((node) => [node.name, node]));
  invariant(byName.size === nodes.length, "two nodes have one name");
  const classes = new Map(Array.from(snapshot.classes, ([name, bytes]) => [name, bytes ?? endless]));
  const { defaultClass = "default" } = snapshot;
  // No volume gets a class that is only named "default".
  if (defaultClass !== "default") classes.delete("default");
  const kinds = new Map(snapshot.nodes.flatMap(({ gpuCounts }) => gpuCounts.map(({ gpu }) => [describeGpu(gpu), gpu])));
  const spare: Spare = nodeResources.map((_, at) => Float64Array.from(nodes, ({ free }) => spareOf(free[at] ?? 0n)));
  const mountable = new Set(snapshot.nodes.flatMap(({ storageClasses }) => storageClasses));
  const mountColumn = (name: string) => Float64Array.from(nodes, (node) => Number(node.classes.has(name)));
  const compare = byTightness(nodes, spare);
  const kindsByDemand = new Map<string, Uint32Array>();
  const tight = Uint32Array.from(nodes.keys());
  let isSorted = false;

  const classOf = (name: string) => (name === "default" ? defaultClass : name);
  function change(claim: ReplicaClaim, sign: 1n | -1n): void {
    // Undefined for a node that is no longer in the snapshot.
    const node = byName.get(claim.node);
    if (node) takeFrom(node, spare, claim, sign);
    isSorted = false;
    for (const [requested, bytes] of claim.classes) {
      const name = classOf(requested);
      const left = classes.get(name);
      if (left !== undefined) classes.set(name, left - sign * bytes);
    }
  }
  return {
    /** By name. */
    nodes,
    /** Free bytes. */
    classes: classes as ReadonlyMap<string, bigint>,
    /** The class whose room volumes of this one take: another one for "default". */
    classOf,
    /** What is free: a column for each resource, with each node at its index. */
    spare,
    /** By class, and by the index of the node: 1 where it can mount it. */
    mounts: new Map(Array.from(mountable, (name) => [name, mountColumn(name)])) as ReadonlyMap<string, Float64Array>,
    /** Every kind of GPU that there is, once. */
    gpus: [...kinds.values()] as readonly Gpu[],
    node: (name: string): RoomNode | undefined => byName.get(name),
    /** By the index of the node: which of its kinds of GPUs satisfy the demand. */
    kindsFor(demand: GpuDemand): Uint32Array {
      const { key } = gpuAttribute(demand);
      const known = kindsByDemand.get(key) ?? Uint32Array.from(nodes, (node) => kindsFor(node.gpus, demand));
      kindsByDemand.set(key, known);
      return known;
    },
    /** Indexes of the nodes: those with GPUs last, so that they stay free for groups that need them; then by what is free, the least first. */
    tightest(): Uint32Array {
      // Sorting again is cheap: little has changed.
      if (!isSorted) tight.sort(compare);
      isSorted = true;
      return tight;
    },
    /** Also where it does not fit: a promise holds when a newer snapshot has less. */
    take: (claim: ReplicaClaim) => change(claim, 1n),
    /** Exactly what was taken from this very room. */
    giveBack: (claim: ReplicaClaim) => change(claim, -1n),
    /** The snapshot counts this claim already: of the GPUs that it counts as taken, these are of a known kind. */
    recognise({ node, gpus, amounts }: ReplicaClaim): void {
      const state = byName.get(node);
      if (state && gpus) recogniseGpus(state.gpus, kindsFor(state.gpus, gpus), Number(amounts[gpuAt] ?? 0n));
    },
  };
}

/** How many GPUs are not free, of unknown kind: the list may be longer or shorter than what is allocatable. */
export function unknownGpus(listed: bigint, allocatable: bigint, free: bigint): bigint {
  return (listed > allocatable ? listed : allocatable) - free;
}

function takeFrom(node: RoomNode, spare: Spare, { amounts, gpus }: ReplicaClaim, sign: 1n | -1n): void {
  for (let at = 0; at < amounts.length; at += 1) {
    const left = (node.free[at] ?? 0n) - sign * (amounts[at] ?? 0n);
    node.free[at] = left;
    const column = spare[at];
    if (column) column[node.at] = spareOf(left);
  }
  if (gpus) takeGpus(node.gpus, kindsFor(node.gpus, gpus), Number(sign * (amounts[gpuAt] ?? 0n)));
}

/** What is free of a resource on all nodes together. */
export function freeInAll({ nodes }: Pick<Room, "nodes">, at: number): bigint {
  return nodes.reduce((sum, { free: { [at]: free = 0n } }) => (free > 0n ? sum + free : sum), 0n);
}

function byTightness(nodes: readonly RoomNode[], [cpu, memory, , gpus]: Spare) {
  const hasGpus = Uint8Array.from(nodes, ({ gpus: { kinds } }) => Math.min(kinds.length, 1));
  const columns = [hasGpus, gpus, cpu, memory];
  return (left: number, right: number): number => {
    for (const column of columns) {
      const difference = (column?.[left] ?? 0) - (column?.[right] ?? 0);
      if (difference !== 0) return difference;
    }
    return left - right;
  };
}

/** A safe integer: more than that is cut off, and less than nothing is -1. */
function spareOf(free: bigint): number {
  if (free < 0n) return -1;
  return free > mostExact ? Number.MAX_SAFE_INTEGER : Number(free);
}

/** A requested amount for the search: more than any spare where it is no safe integer. */
export function requestedOf(amount: bigint): number {
  return amount > mostExact ? Number.POSITIVE_INFINITY : Number(amount);
}

function roomNode(node: NodeRoom, at: number): RoomNode {
  const { name, cpuMilli, memoryBytes, ephemeralBytes, gpus, volumes = endless, storageClasses } = node;
  const free = [cpuMilli, memoryBytes, ephemeralBytes, gpus, volumes];
  return { name, at, free, gpus: nodeGpus(node), classes: new Set(storageClasses) };
}
