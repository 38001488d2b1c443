/** The quick search: the largest replicas first, each onto the first node that takes it. */
import { nodeResources, type Room } from "./room.ts";
import type { Search } from "./search.ts";
import { howMany, type Option, occupy, type Spot, type Task } from "./task.ts";

/** In which order nodes and models are tried. The tightest node first leaves the large ones whole; by name is the textbook's. */
interface Order {
  places(option: Option): Iterable<number>;
  options(task: Task): readonly Option[];
}
const tightest: Order = {
  places: ({ places }) => places,
  options: ({ options }) => options.toSorted((left, right) => right.places.length - left.places.length),
};
/** The one that leaves the cluster in the best shape. */
export function bestFit(tasks: readonly Task[], room: Search): Spot[] | undefined {
  return firstFit(largestFirst(tasks, shareOf(room)), room, tightest);
}

/** All that is tried where the exact search would take too long: it finds what first-fit-decreasing does, and more. */
export function anyFit(tasks: readonly Task[], room: Search): Spot[] | undefined {
  const sizes = [shareOf(room), ...nodeResources.map((_, at) => (task: Task) => task.asked[at] ?? 0)];
  const sorted = new Map<Option, Iterable<number>>();
  for (const option of tasks.flatMap(({ options }) => options)) {
    sorted.set(option, Uint32Array.from(option.places).sort());
  }
  const byName: Order = { places: (option) => sorted.get(option) ?? [], options: ({ options }) => options };
  const tried = new Set<string>();
  for (const size of sizes) {
    const order = largestFirst(tasks, size);
    const name = order.map(({ unit }) => unit.id).join();
    if (tried.has(name)) continue;
    tried.add(name);
    const spots = firstFit(order, room, tightest) ?? firstFit(order, room, byName);
    if (spots) return spots;
  }
  return undefined;
}

/** The largest share of what is free of a resource in the whole cluster. It only ranks, so it need not be exact. */
function shareOf({ spare }: Room): (task: Task) => number {
  const free = spare.map((column) => column.reduce((sum, each) => sum + Math.max(each, 0), 0));
  return ({ asked }) => Math.max(...asked.map((amount, at) => amount / Math.max(free[at] ?? 0, 1)));
}

function largestFirst(tasks: readonly Task[], size: (task: Task) => number): Task[] {
  return tasks
    .map((task) => ({ task, size: size(task) }))
    .sort((left, right) => right.size - left.size)
    .map(({ task }) => task);
}

function firstFit(tasks: readonly Task[], room: Search, order: Order): Spot[] | undefined {
  const spots: Spot[] = [];
  try {
    return tasks.every((task) => placeUnit(task, room, order, spots)) ? [...spots] : undefined;
  } finally {
    giveBackTo(0, room, spots);
  }
}

/** All replicas of the unit as one model; what an option that does not do had taken is given back before the next. */
function placeUnit(task: Task, room: Search, order: Order, spots: Spot[]): boolean {
  const before = spots.length;
  for (const option of order.options(task)) {
    let missing = task.count;
    for (const place of order.places(option)) {
      const count = howMany(room, place, task.asked, option.cards, missing);
      if (count === 0) continue;
      const spot = { task, option, place, count };
      occupy(room, spot, 1);
      spots.push(spot);
      missing -= count;
      if (missing === 0) return true;
    }
    giveBackTo(before, room, spots);
  }
  return false;
}

function giveBackTo(length: number, room: Room, spots: Spot[]): void {
  for (const spot of spots.splice(length).reverse()) occupy(room, spot, -1);
}
