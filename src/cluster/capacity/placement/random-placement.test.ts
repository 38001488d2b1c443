/**
 * Random small clusters and groups against a reference that tries everything: each replica on each node, each unit with
 * each model. It shares no code with what it checks.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../../../../test/support/runs.ts";
import {
  cluster,
  gi,
  gpuCount,
  type SampleUnit,
  sampleNode,
  sampleUnit,
  volume,
} from "../../../../test/support/samples/placement-samples.ts";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import { counts } from "../../../../test/support/thorough.ts";
import type { Fit } from "../../../market/fit.ts";
import { exactRequests } from "../../../market/fit.ts";
import type { Random } from "../../../runtime/random.ts";
import { place } from "./place.ts";
import { type ClusterRoom, type NodeRoom, openRoom } from "./room.ts";
import { claimsOf, searchSteps } from "./task.ts";

/** What the reference knows of a unit, before it is written down as the chain has it. */
interface Plan {
  readonly count: number;
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly gpus: number;
  /** "a100", "a100/80", "*", "*\/40" … */
  readonly models: readonly string[];
  readonly classes: readonly [string, number][];
}

interface Case {
  readonly snapshot: ClusterRoom;
  readonly plans: readonly Plan[];
}

const models = ["a100/40", "a100/80", "h100/80"];

test("a group of up to six replicas is placed exactly when there is any way at all", () => {
  const total = runs(3_000, 100_000);
  let fitting = 0;
  for (let seed = 0; seed < total; seed += 1) {
    const sample = randomCase(createSeededRandom(seed), 6);
    const fit = placeOf(sample);
    const way = anyWay(sample);
    assert.equal(fit.fits, way, `seed ${seed}: ${fit.fits ? "a false yes" : fit.reason}`);
    if (fit.fits) assertSound(sample, fit, seed);
    else assert.ok(fit.reason.length > 0 && fit.reason.length < 1_000, `seed ${seed}`);
    fitting += Number(fit.fits);
  }
  assert.ok(fitting > total / 5 && fitting < (total * 4) / 5, `${fitting} of ${total} fit: the cases prove little`);
});

test("a larger group is placed whenever first-fit-decreasing places it", () => {
  const total = runs(600, 20_000);
  let [better, fitting] = [0, 0];
  for (let seed = 0; seed < total; seed += 1) {
    const sample = randomCase(createSeededRandom(1_000_000 + seed), 14);
    const fit = placeOf(sample);
    const textbook = (["cpu", "memory", "disk", "gpus"] as const).some((size) => firstFitDecreasing(sample, size));
    if (fit.fits) assertSound(sample, fit, seed);
    assert.ok(fit.fits || !textbook, `seed ${seed}: first-fit-decreasing places it`);
    fitting += Number(fit.fits);
    better += Number(fit.fits && !textbook);
  }
  assert.ok(fitting > total / 5, `${fitting} of ${total} fit: the cases prove little`);
  assert.ok(better > 0, "it is never better than the textbook");
});

test("the same cluster and the same group give the same placement, whatever happened before", () => {
  for (let seed = 0; seed < runs(300, 5_000); seed += 1) {
    const random = createSeededRandom(2_000_000 + seed);
    const sample = randomCase(random, 8);
    const room = openRoom({ ...sample.snapshot, nodes: sample.snapshot.nodes.toReversed() });
    const first = place(room, unitsOf(sample));
    for (const other of [randomCase(random, 4), randomCase(random, 4)]) {
      const fit = place(room, unitsOf(other));
      const claims = fit.fits ? claimsOf(fit, exactRequests) : [];
      for (const claim of claims) room.take(claim);
      place(room, unitsOf(sample));
      for (const claim of claims.toReversed()) room.giveBack(claim);
    }
    assert.deepEqual(place(room, unitsOf(sample)), first, `seed ${seed}`);
    assert.deepEqual(placeOf(sample), first, `seed ${seed}`);
  }
});

test("a cluster that is filled group by group never gives more than it has, and is whole again in the end", () => {
  for (let seed = 0; seed < runs(60, 2_000); seed += 1) {
    const random = createSeededRandom(3_000_000 + seed);
    const { snapshot } = randomCase(random, 4);
    const room = openRoom(snapshot);
    const before = structuredClone({ nodes: room.nodes, classes: room.classes });
    const taken: ReturnType<typeof claimsOf>[] = [];
    for (let step = 0; step < 25; step += 1) {
      if (taken.length > 0 && random.int(3) === 0) {
        for (const claim of taken.splice(random.int(taken.length), 1)[0] ?? []) room.giveBack(claim);
      }
      const { plans } = randomCase(random, 4);
      const fit = place(room, unitsOf({ snapshot, plans }));
      if (!fit.fits) continue;
      const claims = claimsOf(fit, exactRequests);
      assert.equal(claims.length, fit.replicas.length);
      for (const claim of claims) room.take(claim);
      taken.push(claims);
      assert.ok(
        room.nodes.every(({ free }) => free.every((amount) => amount >= 0n)) &&
          [...room.classes.values()].every((bytes) => bytes >= 0n),
        `seed ${seed}: less than nothing is left`,
      );
    }
    for (const claim of taken.flat()) room.giveBack(claim);
    assert.deepEqual({ nodes: room.nodes, classes: room.classes }, before, `seed ${seed}`);
  }
});

test("with more of what a failureOf names for one replica, it fits", () => {
  const fields: Record<string, keyof NodeRoom> = {
    cpu: "cpuMilli",
    memory: "memoryBytes",
    "storage-ephemeral": "ephemeralBytes",
    volumes: "volumes",
  };
  let named = 0;
  for (let seed = 0; seed < runs(1_500, 30_000); seed += 1) {
    const { snapshot, plans } = randomCase(createSeededRandom(4_000_000 + seed), 1);
    const fit = placeOf({ snapshot, plans });
    if (fit.fits || fit.shortages.length === 0 || fit.shortages.some(({ resource }) => !fields[resource])) continue;
    named += 1;
    const more = Object.fromEntries(fit.shortages.map(({ resource }) => [fields[resource], 10n ** 6n]));
    const eased = { ...snapshot, nodes: snapshot.nodes.map((node) => ({ ...node, ...more })) };
    assert.ok(placeOf({ snapshot: eased, plans }).fits, `seed ${seed}: ${fit.reason}`);
  }
  assert.ok(named > 100, `${named} cases prove little`);
});

test("the search limit loses at most one in a thousand of the groups that a search without it places", () => {
  const total = counts(300, 10_000);
  const lost = { bounded: 0, tenth: 0 };
  let feasible = 0;
  for (let seed = 0; feasible < total; seed += 1) {
    const sample = plantedCase(createSeededRandom(5_000_000 + seed));
    const fitsWithin = (steps: number) => placeOf(sample, { steps }).fits;
    const isInTenth = fitsWithin(searchSteps / 10);
    const isInBound = isInTenth || fitsWithin(searchSteps);
    if (!isInBound && !fitsWithin(Number.POSITIVE_INFINITY)) continue;
    feasible += 1;
    lost.bounded += Number(!isInBound);
    lost.tenth += Number(!isInTenth);
  }
  assert.ok(lost.bounded <= feasible / 1_000, `${lost.bounded} of ${feasible} lost`);
  assert.ok(
    lost.tenth > feasible / 1_000,
    `a tenth of the steps loses ${lost.tenth} of ${feasible}: the cases prove little`,
  );
});

function placeOf(sample: Case, options: Parameters<typeof place>[2] = {}): Fit {
  return place(openRoom(sample.snapshot), unitsOf(sample), options);
}

/** A cluster made around a placement, so that one exists: nodes have what their replicas take, and little more. */
function plantedCase(random: Random): Case {
  // Pairs that take any of many models are the most work: the search tries each model of one with each of the others.
  const isPairs = random.int(3) === 0;
  const isMixed = isPairs || random.int(2) === 0;
  const kinds = Array.from({ length: isPairs ? 30 : 12 }, (_, at) => `m${at}`);
  const nodes = Array.from({ length: 2 + random.int(isMixed ? 3 : 11) }, () => {
    const own = isMixed || random.int(4) > 0 ? kinds.filter(() => random.int(8) < (isPairs ? 6 : isMixed ? 4 : 1)) : [];
    return { cpu: 0, memory: 0, gpus: new Map(own.map((kind) => [kind, 0])) };
  });
  const plans: Plan[] = [];
  for (let left = isPairs || random.int(3) > 0 ? 6 : 14; left > 0 && plans.length < 8; ) {
    const model = kinds.filter((kind) => nodes.some(({ gpus }) => gpus.has(kind)))[random.int(isPairs ? 20 : 4)];
    const gpus = model !== undefined && (isPairs || random.int(4) > 0) ? 1 + random.int(2) : 0;
    const others = isPairs || random.int(2) === 0 ? ["*"] : kinds.filter(() => random.int(3) === 0);
    const count = isPairs ? 2 : 1 + random.int(Math.min(left, 4));
    const plan = { ...{ count, gpus, disk: 1, classes: [] }, cpu: 1 + random.int(8), memory: 1 + random.int(8) };
    plans.push({ ...plan, models: gpus > 0 && model !== undefined ? [...others, model] : [] });
    left -= count;
    const hosts = gpus > 0 ? nodes.filter((node) => node.gpus.has(model ?? "")) : nodes;
    for (let replica = 0; replica < count; replica += 1) {
      const host = hosts[random.int(hosts.length)];
      if (!host) continue;
      host.cpu += plan.cpu;
      host.memory += plan.memory;
      if (gpus > 0 && model !== undefined) host.gpus.set(model, (host.gpus.get(model) ?? 0) + gpus);
    }
  }
  const slack = 1 + random.int(3);
  const made = nodes.map(({ cpu, memory, gpus }, at) =>
    sampleNode(`n${at}`, {
      cpuMilli: BigInt(cpu + random.int(slack)),
      memoryBytes: BigInt(memory + random.int(slack)),
      gpuCounts: [...gpus].map(([model, count]) => gpuCount(model, BigInt(count + random.int(2)))),
    }),
  );
  return { snapshot: cluster(made), plans };
}

function unitsOf({ plans }: Case) {
  return plans.map((plan, at) => {
    const unit: SampleUnit = {
      id: at + 1,
      count: plan.count,
      cpuMilli: BigInt(plan.cpu),
      memoryBytes: BigInt(plan.memory),
      ephemeralBytes: BigInt(plan.disk),
      gpus: BigInt(plan.gpus),
      models: plan.models.map(attributeOf),
      volumes: plan.classes.map(([name, bytes]) => volume(name, BigInt(bytes))),
    };
    return sampleUnit(unit);
  });
}

function attributeOf(model: string): string {
  const [name, memory] = model.split("/");
  return `nvidia/model/${name}${memory ? `/ram/${memory}Gi` : ""}`;
}

/** Tight on purpose: half of the groups should not fit. */
function randomCase(random: Random, mostReplicas: number): Case {
  const gpuShare = 2 + random.int(4);
  const nodes: NodeRoom[] = [];
  for (const name of ["n0", "n1", "n2", "n3"].slice(random.int(4))) {
    const twin = random.int(4) === 0 ? nodes.at(-1) : undefined;
    nodes.push(twin ? { ...twin, name } : randomNode(random, name, gpuShare, Math.ceil(mostReplicas / 6)));
  }
  const classes = { beta1: BigInt(random.int(8)), ...(random.int(2) === 0 && { beta2: undefined }) };
  let left = 1 + random.int(mostReplicas);
  const plans: Plan[] = [];
  while (left > 0) {
    const count = 1 + random.int(Math.min(left, 3));
    plans.push(randomPlan(random, count, gpuShare));
    left -= count;
  }
  return { snapshot: cluster(nodes, classes), plans };
}

function randomNode(random: Random, name: string, gpuShare: number, times: number): NodeRoom {
  const counts = random.int(gpuShare) > 1 ? [] : models.filter(() => random.int(2) === 0);
  const there = counts.map((model) => {
    const [kind = "", memory] = model.split("/");
    return gpuCount(kind, BigInt(1 + random.int(3 * times)), `${memory}Gi`);
  });
  const listed = there.reduce((sum, { count }) => sum + Number(count), 0);
  return sampleNode(name, {
    cpuMilli: BigInt(random.int(10 * times)),
    memoryBytes: BigInt(random.int(10 * times)),
    ephemeralBytes: BigInt(2 + random.int(10 * times)),
    gpuCounts: there,
    takenGpus: BigInt(random.int(3) === 0 ? random.int(listed + 1) : 0),
    volumes: random.int(3) === 0 ? BigInt(random.int(4)) : undefined,
    storageClasses: ["beta1", "beta2"].filter(() => random.int(4) > 0),
  });
}

function randomPlan(random: Random, count: number, gpuShare: number): Plan {
  const gpus = random.int(gpuShare) === 0 ? 1 + random.int(2) : 0;
  const requested = ["a100", "a100/40", "a100/80", "h100", "*", "*/80"].filter(() => random.int(4) === 0);
  const classes = ["beta1", "beta2"].filter(() => random.int(12) === 0);
  return {
    count,
    cpu: random.int(5),
    memory: random.int(5),
    disk: random.int(4),
    gpus,
    models: gpus === 0 ? [] : requested.length > 0 ? requested : ["*"],
    classes: classes.map((name) => [name, 1 + random.int(2)]),
  };
}

/** What a unit may get: the names and memories of its GPUs, as sets of what stands in `models`. */
function choicesOf(plan: Plan): (readonly string[])[] {
  if (plan.gpus === 0) return [[]];
  return ["a100", "h100"].flatMap((name) => {
    const named = plan.models.filter((model) => model.split("/")[0] === name);
    const rules = named.length > 0 ? named : plan.models.filter((model) => model.startsWith("*"));
    return rules.map((rule) => {
      const memory = rule.split("/")[1];
      return models.filter((gpu) => gpu.startsWith(name) && (memory === undefined || gpu.endsWith(memory)));
    });
  });
}

interface Placed {
  readonly plan: Plan;
  readonly node: number;
  readonly choice: readonly string[];
}

/** Whether a node can hold these, counted from the beginning. */
function holds(node: NodeRoom, placed: readonly Placed[]): boolean {
  const sum = (amount: (plan: Plan) => number) => placed.reduce((all, { plan }) => all + amount(plan), 0);
  if (sum(({ cpu }) => cpu) > Number(node.cpuMilli) || sum(({ memory }) => memory) > Number(node.memoryBytes))
    return false;
  if (sum(({ disk }) => disk) > Number(node.ephemeralBytes)) return false;
  if (node.volumes !== undefined && sum(({ classes }) => classes.length) > Number(node.volumes)) return false;
  if (placed.some(({ plan }) => plan.classes.some(([name]) => !node.storageClasses.includes(name)))) return false;
  const withGpus = placed.filter(({ plan }) => plan.gpus > 0);
  if (withGpus.reduce((all, { plan }) => all + plan.gpus, 0) > Number(node.gpus)) return false;
  const there = new Map(
    node.gpuCounts.map(({ gpu: { model, memoryGi }, count }) => [`${model}/${memoryGi}`, Number(count)]),
  );
  const here = (choice: readonly string[]) => choice.filter((gpu) => there.has(gpu));
  // Another unit that may have one of these GPUs is counted as having it.
  return withGpus.every(({ choice }) => {
    const mine = here(choice);
    const mayBeGone = withGpus
      .filter((other) => here(other.choice).some((gpu) => mine.includes(gpu)))
      .reduce((all, { plan }) => all + plan.gpus, 0);
    return (
      mine.length > 0 &&
      mayBeGone + Number(node.unknownGpus) <= mine.reduce((all, gpu) => all + (there.get(gpu) ?? 0), 0)
    );
  });
}

function classesHold({ snapshot, plans }: Case): boolean {
  const wanted = new Map<string, number>();
  for (const { classes, count } of plans) {
    for (const [name, bytes] of classes) wanted.set(name, (wanted.get(name) ?? 0) + bytes * count);
  }
  return [...wanted].every(([name, bytes]) => {
    return snapshot.classes.has(name) && bytes <= Number(snapshot.classes.get(name) ?? 10 ** 9);
  });
}

/** Every replica on every node, every unit with every choice. */
function anyWay(sample: Case): boolean {
  const { snapshot, plans } = sample;
  if (!classesHold(sample)) return false;
  const tryUnit = (at: number, placed: Placed[]): boolean => {
    const plan = plans[at];
    if (!plan) return true;
    return choicesOf(plan).some((choice) => {
      // Equal replicas are equal: the next one need not look at nodes before the last one's.
      const tryReplica = (left: number, from: number): boolean => {
        if (left === 0) return tryUnit(at + 1, placed);
        for (let node = from; node < snapshot.nodes.length; node += 1) {
          placed.push({ plan, node, choice });
          const state = snapshot.nodes[node];
          const mine = placed.filter((each) => each.node === node);
          if (state && holds(state, mine) && tryReplica(left - 1, node)) return true;
          placed.pop();
        }
        return false;
      };
      return tryReplica(plan.count, 0);
    });
  };
  return tryUnit(0, []);
}

/** The textbook's: units by size, each with the first model that does for all its replicas, nodes by name. */
function firstFitDecreasing(sample: Case, size: "cpu" | "memory" | "disk" | "gpus"): boolean {
  const { snapshot, plans } = sample;
  if (!classesHold(sample)) return false;
  let placed: Placed[] = [];
  for (const plan of plans.toSorted((left, right) => right[size] - left[size])) {
    const done = choicesOf(plan).some((choice) => {
      const before = placed;
      for (let replica = 0; replica < plan.count; replica += 1) {
        const node = snapshot.nodes.findIndex((state, at) => {
          return holds(state, [...placed.filter((each) => each.node === at), { plan, node: at, choice }]);
        });
        if (node < 0) {
          placed = before;
          return false;
        }
        placed = [...placed, { plan, node, choice }];
      }
      return true;
    });
    if (!done) return false;
  }
  return true;
}

/** What was answered is looked at with the reference's own eyes. */
function assertSound(sample: Case, fit: Extract<Fit, { fits: true }>, seed: number): void {
  const { snapshot, plans } = sample;
  const placed = fit.replicas.map(({ unit, node }): Placed => {
    const plan = plans[unit - 1];
    assert.ok(plan);
    const [attribute, ...more] = fit.offer[unit - 1]?.gpu.attributes ?? [];
    assert.equal(more.length, 0);
    const [, , , name = "", , memory] = attribute?.key.split("/") ?? [];
    const choice = models.filter(
      (gpu) => gpu.startsWith(name) && (memory === undefined || `${gpu}Gi`.endsWith(memory)),
    );
    assert.ok(
      plan.gpus === 0 || choicesOf(plan).some((each) => each.join() === choice.join()),
      `seed ${seed}: ${attribute?.key}`,
    );
    return { plan, node: snapshot.nodes.findIndex((each) => each.name === node), choice: plan.gpus > 0 ? choice : [] };
  });
  for (const plan of plans)
    assert.equal(placed.filter((each) => each.plan === plan).length, plan.count, `seed ${seed}`);
  for (const [at, node] of snapshot.nodes.entries()) {
    assert.ok(
      holds(
        node,
        placed.filter((each) => each.node === at),
      ),
      `seed ${seed}: ${node.name} is given too much`,
    );
  }
  assert.ok(classesHold(sample), `seed ${seed}: the classes`);
}

test("the reference itself says no where nothing is and yes where all is", () => {
  const plan: Plan = { count: 2, cpu: 1, memory: 1, disk: 1, gpus: 0, models: [], classes: [] };
  assert.equal(anyWay({ snapshot: cluster([]), plans: [plan] }), false);
  assert.equal(anyWay({ snapshot: cluster([sampleNode("a", { memoryBytes: gi })]), plans: [plan] }), true);
});
