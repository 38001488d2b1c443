/** The same as crash.test.ts with a real process and a real SIGKILL, once per boundary. */
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openJournal } from "../../src/journal/open.ts";
import { inParallel } from "../../src/runtime/in-parallel.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createCountingBoundary } from "../support/counting-boundary.ts";
import { temporaryFolder } from "../support/folder.ts";
import { counts, seeds, thorough } from "../support/thorough.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { startJournalProcess } from "./process.ts";
import { allWork, checkWork, doWork, planWork } from "./workload.ts";

// A process takes its time to start: `npm test` leaves it at crash.test.ts.
if (thorough) {
  test("a process killed at any boundary leaves a journal that another one goes on with", async (t) => {
    const folder = temporaryFolder(t);
    let killed = 0;
    for (const seed of seeds(counts(0, 1, 12))) {
      const boundaries = await countBoundaries(join(folder, `${seed}`, "data"), seed);
      const crashPoints = Array.from({ length: boundaries }, (_, index) => index + 1);
      await inParallel(crashPoints, availableParallelism(), async (crashAt) => {
        const dir = join(folder, `${seed}-${crashAt}`, "data");
        const { lines, signal } = await startJournalProcess(t, "work", dir, `${seed}`, `${crashAt}`).ended();
        assert.equal(signal, "SIGKILL", `seed ${seed} crosses boundary ${crashAt}`);
        killed += 1;
        await assertGoesOn(dir, seed, lines);
      });
    }
    assert.ok(killed > 0);
    t.diagnostic(`${killed} processes killed`);
  });
}

async function countBoundaries(dir: string, seed: number): Promise<number> {
  const boundary = createCountingBoundary();
  const clock = createVirtualClock();
  const { journal } = await openJournal({ dir, clock, log: silentLog, boundary });
  await doWork(journal, clock, planWork(seed), () => undefined);
  await journal.close();
  return boundary.crossings.length;
}

async function assertGoesOn(dir: string, seed: number, lines: string[]): Promise<void> {
  const plan = planWork(seed);
  const clock = createVirtualClock();
  const { journal, report } = await openJournal({ dir, clock, log: silentLog });
  assert.equal(report.setAside, undefined);
  const acknowledged = new Set(lines.map(Number));
  checkWork(journal.read, plan, acknowledged);
  await doWork(journal, clock, plan, (index) => acknowledged.add(index));
  assert.deepEqual(checkWork(journal.read, plan, acknowledged), allWork(plan), dir);
  await journal.close();
}
