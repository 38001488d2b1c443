/** Why a group does not fit: what is short, of which unit, and where. Named is what would have to be there for it to fit. */
import type { Misfit, OfferCaps, Shortage } from "../../market/fit.ts";
import { describeCard, modelsFor } from "../../market/gpu-attributes.ts";
import { formatBytes, formatCpuMilli } from "../../market/quantity.ts";
import { limits } from "../../runtime/limits.ts";
import { cardsLeft, countOf, kindsFor } from "./cards.ts";
import { totalOf, type UnitDemand } from "./demand.ts";
import { endless, freeInAll, gpuAt, type NodeState, nodeResources, type Room } from "./room.ts";
import { gpusOf, howMany, isSuited, type Spot, type Task, taskOf } from "./task.ts";

export function refuse(reason: string, shortages: readonly Shortage[] = []): Misfit {
  return { fits: false, reason, shortages };
}

/** What no placement can help: a cap, a storage class, or more than all nodes have together. */
export function beyondCluster(room: Room, demands: readonly UnitDemand[], left: OfferCaps): Misfit | undefined {
  const total = totalOf(demands);
  const shortages: Shortage[] = [];
  const reasons: string[] = [];
  const check = (resource: string, wanted: bigint, available: bigint | undefined, say: (there: string) => string) => {
    if (available === undefined || wanted <= available) return;
    const there = available > 0n ? available : 0n;
    const unit = heaviest(demands, resource);
    shortages.push({ unit, resource, wanted, available: there, where: "cluster", nodes: room.nodes.length });
    reasons.push(`${showAmount(resource, wanted)} of ${resource} is wanted, ${say(showAmount(resource, there))}`);
  };
  const capped = (there: string) => `the caps leave ${there} to be sold`;
  check("cpu", total.cpuMilli, left.cpuMilli, capped);
  check("memory", total.memoryBytes, left.memoryBytes, capped);
  check("gpu", total.gpuCount, left.gpuCount, capped);
  for (const [name, bytes] of total.storageBytes) {
    check(`storage-${name}`, bytes, left.storageBytes?.get(name), capped);
    if (name === "ephemeral") continue;
    const free = room.classes.get(name);
    const names = [...room.classes.keys()].sort();
    check(`storage-${name}`, bytes, free ?? 0n, (there) =>
      free === undefined ? `the cluster has ${listOr(names, "no storage class")}` : `the cluster has ${there} free`,
    );
  }
  return reasons.length > 0 ? refuse(list(reasons), shortages) : undefined;
}

/** Units that would not fit even if they were alone. */
export function unplaceable(room: Room, tasks: readonly Task[]): Misfit {
  const found = tasks.slice(0, limits.misfitListed).map(({ unit }) => ofUnit(room, unit));
  return refuse(
    list(found.map(({ reason }) => reason)),
    found.flatMap(({ shortages }) => shortages),
  );
}

interface Found {
  readonly reason: string;
  readonly shortages: readonly Shortage[];
}

function ofUnit(room: Room, unit: UnitDemand): Found {
  const models = unit.cards.length > 0 ? modelsFor(unit.cards, room.cards) : [undefined];
  const suited = room.nodes.filter((node) => models.some((cards) => isSuited(node, unit, cards)));
  if (suited.length === 0) return nowhereSuited(room, unit);
  const fitsOnce = taskOf({ ...unit, count: 1n }, room).options.length > 0;
  const wanted = fitsOnce ? unit : { ...unit, count: 1n };
  const helps = nodeResources.flatMap((_, at) =>
    taskOf(wanted, room, without(unit, at)).options.length > 0 ? [at] : [],
  );
  const short = helps.length > 0 ? helps : shortNearby(suited, unit);
  const shortages = short.map((at) => shortageOf(unit, at, suited));
  return { reason: fitsOnce ? tooMany(room, unit, short) : tooLarge(room, unit, suited, shortages), shortages };
}

/** No node mounts the class, or has such cards at all. */
function nowhereSuited(room: Room, unit: UnitDemand): Found {
  const nodes = room.nodes.length;
  if (nodes === 0) return { reason: "no node is offered", shortages: [] };
  const shortages: Shortage[] = [];
  const reasons: string[] = [];
  for (const name of unit.classes.keys()) {
    const mounting = room.nodes.filter(({ classes }) => classes.has(name)).length;
    if (mounting > 0) continue;
    const resource = `nodes with storage-${name}`;
    shortages.push({ unit: unit.id, resource, wanted: 1n, available: 0n, where: "cluster", nodes });
    reasons.push(`no node can mount volumes of the class ${name}`);
  }
  const wanted = gpusOf(unit.amounts);
  const most = unit.cards.length > 0 ? mostCards(room, unit) : undefined;
  if (most && most.count < wanted) {
    const where = most.node ?? "cluster";
    shortages.push({ unit: unit.id, resource: gpuName(unit), wanted, available: most.count, where, nodes });
    reasons.push(`no node has ${wanted} × ${cardsName(unit)}; ${cardsThere(room)}`);
  }
  if (reasons.length > 0) return { reason: `unit ${unit.id}: ${list(reasons)}`, shortages };
  const names = [...unit.classes.keys()].map((name) => `volumes of the class ${name}`);
  const all = most ? [...names, `${wanted} × ${cardsName(unit)}`] : names;
  return { reason: `unit ${unit.id}: no node has at once ${all.join(" and ")}`, shortages };
}

/** One replica is larger than what any node has left. */
function tooLarge(room: Room, unit: UnitDemand, suited: readonly NodeState[], shortages: readonly Shortage[]): string {
  const nodes = suited.length < room.nodes.length ? `none of the ${suited.length} suited nodes` : "no node";
  const show = ({ resource, wanted }: Shortage) => `${showAmount(resource, wanted)} of ${resource}`;
  const [only] = shortages;
  if (only && shortages.length === 1 && only.nodes === suited.length) {
    const most = `${showAmount(only.resource, only.available)}, on ${only.where}`;
    return `unit ${unit.id}: ${nodes} has ${show(only)} free; the most is ${most}`;
  }
  const counts = shortages.map(({ resource, nodes: short }) => `${short} short of ${resource}`);
  return `unit ${unit.id}: ${nodes} has ${shortages.map(show).join(" and ")} free at once: ${counts.join(", ")}`;
}

/** One replica fits, all of them do not. */
function tooMany(room: Room, unit: UnitDemand, short: readonly number[]): string {
  const models = unit.cards.length > 0 ? modelsFor(unit.cards, room.cards) : [undefined];
  const counts = models.map((cards) =>
    room.nodes
      .filter((node) => isSuited(node, unit, cards))
      .reduce((sum, node) => sum + howMany(node, unit.amounts, cards, unit.count), 0n),
  );
  const most = counts.reduce((max, count) => (count > max ? count : max), 0n);
  const names = short.map((at) => resourceName(unit, at)).join(" and ");
  return `unit ${unit.id}: ${most} of its ${unit.count} replicas fit; ${names} is short`;
}

/** Each unit would fit, were it alone. The search tells what of it all is short: with that endless, it finds a place. */
export function eachAloneOnly(
  room: Room,
  tasks: readonly Task[],
  search: (tasks: readonly Task[], room: Room) => Spot[] | undefined,
): Misfit {
  const short = nodeResources.flatMap((_, at) => {
    const eased = tasks.map(({ unit }) => taskOf(unit, room, without(unit, at)));
    return tasks.some(({ amounts }) => (amounts[at] ?? 0n) > 0n) && search(eased, room) ? [at] : [];
  });
  const shortages = short.map((at): Shortage => {
    const heavy = tasks.reduce((most, task) => ((task.amounts[at] ?? 0n) > (most.amounts[at] ?? 0n) ? task : most));
    const wanted = tasks.reduce((sum, { unit, amounts }) => sum + (amounts[at] ?? 0n) * unit.count, 0n);
    const available = freeInAll(room, at);
    if (wanted <= available) return shortageOf(heavy.unit, at, room.nodes);
    const resource = resourceName(heavy.unit, at);
    return { unit: heavy.unit.id, resource, wanted, available, where: "cluster", nodes: room.nodes.length };
  });
  const details = shortages.map(({ resource, wanted, available, where }) =>
    where === "cluster"
      ? `${showAmount(resource, wanted)} of ${resource} is wanted, ${showAmount(resource, available)} is free on all nodes`
      : `what is free of ${resource} lies in pieces that are too small`,
  );
  const why = details.length > 0 ? list(details) : "no resource is short by itself";
  return refuse(`each unit fits alone, all together do not: ${why}`, shortages);
}

/** Where no resource alone would help: what the nodes lack that lack the fewest. */
function shortNearby(suited: readonly NodeState[], unit: UnitDemand): number[] {
  const lacking = suited.map((node) =>
    nodeResources.flatMap((_, at) => (freeFor(node, unit, at) < (unit.amounts[at] ?? 0n) ? [at] : [])),
  );
  const lacks = lacking.filter((short) => short.length > 0);
  const fewest = Math.min(...lacks.map((short) => short.length));
  const named = new Set(lacks.filter((short) => short.length === fewest).flat());
  return nodeResources.flatMap((_, at) => (named.has(at) ? [at] : []));
}

function shortageOf(unit: UnitDemand, at: number, nodes: readonly NodeState[]): Shortage {
  const wanted = unit.amounts[at] ?? 0n;
  let [available, where, short] = [0n, "cluster", 0];
  for (const node of nodes) {
    const free = freeFor(node, unit, at);
    if (free > available) [available, where] = [free, node.name];
    if (free < wanted) short += 1;
  }
  return { unit: unit.id, resource: resourceName(unit, at), wanted, available, where, nodes: short };
}

/** Of gpus, only those that will do. */
function freeFor(node: NodeState, unit: UnitDemand, at: number): bigint {
  const free = node.free[at] ?? 0n;
  if (at !== gpuAt || unit.cards.length === 0) return free;
  const cards = node.cards.kinds.map(({ card }) => card);
  const most = modelsFor(unit.cards, cards).reduce((max, demand) => {
    const left = cardsLeft(node.cards, kindsFor(node.cards, demand));
    return left > max ? left : max;
  }, 0n);
  return most < free ? most : free;
}

function mostCards(room: Room, unit: UnitDemand): { count: bigint; node: string | undefined } {
  let most: { count: bigint; node: string | undefined } = { count: 0n, node: undefined };
  for (const node of room.nodes) {
    for (const demand of modelsFor(
      unit.cards,
      node.cards.kinds.map(({ card }) => card),
    )) {
      const count = countOf(node.cards, kindsFor(node.cards, demand));
      if (count > most.count) most = { count, node: node.name };
    }
  }
  return most;
}

function cardsThere({ nodes }: Room): string {
  const counts = new Map<string, bigint>();
  for (const { cards } of nodes) {
    for (const { card, count } of cards.kinds)
      counts.set(describeCard(card), (counts.get(describeCard(card)) ?? 0n) + count);
  }
  const texts = [...counts]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, count]) => `${count} × ${name}`);
  return texts.length > 0 ? `there are ${list(texts, ", ")}` : "there are no gpus";
}

/** The unit's demand with one resource left out of it. */
function without({ amounts }: UnitDemand, left: number): bigint[] {
  return amounts.map((amount, at) => (at === left ? 0n : amount));
}

function heaviest(demands: readonly UnitDemand[], resource: string): number {
  const at = (nodeResources as readonly string[]).indexOf(resource);
  const amount = ({ amounts, classes }: UnitDemand) =>
    (at >= 0 ? amounts[at] : classes.get(resource.slice("storage-".length))) ?? 0n;
  return demands.reduce((most, unit) => (amount(unit) > amount(most) ? unit : most)).id;
}

function resourceName(unit: UnitDemand, at: number): string {
  return at === gpuAt && unit.cards.length > 0 ? gpuName(unit) : (nodeResources[at] ?? "");
}

function gpuName(unit: UnitDemand): string {
  return `gpu ${cardsName(unit)}`;
}

function cardsName({ cards }: UnitDemand): string {
  return list(cards.map(describeCard), " or ");
}

/** Rounded up what is wanted, down what is there: they never look the same when they are not. */
function showAmount(resource: string, amount: bigint): string {
  if (amount >= endless) return "no end";
  if (resource === "cpu") return formatCpuMilli(amount);
  return resource === "memory" || resource.startsWith("storage-") ? formatBytes(amount) : String(amount);
}

function list(texts: readonly string[], between = "; "): string {
  const more = texts.length - limits.misfitListed;
  const told = texts.slice(0, limits.misfitListed).join(between);
  return more > 0 ? `${told}${between}and ${more} more` : told;
}

function listOr(names: readonly string[], none: string): string {
  return names.length > 0 ? `only ${list(names, ", ")}` : none;
}
