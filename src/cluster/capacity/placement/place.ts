/** Whether a group fits, all replicas of all its units at once, and where each would go. Takes nothing. */
import type { Fit, Fits } from "../../../market/fit.ts";
import { exactRequests, type Overcommit } from "../../../market/fit.ts";
import { gpuAttribute } from "../../../market/gpu-attributes.ts";
import type { ResourceUnit, UnitResources } from "../../../market/group-spec.ts";
import { jsonText } from "../../../runtime/json-text.ts";
import { anyFit, bestFit, exactFit } from "./fit-search.ts";
import { beyondCluster, inPieces, placementFailure, togetherTooMuch, unplaceable } from "./placement-failure.ts";
import type { Room } from "./room.ts";
import {
  demandsOf,
  InvalidDemand,
  type Option,
  openSearch,
  type Search,
  SearchLimit,
  type Spot,
  searchSteps,
  type Task,
  taskOf,
} from "./task.ts";

/** Replicas up to which a group is placed exactly: 203 ways to share out six of them, 877 with seven. */
const placementExactReplicas = 6;
/** Units of one group that are placed: each is searched for on every node. */
export const placementUnits = 300;
/** Replicas of one group that are placed: each is an entry in a reservation, and Kubernetes ends at 5,000 nodes. */
const placementReplicas = 10_000;

/** Offers with different GPU models: each is priced, by a process where prices come from a script. */
const mostOffers = 32;

interface PlaceOptions {
  readonly overcommit?: Overcommit;
  /** Limit of the search; see `openSearch`. */
  readonly steps?: number;
}

export function place(room: Room, units: readonly ResourceUnit[], options: PlaceOptions = {}): Fit {
  const { overcommit = exactRequests, steps = searchSteps } = options;
  try {
    return placeIn(openSearch(room, steps), units, overcommit);
  } catch (thrown) {
    if (thrown instanceof InvalidDemand) return placementFailure(thrown.message);
    if (!(thrown instanceof SearchLimit)) throw thrown;
    return { ...placementFailure(`search limit reached: no placement found in ${steps} steps`), isLimited: true };
  }
}

function placeIn(room: Search, units: readonly ResourceUnit[], overcommit: Overcommit): Fit {
  if (units.length === 0) return placementFailure("the group has no units");
  if (units.length > placementUnits) {
    return placementFailure(`the group has ${units.length} units, at most ${placementUnits} are placed`);
  }
  if (new Set(units.map(({ id }) => id)).size < units.length)
    return placementFailure("two units of the group have the same id");
  const demands = demandsOf(units, overcommit);
  const failure = beyondCluster(room, demands);
  if (failure) return failure;
  // The chain takes a unit of count 0 beside others, and wants it in the bid.
  const tasks = demands.filter(({ count }) => count > 0n).map((unit) => taskOf(unit, room));
  if (tasks.length === 0) return placementFailure("the group has no replicas");
  const stuck = tasks.filter(({ options }) => options.length === 0);
  if (stuck.length > 0) return unplaceable(room, stuck);
  const replicas = demands.reduce((sum, { count }) => sum + count, 0n);
  if (replicas > BigInt(placementReplicas)) {
    return placementFailure(`the group has ${replicas} replicas, at most ${placementReplicas} are placed`);
  }
  const tooMuch = togetherTooMuch(room, tasks);
  if (tooMuch) return tooMuch;
  const spots = anyOf(tasks, room);
  if (spots) return withOthers(room, units, spots, tasks);
  return inPieces(room, tasks, (eased) => Boolean(bestFit(eased, room) ?? (isFew(eased) && exactFit(eased, room))));
}

function anyOf(tasks: readonly Task[], room: Search): Spot[] | undefined {
  return bestFit(tasks, room) ?? (isFew(tasks) ? exactFit(tasks, room) : anyFit(tasks, room));
}

/** For each GPU model, the tasks with that model alone wherever it is an option, and in one task alone. */
function* otherModels(tasks: readonly Task[], room: Search): Generator<Task[]> {
  const modelsOfTasks = tasks.map(({ options }) => options.map(modelOf));
  const models = new Set(modelsOfTasks.flatMap((each) => (each.length > 1 ? each : [])));
  const optionCount = tasks.reduce((sum, { options }) => sum + options.length, 0);
  for (const model of models) {
    room.spend(optionCount);
    yield tasks.map((task, at) => {
      const options = task.options.filter((_, option) => modelsOfTasks[at]?.[option] === model);
      return options.length > 0 ? { ...task, options } : task;
    });
  }
  // Caps may leave too few of each model for all units, and enough of several.
  for (const [at, task] of tasks.length > 1 ? tasks.entries() : []) {
    if (task.options.length < 2) continue;
    for (const option of task.options) {
      room.spend(tasks.length);
      yield tasks.with(at, { ...task, options: [option] });
    }
  }
}

function modelOf({ gpus }: Option): string {
  return gpus ? gpuAttribute(gpus).key : "";
}

/** With offers of other GPU models, as long as steps are left. */
function withOthers(
  room: Search,
  units: readonly ResourceUnit[],
  spots: readonly Spot[],
  tasks: readonly Task[],
): Fits {
  const keyOf = offerKeys(units);
  const first = fitsOf(room, units, spots);
  const fits = new Map([[keyOf(first), first]]);
  try {
    for (const each of otherModels(tasks, room)) {
      const others = anyOf(each, room);
      const found = others && fitsOf(room, units, others);
      if (found && !fits.has(keyOf(found))) fits.set(keyOf(found), found);
      if (fits.size === mostOffers) break;
    }
  } catch (thrown) {
    if (!(thrown instanceof SearchLimit)) throw thrown;
  }
  const [, ...others] = fits.values();
  return others.length > 0 ? { ...first, others } : first;
}

/** Equal where units that are alike only swap their GPU models: their price is the same. */
function offerKeys(units: readonly ResourceUnit[]): (fit: Fits) => string {
  const texts = units.map(({ id: _id, price: _price, ...unit }) => jsonText(unit));
  const kinds = texts.map((text) => texts.indexOf(text));
  return ({ offer }) =>
    offer
      .map(({ gpu }, at) => `${kinds[at]} ${gpu.attributes[0]?.key}`)
      .sort()
      .join();
}

/** Few enough for the exact search; more are placed by first-fit-decreasing alone. */
function isFew(tasks: readonly Task[]): boolean {
  return tasks.reduce((sum, { count }) => sum + count, 0) <= placementExactReplicas;
}

function fitsOf(room: Room, units: readonly ResourceUnit[], spots: readonly Spot[]): Fits {
  const byUnit = Map.groupBy(spots, ({ task }) => task.unit.id);
  const offer = units.map((unit) => offered(unit, byUnit.get(unit.id)?.[0]));
  const replicas = units.flatMap(({ id }) =>
    (byUnit.get(id) ?? []).flatMap(({ place, count }) =>
      Array.from({ length: count }, () => ({ unit: id, node: room.nodes[place]?.name ?? "" })),
    ),
  );
  return { fits: true, replicas, offer };
}

/** As requested, with one model for its GPUs. */
function offered({ count: _count, price: _price, ...unit }: ResourceUnit, spot: Spot | undefined): UnitResources {
  const gpus = spot?.option.gpus;
  return gpus ? { ...unit, gpu: { count: unit.gpu.count, attributes: [gpuAttribute(gpus)] } } : unit;
}
