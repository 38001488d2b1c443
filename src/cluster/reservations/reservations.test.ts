import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../../test/folder.ts";
import { cards, sampleUnit } from "../../../test/placement-samples.ts";
import {
  createWorld,
  groupOf,
  openStage,
  orderKey,
  pictureNode,
  type Stage,
  type World,
} from "../../../test/reservation-stage.ts";

async function stageOf(t: TestContext, world: World = createWorld()): Promise<Stage & { readonly world: World }> {
  const stage = await openStage(world, { dir: temporaryFolder(t) });
  t.after(() => stage.stop());
  return { ...stage, world };
}

/** What the order would be offered, taken. */
function reserve({ capacity }: Stage, orderId: string, ...units: ReturnType<typeof sampleUnit>[]) {
  const group = groupOf(...units);
  const fit = capacity.fit(group);
  return fit.fits ? capacity.reserve({ orderId, group, offer: fit.offer, expiresAtMs: Number.MAX_SAFE_INTEGER }) : fit;
}

const order = orderKey(1);

test("what is reserved is not free, and what is released is free again at once", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [pictureNode("a"), pictureNode("b")] });
  assert.equal(stage.freeCpu(), 16_000n);
  assert.ok(reserve(stage, order, sampleUnit({ cpuMilli: 3_000n, count: 2 })).fits);
  assert.equal(stage.freeCpu(), 10_000n);
  const released = stage.capacity.release(order, "lost");
  assert.equal(stage.freeCpu(), 16_000n);
  await released;
  await stage.capacity.release(order, "again");
  assert.equal(stage.freeCpu(), 16_000n);
});

test("of two orders for the last gpu one gets it", async (t) => {
  const stage = await stageOf(t);
  stage.show({ nodes: [pictureNode("a", { cards: [cards("h100", 1n)] })] });
  const unit = sampleUnit({ gpus: 1n, models: ["nvidia/model/*"] });
  const group = groupOf(unit);
  const [one, other] = [stage.capacity.fit(group), stage.capacity.fit(group)];
  assert.ok(one.fits && other.fits);
  const take = (orderId: string) => stage.capacity.reserve({ orderId, group, offer: one.offer, expiresAtMs: 1 }).fits;
  assert.deepEqual([take(orderKey(1)), take(orderKey(2))], [true, false]);
});
