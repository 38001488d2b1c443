/** The provider dies at every write of the journal on the way of a few orders, starts again, and ends with the same capacity. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBidId } from "../../src/market/ids.ts";
import { opensJournal } from "../support/boundary-kinds.ts";
import { createCountingBoundary, SimulatedCrash } from "../support/counting-boundary.ts";
import { memoryFolder } from "../support/folder.ts";
import { createOwner } from "../support/owner.ts";
import { gi, gpuCount, sampleUnit, volume } from "../support/samples/placement-samples.ts";
import {
  bidOf,
  createWorld,
  groupOf,
  leaseOf,
  leasePod,
  openStage,
  orderKey,
  type Stage,
  snapshotNode,
  type World,
} from "../support/stages/reservation-stage.ts";

type Truth = Map<string, "open" | "lost" | "leased" | "closed">;

const size = { gpuCounts: [gpuCount("h100", 2n), gpuCount("a100", 1n)], storageClasses: ["beta3"] };
const podTakes = { cpuMilli: 1_000n, memoryBytes: gi, gpus: 1n };
const group = groupOf(
  sampleUnit({ count: 2, gpus: 1n, models: ["nvidia/model/*"] }),
  sampleUnit({ id: 2, cpuMilli: 500n, volumes: [volume("beta3", gi)] }),
);

function picture(podsVersion: string, taken = {}) {
  const storage = [{ class: "beta3", bytes: { allocatable: 100n * gi, allocated: 0n } }];
  return {
    nodes: ["a", "b", "c"].map((name) => snapshotNode(name, size, name === "a" ? taken : {})),
    storage,
    podsVersion,
  };
}

/** What the bid engine does about an order, whenever it looks: at a start, after an event, after an error. */
async function look({ capacity, journal }: Stage, world: World, truth: Truth): Promise<void> {
  const reserved = new Set(capacity.reserved());
  for (const [orderId, state] of truth) {
    if (state === "lost") await capacity.release(orderId, "lost");
    if (state !== "open" || reserved.has(orderId)) continue;
    const fit = capacity.fit(group);
    assert.ok(fit.fits, fit.fits ? "" : fit.reason);
    const expiresAtMs = world.clock.now() + 10 ** 9;
    const taken = capacity.reserve({ orderId, group, offer: fit.offer, expiresAtMs });
    assert.ok(taken.fits);
    await journal.durable("bid", (tables) => {
      taken.write(tables);
      tables.intents.file({ what: "createBid", subject: orderId, why: "", body: {}, priority: 1 });
    });
  }
}

/** What happens to the world, one thing after the other. */
const happenings: ((world: World, truth: Truth, stage: Stage) => Promise<void> | void)[] = [
  (_, truth) => void truth.set(orderKey(1), "open").set(orderKey(2), "open"),
  (_, truth) => void truth.set(orderKey(1), "lost"),
  async (world, truth, stage) => {
    truth.set(orderKey(2), "leased");
    const key = formatBidId(bidOf(orderKey(2)));
    world.leases.set(key, leaseOf(orderKey(2)));
    await stage.step({ kind: "lease", key });
  },
  (world, _, stage) => {
    const pod = leasePod(orderKey(2), "web", { cpu: "1", gpus: 1, node: "a", version: "2" });
    world.pods.set("web", pod);
    stage.pod("web", pod);
    stage.show(picture("2", podTakes));
  },
  (_, truth) => void truth.set(orderKey(3), "open"),
  async (_, _truth, stage) => {
    stage.show({ ...picture("2", podTakes), nodes: picture("2", podTakes).nodes.slice(0, 2) });
    stage.show(picture("2", podTakes));
  },
  (_, truth) => void truth.set(orderKey(4), "open"),
  async (world, truth, stage) => {
    truth.set(orderKey(2), "closed");
    const key = formatBidId(bidOf(orderKey(2)));
    world.leases.set(key, leaseOf(orderKey(2), "closed"));
    world.pods.delete("web");
    await stage.step({ kind: "lease", key });
    stage.show(picture("3"));
  },
  (_, truth) => void truth.set(orderKey(3), "lost"),
];

interface Life {
  readonly crossings: readonly string[];
  readonly crashed: boolean;
  readonly end: unknown;
}

async function live(crashAt: number): Promise<Life> {
  await using owner = createOwner();
  const world = createWorld();
  const dir = memoryFolder(owner);
  const truth: Truth = new Map();
  const boundary = createCountingBoundary(crashAt);
  let stage = await openStage(world, { dir, boundary }).catch(() => openStage(world, { dir }));
  owner.after(() => stage.stop());
  stage.show(picture("1"));

  /** Once more after a crash, from what is left. */
  async function alive(work: () => Promise<void>): Promise<void> {
    const hadCrashed = boundary.crashed;
    try {
      await work();
      await world.clock.advance(1_000);
    } catch (thrown) {
      if (!boundary.crashed) throw thrown;
    }
    if (boundary.crashed === hadCrashed) return;
    await stage.stop().catch((thrown) => assert.ok(thrown instanceof SimulatedCrash, thrown));
    stage = await openStage(world, { dir });
    await look(stage, world, truth);
    await world.clock.advance(1_000);
  }

  for (const happen of happenings) {
    await alive(async () => {
      await happen(world, truth, stage);
      await look(stage, world, truth);
    });
  }
  const { resources, reservations, leases, conditions } = stage.status();
  const rows = stage.journal.read.reservations.all().map(({ orderId }) => orderId);
  return {
    crossings: [...boundary.crossings],
    crashed: boundary.crashed,
    end: { resources, reservations, leases, conditions, rows },
  };
}

test("a crash at any write of the journal ends in the same reservations and the same capacity as none", async (t) => {
  const whole = await live(0);
  assert.match(JSON.stringify(whole.end), new RegExp(`"reservations":1.*"rows":\\["${orderKey(4)}"\\]`));
  let crashes = 0;
  for (const [index, about] of whole.crossings.entries()) {
    if (opensJournal(about)) continue;
    const { end, crashed } = await live(index + 1);
    assert.ok(crashed);
    assert.deepEqual(end, whole.end, `crash at ${about}`);
    crashes += 1;
  }
  t.diagnostic(`${crashes} crashes`);
  assert.ok(crashes >= 10);
});
