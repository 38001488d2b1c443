/** Why a group does not fit. Named is what would have to be there for it to fit, and not what is merely scarce. */
import type { PlacementFailure, Shortage } from "../../../market/fit.ts";
import { describeGpu, type GpuDemand } from "../../../market/gpu-attributes.ts";
import { showResource } from "../../../market/quantity.ts";
import {
  askedOf,
  countOf,
  gpuAt,
  gpusLeft,
  kindsFor,
  type NodeAmounts,
  nodeResources,
  type Room,
  type RoomNode,
} from "./room.ts";
import {
  cardSteps,
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

/** What no placement can help: a storage class that has not so much. */
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
  const found = tasks.slice(0, misfitListed).map(({ unit }) => ofUnit(room, unit));
  const more = tasks.length > found.length ? `; and so with ${tasks.length - found.length} more units` : "";
  const reasons = found.map(({ reason }, at) => `unit ${tasks[at]?.unit.id}: ${reason}`);
  return placementFailure(
    `${reasons.join("; ")}${more}`,
    found.flatMap(({ shortages }) => shortages),
  );
}

interface Found {
  readonly reason: string;
  readonly shortages: readonly Shortage[];
}

function ofUnit(room: Search, unit: UnitDemand): Found {
  const models = modelsOf(unit, room);
  const suited = room.nodes.filter((node) => {
    room.spend(models.length * cardSteps(node));
    return models.some((cards) => isSuited(node, unit, cards));
  });
  if (suited.length === 0) return nowhereSuited(room, unit);
  const one = { ...unit, count: 1n };
  if (taskOf(one, room).options.length === 0) return tooLarge(room, one, suited);
  return tooMany(room, unit, suited);
}

/** No node mounts the class, or has such cards at all. */
function nowhereSuited(room: Search, unit: UnitDemand): Found {
  const { id, classes } = unit;
  const nodes = room.nodes.length;
  if (nodes === 0) return { reason: "no node is offered", shortages: [] };
  const unmounted = [...classes.keys()].filter((name) => !room.nodes.some((node) => node.classes.has(name)));
  const cards = unit.cards.length > 0 ? cardShortage(room, unit) : undefined;
  const wanted = `${unit.amounts[gpuAt]} × ${cardsName(unit)}`;
  const shortages = unmounted.map((name): Shortage => {
    return { unit: id, resource: `nodes with storage-${name}`, wanted: 1n, available: 0n, where: "cluster", nodes };
  });
  const reasons = unmounted.map((name) => `no node can mount volumes of the class ${name}`);
  if (cards) reasons.push(`no node has ${wanted}; ${cardsThere(room)}`);
  if (reasons.length > 0) return { reason: joined(reasons), shortages: cards ? [...shortages, cards] : shortages };
  const all = [...classes.keys()].map((name) => `volumes of the class ${name}`);
  if (unit.cards.length > 0) all.push(wanted);
  return { reason: `no node has at once ${all.join(" and ")}`, shortages };
}

/** One replica is larger than what any node has left. */
function tooLarge(room: Search, unit: UnitDemand, suited: readonly RoomNode[]): Found {
  const short = helpful(unit, (amounts) => taskOf(unit, room, amounts).options.length > 0);
  const shortages = (short.length > 0 ? short : lackedByNearest(room, suited, unit)).map((at) =>
    shortageOf(room, unit, at, suited),
  );
  const nodes = suited.length < room.nodes.length ? `of the ${suited.length} nodes that would do none` : "no node";
  const show = ({ resource, wanted }: Shortage) => `${showResource(resource, wanted)} of ${resource}`;
  const [only] = shortages;
  if (only && shortages.length === 1 && only.nodes === suited.length) {
    const most =
      only.available > 0n ? `; the most is ${showResource(only.resource, only.available)}, on ${only.where}` : "";
    return { reason: `${nodes} has ${show(only)} free${most}`, shortages };
  }
  const counts = shortages.map(({ resource, nodes: lacking }) => `${lacking} short of ${resource}`);
  return { reason: `${nodes} has ${shortages.map(show).join(" and ")} free at once: ${counts.join(", ")}`, shortages };
}

/** One replica fits, all of them do not. */
function tooMany(room: Search, unit: UnitDemand, suited: readonly RoomNode[]): Found {
  const asked = unit.amounts.map(askedOf);
  const counts = modelsOf(unit, room).map((cards) =>
    suited.reduce((sum, node) => sum + howMany(room, node.at, asked, cards, Number(unit.count)), 0),
  );
  const isMet = (amounts: NodeAmounts) => taskOf(unit, room, amounts).options.length > 0;
  const wanted = nodeResources.flatMap((_, at) => ((unit.amounts[at] ?? 0n) > 0n ? [at] : []));
  const helps = helpful(unit, isMet);
  // More of one alone does not help: then those of which there is too little were it all that is asked for.
  const scarce = wanted.filter((at) => !isMet(unit.amounts.map((amount, other) => (other === at ? amount : 0n))));
  const named = helps.length > 0 ? helps : scarce.length > 0 ? scarce : wanted;
  const names = named.map((at) => resourceName(unit, at)).join(helps.length > 0 ? " or " : " and ");
  return {
    reason: `${Math.max(...counts)} of its ${unit.count} replicas fit; it takes more ${names}`,
    shortages: named.map((at) => shortageOf(room, unit, at, suited)),
  };
}

/** Each unit would fit, were it alone, but all of them together want more than there is on the nodes that would do. */
export function togetherTooMuch(room: Room, tasks: readonly Task[]): PlacementFailure | undefined {
  const isOpen = new Uint8Array(room.nodes.length);
  for (const { options } of tasks) for (const { places } of options) for (const place of places) isOpen[place] = 1;
  const units = tasks.map(({ unit }) => unit);
  const shortages = nodeResources.flatMap((resource, at): Shortage[] => {
    let spare = 0;
    room.spare[at]?.forEach((amount, node) => {
      if (isOpen[node] && amount > 0) spare += amount;
    });
    // The sum of many numbers is near enough to see that there is plenty, and that is most often so.
    if (tasks.reduce((sum, { asked, count }) => sum + (asked[at] ?? 0) * count, 0) <= spare) return [];
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
  const told = shortages.map(({ resource, wanted, available }) => {
    return `${showResource(resource, wanted)} of ${resource} is wanted, ${showResource(resource, available)} is free${where}`;
  });
  return placementFailure(`each unit fits alone, all together do not: ${joined(told)}`, shortages);
}

/** There is enough of everything, in pieces that are too small. The search tells of what: with that endless, it finds a way. */
export function inPieces(
  room: Search,
  tasks: readonly Task[],
  canPlace: (tasks: readonly Task[]) => boolean,
): PlacementFailure {
  const shortages = nodeResources.flatMap((name, at) => {
    const { unit } = tasks.reduce((most, task) => ((task.asked[at] ?? 0) > (most.asked[at] ?? 0) ? task : most));
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

/** Models, classes or shortages that one sentence about a misfit lists. */
const misfitListed = 5;

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
    room.spend(models.length * cardSteps(node));
    const amount = has(node, models);
    if (amount > available) [available, where] = [amount, node.name];
    if (amount < wanted) short += 1;
  }
  return { unit: unit.id, resource: resourceName(unit, at), wanted, available, where, nodes: short };
}

/** Of GPUs, taken or not; undefined where a node has enough of them. */
function cardShortage(room: Search, unit: UnitDemand): Shortage | undefined {
  const shortage = shortageOf(room, unit, gpuAt, room.nodes, ({ cards }, models) =>
    mostOf(models, (model) => countOf(cards, kindsFor(cards, model))),
  );
  return shortage.available < shortage.wanted ? shortage : undefined;
}

/** Of gpus, only those that will do. */
function freeFor(node: RoomNode, models: Models, at: number): bigint {
  const free = node.free[at] ?? 0n;
  if (at !== gpuAt) return free;
  const left = mostOf(models, (cards) => gpusLeft(node.cards, kindsFor(node.cards, cards)));
  return left < free ? left : free;
}

function mostOf(models: Models, count: (cards: GpuDemand) => number): bigint {
  return BigInt(models.reduce((most, cards) => (cards ? Math.max(most, count(cards)) : most), 0));
}

function resourceName(unit: UnitDemand, at: number): string {
  return at === gpuAt && unit.cards.length > 0 ? `gpu ${cardsName(unit)}` : (nodeResources[at] ?? "");
}

function cardsName({ cards }: UnitDemand): string {
  return joined(cards.map(describeGpu), " or ");
}

/** "there are 4 × nvidia/a100 with 80Gi, pcie" */
function cardsThere({ nodes }: Room): string {
  const counts = new Map<string, number>();
  for (const { card, count } of nodes.flatMap(({ cards }) => cards.kinds)) {
    const name = describeGpu(card);
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  const names = [...counts.keys()].sort().map((name) => `${counts.get(name)} × ${name}`);
  return names.length > 0 ? `there are ${joined(names, ", ")}` : "there are no gpus";
}

function joined(texts: readonly string[], between = "; "): string {
  const more = texts.length - misfitListed;
  const told = texts.slice(0, misfitListed).join(between);
  return more > 0 ? `${told}${between}and ${more} more` : told;
}
