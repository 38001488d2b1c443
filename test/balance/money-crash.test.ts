/** Our provider ends at every boundary of a story about money, and the next one finishes it: as if nothing had happened. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { booksDebtsEveryMs } from "../../src/balance/bookkeeper.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { createCountingBoundary, SimulatedCrash } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import { memoryFolder } from "../support/folder.ts";
import type { Life } from "../support/money-life.ts";
import { onMoneyStage } from "../support/stages/money-stage.ts";
import { counts, seeds } from "../support/thorough.ts";
import { runMoneyStory, storyAuditor, storyParts } from "./money-story.ts";

const blockMs = 6_000;
/** Within which our provider notices that old debt was paid. */
const debtBlocks = booksDebtsEveryMs / blockMs + 3;
/** Blocks that pass before the next life begins. */
const absences = [0, 2, 9];

interface Playing {
  readonly seed: number;
  /** Counted from 1; 0 for none. */
  readonly crashAt: number;
  /** Until the next life. */
  readonly awayBlocks: number;
}

interface Played {
  readonly crossings: readonly string[];
  readonly crashed: boolean;
}

test("after a crash at any boundary nothing is withdrawn twice and every line is in the books once", async (t) => {
  await playCrashes(t, "money-crash", {
    seeds: seeds(counts(1, 1, 3)),
    sample: { every: 5, about: /book|withdrawals|broadcast/ },
    whole: (seed) => play(t, { seed, crashAt: 0, awayBlocks: 0 }),
    async crash({ seed, crashAt, index }) {
      const { crashed } = await play(t, { seed, crashAt, awayBlocks: absences[index % absences.length] ?? 0 });
      assert.ok(crashed);
    },
  });
});

async function play(t: TestContext, { seed, crashAt, awayBlocks }: Playing): Promise<Played> {
  const parts = storyParts(join(memoryFolder(t), "provider"), blockMs);
  const crash = Promise.withResolvers<void>();
  const boundary = createCountingBoundary(crashAt, (at) => {
    crash.resolve();
    throw new SimulatedCrash(at);
  });
  await onMoneyStage(blockMs, async (stage) => {
    const story = runMoneyStory(stage, { pauseBlocks: seed % 4, payDebt: true });
    story.catch(() => undefined);
    const finish = async (life: Life): Promise<"finished"> => {
      const { journal } = await life.ready;
      await Promise.race([story, life.ended]);
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
    await stage.pass(awayBlocks);
    await finish(stage.live(parts));
  });
  return { crossings: boundary.crossings, crashed: boundary.crashed };
}
