/** Why a group does not fit: the resources of which more would help, not those that are merely scarce. */
import type { PlacementFailure, Shortage } from "../../../market/fit.ts";
import { describeGpu, type GpuDemand } from "../../../market/gpu-attributes.ts";
import { showResource } from "../../../market/quantity.ts";
import { smallest } from "../../../runtime/bigint.ts";
import {
  countOf,
  gpuAt,
  kindsFor,
  type NodeAmounts,
  nodeResources,
  type Room,
  type RoomNode,
  requestedOf,
} from "./room.ts";
import {
  freeGpus,
  gpuSteps,
  howMany,
  isSuited,
  modelsOf,
  type Search,
  type Task,
  taskOf,
  type UnitDemand,
  volumesOf,
} from "./task.ts";

export function placementFailure(reason: string, shortages: readonly Shortage[] = []): PlacementFailure {
  return { fits: false, reason, shortages };
}

/** Storage classes without enough room, wherever the replicas are placed. */
export function beyondCluster(room: Room, demands: readonly UnitDemand[]): PlacementFailure | undefined {
  const shortages: Shortage[] = [];
  const reasons: string[] = [];
  for (const [name, wanted] of volumesOf(demands, room)) {
    const free = room.classes.get(name);
    const available = free !== undefined && free > 0n ? free : 0n;
    if (wanted <= available) continue;
    const resource = `storage-${name}`;
    const unit = heaviest(demands, (each) => volumesOf([each], room).get(name)).id;
    shortages.push({ unit, resource, wanted, available, where: "cluster", nodes: room.nodes.length });
    const there = free === undefined ? classesThere(room) : `${showResource(resource, available)} is free of it`;
    reasons.push(`${showResource(resource, wanted)} of ${resource} is wanted, ${there}`);
  }
  return reasons.length > 0 ? placementFailure(joined(reasons), shortages) : undefined;
}

function classesThere({ classes }: Room): string {
  const names = [...classes.keys()].sort();
  return names.length > 0 ? `there are only the classes ${joined(names, ", ")}` : "there is no storage class";
}

/** Units that would not fit even if they were alone. */
export function unplaceable(room: Search, tasks: readonly Task[]): PlacementFailure {
  const found = tasks.slice(0, failuresListed).map(({ unit }) => ({ id: unit.id, ...ofUnit(room, unit) }));
  const more = tasks.length > found.length ? `; and so with ${tasks.length - found.length} more units` : "";
  const reasons = found.map(({ id, reason }) => `unit ${id}: ${reason}`).join("; ");
  const shortages = found.flatMap(({ shortages }) => shortages);
  return placementFailure(`${reasons}${more}`, shortages);
}

function ofUnit(room: Search, unit: UnitDemand): PlacementFailure {
  const models = modelsOf(unit, room);
  const suited = room.nodes.filter((node) => {
    room.spend(models.length * gpuSteps(node));
    return models.some((gpus) => isSuited(node, unit, gpus));
  });
  if (suited.length === 0) return nowhereSuited(room, unit);
  const one = { ...unit, count: 1n };
  if (taskOf(one, room).options.length === 0) return tooLarge(room, one, suited);
  return tooMany(room, unit, suited);
}

/** No node mounts the class, or has such GPUs at all. */
function nowhereSuited(room: Search, unit: UnitDemand): PlacementFailure {
  const { id, classes } = unit;
  const nodes = room.nodes.length;
  if (nodes === 0) return placementFailure("no node is offered");
  const unmounted = [...classes.keys()].filter((name) => !room.nodes.some((node) => node.classes.has(name)));
  const gpus = unit.gpus.length > 0 ? gpuShortage(room, unit) : undefined;
  const wanted = `${unit.amounts[gpuAt]} × ${gpuNames(unit)}`;
  const shortages = unmounted.map((name): Shortage => {
    return { unit: id, resource: `nodes with storage-${name}`, wanted: 1n, available: 0n, where: "cluster", nodes };
  });
  const reasons = unmounted.map((name) => `no node can mount volumes of the class ${name}`);
  if (gpus) reasons.push(`no node has ${wanted}; ${existingGpus(room)}`);
  if (reasons.length > 0) return placementFailure(joined(reasons), gpus ? [...shortages, gpus] : shortages);
  const all = [...classes.keys()].map((name) => `volumes of the class ${name}`);
  if (unit.gpus.length > 0) all.push(wanted);
  return placementFailure(`no node has at once ${all.join(" and ")}`, shortages);
}

/** One replica is larger than what any node has left. */
function tooLarge(room: Search, unit: UnitDemand, suited: readonly RoomNode[]): PlacementFailure {
  const short = helpful(unit, (amounts) => taskOf(unit, room, amounts).options.length > 0);
  const shortages = (short.length > 0 ? short : lackedByNearest(room, suited, unit)).map((at) =>
    shortageOf(room, unit, at, suited),
  );
  const nodes = suited.length < room.nodes.length ? `of the ${suited.length} nodes that would do none` : "no node";
  const show = ({ resource, wanted }: Shortage) => `${showResource(resource, wanted)} of ${resource}`;
  const [only] = shortages;
  if (only && shortages.length === 1 && only.nodes === suited.length) {
    const { resource, available, where } = only;
    const most = available > 0n ? `; the most is ${showResource(resource, available)}, on ${where}` : "";
    return placementFailure(`${nodes} has ${show(only)} free${most}`, shortages);
  }
  const counts = shortages.map(({ resource, nodes: lacking }) => `${lacking} short of ${resource}`).join(", ");
  const wanted = shortages.map(show).join(" and ");
  return placementFailure(`${nodes} has ${wanted} free at once: ${counts}`, shortages);
}

/** One replica fits, all of them do not. */
function tooMany(room: Search, unit: UnitDemand, suited: readonly RoomNode[]): PlacementFailure {
  const requested = unit.amounts.map(requestedOf);
  const counts = modelsOf(unit, room).map((gpus) =>
    suited.reduce((sum, node) => sum + howMany(room, node.at, requested, gpus, Number(unit.count)), 0),
  );
  const isMet = (amounts: NodeAmounts) => taskOf(unit, room, amounts).options.length > 0;
  const wanted = nodeResources.flatMap((_, at) => ((unit.amounts[at] ?? 0n) > 0n ? [at] : []));
  const helps = helpful(unit, isMet);
  // More of one alone does not help: then those that are too little even if nothing else were requested.
  const scarce = wanted.filter((at) => !isMet(unit.amounts.map((amount, other) => (other === at ? amount : 0n))));
  const named = helps.length > 0 ? helps : scarce.length > 0 ? scarce : wanted;
  const names = named.map((at) => resourceName(unit, at)).join(helps.length > 0 ? " or " : " and ");
  const shortages = named.map((at) => shortageOf(room, unit, at, suited));
  return placementFailure(
    `${Math.max(...counts)} of its ${unit.count} replicas fit; it takes more ${names}`,
    shortages,
  );
}

/** Each unit would fit, were it alone, but all of them together want more than there is on the nodes that would do. */
export function togetherTooMuch(room: Room, tasks: readonly Task[]): PlacementFailure | undefined {
  const isOpen = new Uint8Array(room.nodes.length);
  for (const { options } of tasks) for (const { places } of options) for (const place of places) isOpen[place] = 1;
  const units = tasks.map(({ unit }) => unit);
  const shortages = nodeResources.flatMap((resource, at): Shortage[] => {
    let spare = 0;
    for (const [node, amount] of room.spare[at]?.entries() ?? []) if (isOpen[node] && amount > 0) spare += amount;
    // Inexact, but enough to see that there is plenty.
    if (tasks.reduce((sum, { requested, count }) => sum + (requested[at] ?? 0) * count, 0) <= spare) return [];
    const wanted = units.reduce((sum, { amounts, count }) => sum + (amounts[at] ?? 0n) * count, 0n);
    const available = room.nodes.reduce((sum, { free: { [at]: free = 0n } }, node) => {
      return isOpen[node] && free > 0n ? sum + free : sum;
    }, 0n);
    const unit = heaviest(units, ({ amounts }) => amounts[at]).id;
    return wanted > available
      ? [{ unit, resource, wanted, available, where: "cluster", nodes: room.nodes.length }]
      : [];
  });
  if (shortages.length === 0) return undefined;
  const open = isOpen.reduce((sum, each) => sum + each, 0);
  const where = open < isOpen.length ? ` on the nodes that would do, ${open} of ${isOpen.length}` : "";
  const reasons = shortages.map(({ resource, wanted, available }) => {
    return `${showResource(resource, wanted)} of ${resource} is wanted, ${showResource(resource, available)} is free${where}`;
  });
  return placementFailure(`each unit fits alone, all together do not: ${joined(reasons)}`, shortages);
}

/** There is enough of everything, but fragmented. A resource is the reason where the search succeeds without it. */
export function inPieces(
  room: Search,
  tasks: readonly Task[],
  canPlace: (tasks: readonly Task[]) => boolean,
): PlacementFailure {
  const shortages = nodeResources.flatMap((name, at) => {
    const { unit } = tasks.reduce((most, task) =>
      (task.requested[at] ?? 0) > (most.requested[at] ?? 0) ? task : most,
    );
    if ((unit.amounts[at] ?? 0n) === 0n) return [];
    const eased = tasks.map((task) => taskOf(task.unit, room, without(task.unit, at)));
    return canPlace(eased) ? [{ ...shortageOf(room, unit, at, room.nodes), resource: name }] : [];
  });
  const names = shortages.map(({ resource }) => resource).join(" or ");
  const why = names ? `what is free of ${names} lies in pieces that are too small` : "no resource is short by itself";
  return placementFailure(`each unit fits alone, all together do not: ${why}`, shortages);
}

/** The resources of which more would do: those without which the demand can be met. */
function helpful(unit: UnitDemand, isMet: (amounts: NodeAmounts) => boolean): number[] {
  return nodeResources.flatMap((_, at) => ((unit.amounts[at] ?? 0n) > 0n && isMet(without(unit, at)) ? [at] : []));
}

function without({ amounts }: UnitDemand, left: number): NodeAmounts {
  return amounts.map((amount, at) => (at === left ? 0n : amount));
}

/** Where no resource alone would help: what those nodes lack that lack the fewest. */
function lackedByNearest(room: Search, nodes: readonly RoomNode[], unit: UnitDemand): number[] {
  const models = modelsOf(unit, room);
  const lacks = nodes.map((node) =>
    nodeResources.flatMap((_, at) => (freeFor(node, models, at) < (unit.amounts[at] ?? 0n) ? [at] : [])),
  );
  const fewest = Math.min(nodeResources.length, ...lacks.map((lack) => lack.length));
  const named = new Set(lacks.filter((lack) => lack.length === fewest).flat());
  return nodeResources.flatMap((_, at) => (named.has(at) ? [at] : []));
}

function heaviest(units: readonly UnitDemand[], amount: (unit: UnitDemand) => bigint | undefined): UnitDemand {
  return units.reduce((most, unit) => ((amount(unit) ?? 0n) > (amount(most) ?? 0n) ? unit : most));
}

/** Models, classes or shortages listed in the message of one placement failure. */
const failuresListed = 5;

type Models = ReturnType<typeof modelsOf>;

/** By one replica, of what the best of these nodes has: free by default. */
function shortageOf(
  room: Search,
  unit: UnitDemand,
  at: number,
  nodes: readonly RoomNode[],
  has: (node: RoomNode, models: Models) => bigint = (node, models) => freeFor(node, models, at),
): Shortage {
  const wanted = unit.amounts[at] ?? 0n;
  const models = modelsOf(unit, room);
  let [available, where, short] = [0n, "cluster", 0];
  for (const node of nodes) {
    room.spend(models.length * gpuSteps(node));
    const amount = has(node, models);
    if (amount > available) [available, where] = [amount, node.name];
    if (amount < wanted) short += 1;
  }
  return { unit: unit.id, resource: resourceName(unit, at), wanted, available, where, nodes: short };
}

/** Of GPUs, taken or not; undefined where a node has enough of them. */
function gpuShortage(room: Search, unit: UnitDemand): Shortage | undefined {
  const shortage = shortageOf(room, unit, gpuAt, room.nodes, ({ gpus }, models) =>
    mostOf(models, (model) => countOf(gpus, kindsFor(gpus, model))),
  );
  return shortage.available < shortage.wanted ? shortage : undefined;
}

/** Of GPUs, only those that satisfy the demand. */
function freeFor(node: RoomNode, models: Models, at: number): bigint {
  const free = node.free[at] ?? 0n;
  return at === gpuAt
    ? smallest(
        free,
        mostOf(models, (model) => freeGpus(node, model)),
      )
    : free;
}

function mostOf(models: Models, count: (model: GpuDemand) => number): bigint {
  return BigInt(Math.max(0, ...models.map((model) => (model ? count(model) : 0))));
}

function resourceName(unit: UnitDemand, at: number): string {
  return at === gpuAt && unit.gpus.length > 0 ? `gpu ${gpuNames(unit)}` : (nodeResources[at] ?? "");
}

function gpuNames({ gpus }: UnitDemand): string {
  return joined(gpus.map(describeGpu), " or ");
}

/** "there are 4 × nvidia/a100 with 80Gi, pcie" */
function existingGpus({ nodes }: Room): string {
  const counts = new Map<string, number>();
  for (const { gpu, count } of nodes.flatMap(({ gpus }) => gpus.kinds)) {
    const name = describeGpu(gpu);
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  const names = [...counts.keys()].sort().map((name) => `${counts.get(name)} × ${name}`);
  return names.length > 0 ? `there are ${joined(names, ", ")}` : "there are no gpus";
}

function joined(texts: readonly string[], between = "; "): string {
  const more = texts.length - failuresListed;
  const listed = texts.slice(0, failuresListed).join(between);
  return more > 0 ? `${listed}${between}and ${more} more` : listed;
}
