/** What has to be placed, unit by unit, with every node on which one of its replicas could go. */
import { type CardDemand, modelsFor } from "../../market/gpu-attributes.ts";
import { cardsLeft, countOf, kindsFor, takeCards } from "./cards.ts";
import type { UnitDemand } from "./demand.ts";
import { type Amounts, gpuAt, type NodeState, type Room } from "./room.ts";

export interface Task {
  readonly unit: UnitDemand;
  /** What the search takes for one replica: what the unit asks for, but where the search tries it with less. */
  readonly amounts: Amounts;
  /** Each would do for all replicas, were the cluster its own; by name of the model, and one where no gpu is asked for. */
  readonly options: readonly Option[];
}

/** One model for all replicas of a unit. */
export interface Option {
  readonly cards: CardDemand | undefined;
  /** Those on which at least one replica fits, the tightest first. */
  readonly nodes: readonly NodeState[];
}

/** So many replicas of a unit on one node. */
export interface Spot {
  readonly task: Task;
  readonly option: Option;
  readonly node: NodeState;
  readonly count: bigint;
}

/** Nodes that could ever take a replica, by what they are rather than by what is free of them. */
export function isSuited(node: NodeState, unit: UnitDemand, cards: CardDemand | undefined): boolean {
  for (const name of unit.classes.keys()) if (!node.classes.has(name)) return false;
  return cards === undefined || countOf(node.cards, kindsFor(node.cards, cards)) >= gpusOf(unit.amounts);
}

export function taskOf(unit: UnitDemand, room: Room, amounts: Amounts = unit.amounts): Task {
  const models = unit.cards.length > 0 ? modelsFor(unit.cards, room.cards) : [undefined];
  const options = models.flatMap((cards) => {
    const nodes: NodeState[] = [];
    let missing = unit.count;
    for (const node of room.tightest()) {
      if (!isSuited(node, unit, cards)) continue;
      const count = howMany(node, amounts, cards, missing > 1n ? missing : 1n);
      if (count === 0n) continue;
      nodes.push(node);
      missing -= count;
    }
    return missing > 0n ? [] : [{ cards, nodes }];
  });
  return { unit, amounts, options };
}

/** How many replicas a node still takes, up to a most. */
export function howMany(node: NodeState, amounts: Amounts, cards: CardDemand | undefined, most: bigint): bigint {
  let count = most;
  for (let at = 0; at < amounts.length; at += 1) {
    const amount = amounts[at] ?? 0n;
    const free = node.free[at] ?? 0n;
    if (amount === 0n) continue;
    if (free < amount) return 0n;
    if (count > 1n && free < amount * count) count = free / amount;
  }
  const gpus = gpusOf(amounts);
  if (cards === undefined || gpus === 0n) return count;
  const left = cardsLeft(node.cards, kindsFor(node.cards, cards)) / gpus;
  return left < count ? left : count;
}

/** Takes it from the node; minus one gives it back. */
export function occupy({ task: { amounts }, option, node, count }: Spot, sign: 1n | -1n): void {
  const times = count * sign;
  for (let at = 0; at < amounts.length; at += 1) node.free[at] = (node.free[at] ?? 0n) - (amounts[at] ?? 0n) * times;
  const gpus = gpusOf(amounts);
  if (option.cards && gpus > 0n) takeCards(node.cards, kindsFor(node.cards, option.cards), gpus * times);
}

export function gpusOf(amounts: Amounts): bigint {
  return amounts[gpuAt] ?? 0n;
}
