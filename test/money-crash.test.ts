/** Our provider ends at every boundary of a story about money, and the next one finishes it: as if nothing had happened. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createCountingBoundary, SimulatedCrash } from "../src/runtime/boundary.ts";
import { sleep } from "../src/runtime/clock.ts";
import { limits } from "../src/runtime/limits.ts";
import { memoryFolder } from "./folder.ts";
import { type Life, onMoneyStage } from "./money-stage.ts";
import { storyAuditor, storyParts, tellMoneyStory } from "./money-story.ts";
import { long } from "./runs.ts";

const blockMs = 6_000;
/** Within which our provider notices that old debt was paid. */
const debtBlocks = limits.booksDebtsEveryMs / blockMs + 3;
/** Blocks that pass before the next life begins. */
const absences = [0, 2, 9];

interface Playing {
  readonly seed: number;
  /** Counted from 1; 0 for none. */
  readonly crashAt: number;
}

interface Played {
  readonly crossings: readonly string[];
  readonly crashed: boolean;
}

test("wherever the provider ends on the way, nothing is withdrawn twice and every line is in the books once", async (t) => {
  const whole = await play(t, { seed: 0, crashAt: 0 });
  let crashes = 0;
  const points = crashPoints(whole.crossings);
  for (const { seed, crashAt } of points) {
    const where = `seed ${seed}, crash at ${crashAt}, about ${whole.crossings[crashAt - 1]}`;
    const played = await play(t, { seed, crashAt }).catch((thrown: unknown) => {
      throw new Error(where, { cause: thrown });
    });
    if (played.crashed) crashes += 1;
  }
  t.diagnostic(`${whole.crossings.length} boundaries, ${crashes} crashes`);
  assert.ok(crashes > 0);
});

/** Every one of them in the long run, with several seeds; else one of each kind of unit that is about money. */
function crashPoints(crossings: readonly string[]): Playing[] {
  const all = crossings.map((_, index) => index + 1);
  if (long) return [1, 2, 3].flatMap((seed) => all.map((crashAt) => ({ seed, crashAt })));
  const kinds = new Map(
    crossings.map((crossing, index) => [crossing.replace(/ and \d+ more|[0-9A-F]{64}/, ""), index + 1]),
  );
  const about = [...kinds].filter(([kind]) => /^(journal (book|file w|settle)|broadcast).*after$/.test(kind));
  return about.map(([, crashAt], index) => ({ seed: index + 1, crashAt }));
}

async function play(t: TestContext, { seed, crashAt }: Playing): Promise<Played> {
  const parts = storyParts(join(memoryFolder(t), "provider"), blockMs);
  const crash = Promise.withResolvers<void>();
  const boundary = createCountingBoundary(crashAt, (at) => {
    crash.resolve();
    throw new SimulatedCrash(at);
  });
  await onMoneyStage(blockMs, async (stage) => {
    const told = tellMoneyStory(stage, { pauseBlocks: seed % 4, payDebt: true });
    told.catch(() => undefined);
    const finish = async (life: Life): Promise<"finished"> => {
      const { journal } = await life.ready;
      await Promise.race([told, life.ended]);
      await stage.pass(debtBlocks);
      await sleep(stage.clock, blockMs / 2);
      await storyAuditor(stage, Math.max(...absences)).audit(journal);
      await life.stop();
      return "finished";
    };
    const first = stage.live({ ...parts, boundary });
    const finished = finish(first);
    // Whatever a provider says that ends in a crash does not matter.
    finished.catch(() => undefined);
    if ((await Promise.race([crash.promise, finished])) === "finished") return;
    await first.stop().catch(() => undefined);
    await stage.pass(absences[seed % absences.length] ?? 0);
    await finish(stage.live(parts));
  });
  return { crossings: boundary.crossings, crashed: boundary.crashed };
}
