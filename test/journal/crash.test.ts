/** The process ends at every boundary of the journal in turn; what it leaves behind must always be sound. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openJournal } from "../../src/journal/open.ts";
import type { Boundary } from "../../src/runtime/boundary.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createCountingBoundary, SimulatedCrash } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import type { StoryCase } from "../support/failed-cases.ts";
import { memoryFolder } from "../support/folder.ts";
import { counts, seeds } from "../support/thorough.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";
import { allWork, checkWork, doWork, planWork } from "./workload.ts";

test("a crash at any boundary loses nothing acknowledged, halves nothing, and the work goes on", async (t) => {
  const folder = memoryFolder(t);
  const [dir, left] = [join(folder, "live", "data"), join(folder, "left")];
  async function play({ seed, crashAt }: StoryCase) {
    const plan = planWork(seed);
    const result = await crash(dir, left, crashAt, (journal, clock, acknowledge) =>
      doWork(journal, clock, plan, acknowledge),
    );
    if (crashAt > 0) await assertGoesOn(left, plan, result.acknowledged);
    for (const path of [join(folder, "live"), left]) rmSync(path, { recursive: true, force: true });
    return result;
  }
  await playCrashes(t, "journal/crash", {
    seeds: seeds(counts(2, 12, 120)),
    sample: { every: 1 },
    opens: true,
    whole: (seed) => play({ seed, crashAt: 0 }),
    crash: async ({ seed, crashAt }) => assert.equal((await play({ seed, crashAt })).crossings.length, crashAt),
  });
});

test("a crash at any boundary while a damaged journal is set aside keeps its bytes and reports it", async (t) => {
  const folder = memoryFolder(t);
  const damaged = await makeDamaged(join(folder, "damaged"));
  const wanted = digest(join(damaged, "journal.db"));
  let points = 0;
  for (let crashAt = 1; ; crashAt++) {
    const dir = join(folder, "live");
    const left = join(folder, "left");
    cpSync(damaged, dir, { recursive: true });
    const { crossings } = await crash(dir, left, crashAt, () => Promise.resolve());
    if (crossings.length < crashAt) break;
    points += 1;
    const { journal } = await openJournal({ dir: left, clock: createVirtualClock(), log: silentLog });
    const kept = readdirSync(left).filter((name) => name.startsWith("journal.damaged-") && name.endsWith(".db"));
    assert.ok(
      kept.some((name) => digest(join(left, name)) === wanted),
      `crash at ${crashAt}: the damaged bytes are kept`,
    );
    for (const name of kept) {
      const lines = journal.read.history.about(join(left, name), 10);
      assert.equal(lines.length, 1, `crash at ${crashAt}: ${name} is reported once`);
    }
    await journal.close();
    for (const path of [dir, left]) rmSync(path, { recursive: true, force: true });
  }
  assert.ok(points >= 10, "setting aside crosses boundaries");
  t.diagnostic(`${points} crash points while setting aside`);
});

type Work = (
  journal: Awaited<ReturnType<typeof openJournal>>["journal"],
  clock: VirtualClock,
  acknowledge: (index: number) => void,
) => Promise<void>;

/** Opens a journal, works, closes it; at the chosen boundary the files are copied as a dead process leaves them. */
async function crash(dir: string, left: string, crashAt: number, work: Work) {
  const acknowledged = new Set<number>();
  const boundary = createCountingBoundary(crashAt, (at) => {
    if (!existsSync(left)) copyAsLeft(dir, left);
    throw new SimulatedCrash(at);
  });
  const clock = createVirtualClock();
  try {
    await runOnce({ dir, clock, boundary }, work, (index) => acknowledged.add(index));
  } catch (error) {
    if (!boundary.crashed) throw error;
  }
  return { crossings: boundary.crossings, acknowledged };
}

function copyAsLeft(dir: string, left: string): void {
  if (existsSync(dir)) cpSync(dir, left, { recursive: true });
  else mkdirSync(left);
}

async function runOnce(
  { dir, clock, boundary }: { dir: string; clock: VirtualClock; boundary: Boundary },
  work: Work,
  acknowledge: (index: number) => void,
): Promise<void> {
  const { journal } = await openJournal({ dir, clock, log: silentLog, boundary });
  try {
    await work(journal, clock, acknowledge);
  } finally {
    await journal.close();
  }
}

async function assertGoesOn(dir: string, plan: ReturnType<typeof planWork>, acknowledged: Set<number>) {
  const clock = createVirtualClock();
  const { journal, report } = await openJournal({ dir, clock, log: silentLog });
  try {
    assert.equal(report.setAside, undefined);
    checkWork(journal.read, plan, acknowledged);
    await doWork(journal, clock, plan, (index) => acknowledged.add(index));
    assert.deepEqual(checkWork(journal.read, plan, acknowledged), allWork(plan));
  } finally {
    await journal.close();
  }
}

/** Sound but for its log, so that a log moved without its file would pass for a journal of an earlier day. */
async function makeDamaged(dir: string): Promise<string> {
  const clock = createVirtualClock();
  const { journal } = await openJournal({ dir, clock, log: silentLog });
  await doWork(journal, clock, planWork(1), () => undefined);
  await journal.close();
  const database = new DatabaseSync(join(dir, "journal.db"));
  database.exec("PRAGMA application_id = 1");
  const left = `${dir}-left`;
  cpSync(dir, left, { recursive: true });
  database.close();
  return left;
}

function digest(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
