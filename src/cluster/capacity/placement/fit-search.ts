/** The two searches: the quick one, largest replicas first, and the exact one for groups of few replicas. */
import { gpusLeft, type Kinds, kindsFor, nodeResources, type Room, type RoomNode, takeGpus } from "./room.ts";
import {
  gpuSteps,
  gpusOf,
  howMany,
  type Option,
  occupy,
  type RequestedAmounts,
  type Search,
  type Spot,
  type Task,
} from "./task.ts";

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

/** For groups too large for the exact search: finds at least what first-fit-decreasing finds. */
export function anyFit(tasks: readonly Task[], room: Search): Spot[] | undefined {
  const sizes = [shareOf(room), ...nodeResources.map((_, at) => (task: Task) => task.requested[at] ?? 0)];
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
  return ({ requested }) => Math.max(...requested.map((amount, at) => amount / Math.max(free[at] ?? 0, 1)));
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
      const count = howMany(room, place, task.requested, option.gpus, missing);
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

/** How many replicas of each task. */
type Part = readonly number[];

/** A node that can hold a part, with the model that each of its tasks would get there. */
interface Home {
  readonly place: number;
  readonly options: ReadonlyMap<number, Option>;
}

/** The models that the replicas of a task may get in one run of the search, and the places of nodes with one of them. */
interface Way {
  readonly name: string;
  readonly options: readonly Option[];
  readonly places: ReadonlySet<number>;
}

/**
 * Shares the replicas out into parts, each of which goes whole onto a node of its own; undefined where there is no way. There
 * are few ways to share out six replicas; and of the nodes that hold a part, as many as there are replicas are enough.
 */
export function exactFit(tasks: readonly Task[], room: Search): Spot[] | undefined {
  const whole: Part = tasks.map(({ count }) => count);
  const replicas = whole.reduce((sum, count) => sum + count, 0);
  const known = new Map<string, readonly Home[]>();
  for (const ways of combinations(tasks.map(waysOf))) {
    const homesOf = (part: Part): readonly Home[] => {
      // For the name and its look-up.
      room.spend(10 * part.length);
      const name = part.map((count, at) => (count === 0 ? "" : `${count}${ways[at]?.name}`)).join();
      const homes = known.get(name) ?? findHomes(tasks, room, part, ways, replicas);
      known.set(name, homes);
      return homes;
    };
    const homes = shareOut(whole, [], new Map(), homesOf);
    if (homes) return spotsOf(tasks, homes);
  }
  return undefined;
}

/** Only where a unit has several replicas must its model be settled beforehand: a single one takes what its node has. */
function waysOf({ count, options }: Task): Way[] {
  const settled = count === 1 ? [options] : options.map((option) => [option]);
  return settled.map((some, at) => ({
    name: `x${at}`,
    options: some,
    places: new Set(some.flatMap(({ places }) => places)),
  }));
}

function* combinations<T>(lists: readonly (readonly T[])[]): Generator<T[]> {
  const [first, ...others] = lists;
  if (!first) yield [];
  else for (const each of first) for (const rest of combinations(others)) yield [each, ...rest];
}

/** Takes parts off what is left, each with a replica of the first task that is left, and finds each a node of its own. */
function shareOut(
  left: Part,
  parts: readonly Part[],
  taken: ReadonlyMap<number, number>,
  homesOf: (part: Part) => readonly Home[],
): { part: Part; home: Home }[] | undefined {
  const first = left.findIndex((count) => count > 0);
  if (first < 0) {
    return [...taken].flatMap(([place, at]) => {
      const part = parts[at] ?? [];
      return homesOf(part).flatMap((home) => (home.place === place ? [{ part, home }] : []));
    });
  }
  for (const part of partsOf(left, first)) {
    const more = [...parts, part];
    const matched = housed(more, more.length - 1, taken, homesOf, new Set());
    if (!matched) continue;
    const rest = left.map((count, at) => count - (part[at] ?? 0));
    const found = shareOut(rest, more, matched, homesOf);
    if (found) return found;
  }
  return undefined;
}

/** The largest first, so that little is spread out. */
function* partsOf(left: Part, first: number, at = 0): Generator<Part> {
  if (at === left.length) {
    yield [];
    return;
  }
  for (let count = left[at] ?? 0; count >= (at === first ? 1 : 0); count -= 1) {
    for (const rest of partsOf(left, first, at + 1)) yield [count, ...rest];
  }
}

/** Gives the part a node; one that is taken is free when its part can move to another. */
function housed(
  parts: readonly Part[],
  at: number,
  taken: ReadonlyMap<number, number>,
  homesOf: (part: Part) => readonly Home[],
  visited: Set<number>,
): ReadonlyMap<number, number> | undefined {
  for (const { place } of homesOf(parts[at] ?? [])) {
    if (visited.has(place)) continue;
    visited.add(place);
    const other = taken.get(place);
    const moved = other === undefined ? taken : housed(parts, other, taken, homesOf, visited);
    if (moved) return new Map(moved).set(place, at);
  }
  return undefined;
}

function findHomes(tasks: readonly Task[], room: Search, part: Part, ways: readonly Way[], enough: number): Home[] {
  const members = tasks.flatMap((task, at): Member[] => {
    const [count, way] = [part[at] ?? 0, ways[at]];
    return count > 0 && way ? [{ at, way, requested: task.requested.map((amount) => amount * count) }] : [];
  });
  const sum = members.reduce<number[]>(
    (all, { requested }) => requested.map((amount, at) => amount + (all[at] ?? 0)),
    [],
  );
  const [fewest, ...others] = members.map(({ way }) => way.places).sort((left, right) => left.size - right.size);
  const homes: Home[] = [];
  for (const place of fewest ?? []) {
    room.spend(1 + members.length);
    const isShort = sum.some((amount, at) => amount > 0 && amount > (room.spare[at]?.[place] ?? 0));
    if (isShort || !others.every((places) => places.has(place))) continue;
    const node = room.nodes[place];
    const options = node && chooseModels(room, node, members);
    if (options) homes.push({ place, options });
    if (homes.length === enough) break;
  }
  return homes;
}

interface Member {
  readonly at: number;
  /** Of all its replicas in the part. */
  readonly requested: RequestedAmounts;
  readonly way: Way;
}

/** A model for each of them, by their places, such that the node has GPUs for all. */
function chooseModels(room: Search, node: RoomNode, members: readonly Member[]): Home["options"] | undefined {
  const [member, ...others] = members;
  if (!member) return new Map();
  const gpus = gpusOf(member.requested);
  const tried = new Set<Kinds>();
  for (const option of member.way.options) {
    if (option.gpus) room.spend(2 * gpuSteps(node));
    const kinds = option.gpus && gpus > 0 ? kindsFor(node.gpus, option.gpus) : 0;
    const taken = kinds === 0 && !option.gpus ? 0 : gpus;
    if (tried.has(kinds) || (taken > 0 && gpusLeft(node.gpus, kinds) < taken)) continue;
    tried.add(kinds);
    takeGpus(node.gpus, kinds, taken);
    try {
      const rest = chooseModels(room, node, others);
      if (rest) return new Map(rest).set(member.at, option);
    } finally {
      takeGpus(node.gpus, kinds, -taken);
    }
  }
  return undefined;
}

function spotsOf(tasks: readonly Task[], homes: readonly { part: Part; home: Home }[]): Spot[] {
  return homes.flatMap(({ part, home }) =>
    tasks.flatMap((task, at) => {
      const [count, option] = [part[at] ?? 0, home.options.get(at)];
      return count > 0 && option ? [{ task, option, place: home.place, count }] : [];
    }),
  );
}
