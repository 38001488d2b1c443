/** The quick search: the largest replicas first, each onto the first node that takes it. */
import { freeInAll, type NodeState, nodeResources, type Room } from "./room.ts";
import { howMany, type Option, occupy, type Spot, type Task } from "./task.ts";

/** In which order nodes and models are tried. The tightest node first leaves the large ones whole; by name is the textbook's. */
interface Order {
  nodes(option: Option): readonly NodeState[];
  options(task: Task): readonly Option[];
}
const tightest: Order = {
  nodes: ({ nodes }) => nodes,
  options: ({ options }) => options.toSorted((left, right) => right.nodes.length - left.nodes.length),
};
const byName: Order = {
  nodes: ({ nodes }) => nodes.toSorted((left, right) => left.at - right.at),
  options: ({ options }) => options,
};

/** The one that leaves the cluster in the best shape. */
export function bestFit(tasks: readonly Task[], room: Room): Spot[] | undefined {
  return firstFit(largestFirst(tasks, shareOf(room)), tightest);
}

/** All that is tried where the exact search would take too long: it finds what first-fit-decreasing does, and more. */
export function anyFit(tasks: readonly Task[], room: Room): Spot[] | undefined {
  const sizes = [shareOf(room), ...nodeResources.map((_, at) => (task: Task) => Number(task.amounts[at] ?? 0n))];
  const tried = new Set<string>();
  for (const size of sizes) {
    const order = largestFirst(tasks, size);
    const name = order.map(({ unit }) => unit.id).join();
    if (tried.has(name)) continue;
    tried.add(name);
    const spots = firstFit(order, tightest) ?? firstFit(order, byName);
    if (spots) return spots;
  }
  return undefined;
}

/** The largest share of what is free of a resource in the whole cluster. It only ranks, so it need not be exact. */
function shareOf(room: Room): (task: Task) => number {
  const free = nodeResources.map((_, at) => Number(freeInAll(room, at)));
  return ({ amounts }) => Math.max(...amounts.map((amount, at) => Number(amount) / Math.max(free[at] ?? 0, 1)));
}

function largestFirst(tasks: readonly Task[], size: (task: Task) => number): Task[] {
  return tasks
    .map((task) => ({ task, size: size(task) }))
    .sort((left, right) => right.size - left.size)
    .map(({ task }) => task);
}

function firstFit(tasks: readonly Task[], order: Order): Spot[] | undefined {
  const spots: Spot[] = [];
  try {
    return tasks.every((task) => placeUnit(task, order, spots)) ? [...spots] : undefined;
  } finally {
    giveBackTo(0, spots);
  }
}

/** All replicas of the unit as one model; what an option that does not do had taken is given back before the next. */
function placeUnit(task: Task, order: Order, spots: Spot[]): boolean {
  const before = spots.length;
  for (const option of order.options(task)) {
    let missing = task.unit.count;
    for (const node of order.nodes(option)) {
      const count = howMany(node, task.amounts, option.cards, missing);
      if (count === 0n) continue;
      const spot = { task, option, node, count };
      occupy(spot, 1n);
      spots.push(spot);
      missing -= count;
      if (missing === 0n) return true;
    }
    giveBackTo(before, spots);
  }
  return false;
}

function giveBackTo(length: number, spots: Spot[]): void {
  for (const spot of spots.splice(length).reverse()) occupy(spot, -1n);
}
