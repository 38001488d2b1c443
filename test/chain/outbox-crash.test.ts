/** The program ends at every boundary of the outbox; what the next one makes of it must be as if nothing had happened. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ProviderError } from "../../src/runtime/errors.ts";
import { type CountingBoundary, createCountingBoundary, SimulatedCrash } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import { memoryFolder } from "../support/folder.ts";
import { type Mishap, noFaults, type OutboxRun, runOutbox } from "../support/outbox-run.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createOutboxStage } from "../support/stages/outbox-stage.ts";
import { counts, seeds } from "../support/thorough.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { checkEffects, doAct, type OutboxPlan, planOutbox, prepareOutbox } from "./outbox-workload.ts";

/** Both orders cross the same boundaries. Odd, so that it is now before, now after a write. */
const samples = { unordered: 3, ordered: 5 };

for (const ordering of ["unordered", "ordered"] as const) {
  test(`after a crash at any boundary every intent has one effect or none, ${ordering}`, async (t) => {
    const folder = memoryFolder(t);
    await playCrashes(t, `outbox-crash ${ordering}`, {
      seeds: seeds(counts(1, 3, 20)),
      sample: { every: samples[ordering] },
      async whole(seed) {
        const boundary = createCountingBoundary();
        await runPlan(join(folder, `${seed}`), planOutbox(seed), ordering, boundary);
        return boundary;
      },
      async crash({ seed, crashAt }) {
        const boundary = createCountingBoundary(crashAt);
        await runPlan(join(folder, `${seed}-${crashAt}`), planOutbox(seed), ordering, boundary);
        assert.ok(boundary.crashed);
      },
    });
  });
}

/** The plan from beginning to end, with one crash on the way if the boundary has one. */
async function runPlan(
  dir: string,
  plan: OutboxPlan,
  ordering: "ordered" | "unordered",
  boundary: CountingBoundary,
): Promise<void> {
  await using owner = createOwner();
  const clock = createVirtualClock();
  const stage = await createOutboxStage({ clock, genesis: { unordered: ordering === "unordered" } });
  const fixture = await prepareOutbox(stage, plan);
  const coming: Mishap[] = [];
  const faults = { ...noFaults(), mishap: () => coming.shift() };
  const world = { clock, stage, faults };
  let run = await begin(owner, world, dir, boundary);
  for (const act of plan.acts) {
    if (act.kind === "mishaps") coming.push(...act.list);
    run = await survive(owner, world, dir, boundary, run, (on) => doAct(act, plan, fixture, on));
  }
  faults.blocks = "followed";
  run = await survive(owner, world, dir, boundary, run, untilSettled);
  checkEffects(run.journal.read, stage, plan, fixture);
  run = await survive(owner, world, dir, boundary, run, ({ stop }) => stop());
}

type World = Parameters<typeof runOutbox>[1];

async function begin(owner: Owner, world: World, dir: string, boundary: CountingBoundary): Promise<OutboxRun> {
  try {
    return await runOutbox(owner, world, { dir, boundary });
  } catch (thrown) {
    if (!isCrash(thrown)) throw thrown;
    return runOutbox(owner, world, { dir });
  }
}

/** Does the work; when the program ends on the way, does it again with the next one. */
async function survive(
  owner: Owner,
  world: World,
  dir: string,
  boundary: CountingBoundary,
  run: OutboxRun,
  work: (on: OutboxRun) => Promise<void>,
): Promise<OutboxRun> {
  const crashedBefore = boundary.crashed;
  try {
    await work(run);
  } catch (thrown) {
    if (!isCrash(thrown)) throw thrown;
  }
  if (boundary.crashed === crashedBefore) return run;
  await run.stop();
  const next = await runOutbox(owner, world, { dir });
  await work(next);
  return next;
}

/** The crash itself, or a journal that died of it. */
function isCrash(thrown: unknown): boolean {
  if (thrown instanceof SimulatedCrash) return true;
  return (
    thrown instanceof ProviderError && (thrown.cause instanceof SimulatedCrash || thrown.code === "AKP_JOURNAL_CLOSED")
  );
}

async function untilSettled(run: OutboxRun): Promise<void> {
  for (let blocks = 0; !run.crashed && run.outbox.counts.owed > 0; blocks++) {
    assert.ok(blocks < 100, "everything is settled in the end");
    await run.block(20_000);
  }
}
