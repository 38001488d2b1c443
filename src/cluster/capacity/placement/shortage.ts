/** What one unit lacks on the nodes, and how it is told. */
import type { Shortage } from "../../../market/fit.ts";
import { type CardDemand, describeCard } from "../../../market/gpu-attributes.ts";
import { cardsLeft, countOf, kindsFor } from "./cards.ts";
import type { UnitDemand } from "./demand.ts";
import { gpuAt, type NodeState, nodeResources, type Room } from "./room.ts";
import { cardSteps, type Search } from "./search.ts";
import { modelsOf } from "./task.ts";

/** Models, classes or shortages that one sentence about a misfit lists. */
export const misfitListed = 5;

/** By one replica, of what the best of these nodes has. */
export function shortageOf(room: Search, unit: UnitDemand, at: number, nodes: readonly NodeState[]): Shortage {
  const wanted = unit.amounts[at] ?? 0n;
  const models = modelsOf(unit, room);
  let [available, where, short] = [0n, "cluster", 0];
  for (const node of nodes) {
    room.spend(models.length * cardSteps(node));
    const free = freeFor(node, models, at);
    if (free > available) [available, where] = [free, node.name];
    if (free < wanted) short += 1;
  }
  return { unit: unit.id, resource: resourceName(unit, at), wanted, available, where, nodes: short };
}

/** The same of cards, taken or not. */
export function cardShortage(room: Search, unit: UnitDemand): Shortage | undefined {
  const { nodes } = room;
  const models = modelsOf(unit, room);
  const wanted = unit.amounts[gpuAt] ?? 0n;
  let [most, where] = [0, "cluster"];
  for (const node of nodes) {
    room.spend(models.length * cardSteps(node));
    const count = mostOf(models, (cards) => countOf(node.cards, kindsFor(node.cards, cards)));
    if (count > most) [most, where] = [count, node.name];
  }
  const resource = resourceName(unit, gpuAt);
  if (BigInt(most) >= wanted) return undefined;
  return { unit: unit.id, resource, wanted, available: BigInt(most), where, nodes: nodes.length };
}

/** Of gpus, only those that will do. */
export function freeFor(node: NodeState, models: ReturnType<typeof modelsOf>, at: number): bigint {
  const free = node.free[at] ?? 0n;
  if (at !== gpuAt) return free;
  const left = BigInt(mostOf(models, (cards) => cardsLeft(node.cards, kindsFor(node.cards, cards))));
  return left < free ? left : free;
}

function mostOf(models: ReturnType<typeof modelsOf>, count: (cards: CardDemand) => number): number {
  return models.reduce((most, cards) => (cards ? Math.max(most, count(cards)) : most), 0);
}

export function resourceName(unit: UnitDemand, at: number): string {
  return at === gpuAt && unit.cards.length > 0 ? `gpu ${cardsName(unit)}` : (nodeResources[at] ?? "");
}

export function cardsName({ cards }: UnitDemand): string {
  return list(cards.map(describeCard), " or ");
}

/** "there are 4 × nvidia/a100 with 80Gi, pcie" */
export function cardsThere({ nodes }: Room): string {
  const counts = new Map<string, number>();
  for (const { card, count } of nodes.flatMap(({ cards }) => cards.kinds)) {
    const name = describeCard(card);
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  const names = [...counts.keys()].sort().map((name) => `${counts.get(name)} × ${name}`);
  return names.length > 0 ? `there are ${list(names, ", ")}` : "there are no gpus";
}

export function list(texts: readonly string[], between = "; "): string {
  const more = texts.length - misfitListed;
  const told = texts.slice(0, misfitListed).join(between);
  return more > 0 ? `${told}${between}and ${more} more` : told;
}
