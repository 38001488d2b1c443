/** The same as money-crash.test.ts with a real process, a chain that it reaches over the network, and a real SIGKILL. */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openJournal } from "../src/journal/open.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { memoryFolder } from "./folder.ts";
import type { Asked } from "./money-child.ts";
import { type MoneyStage, onRealMoneyStage } from "./money-stage.ts";
import { storyAuditor, tellMoneyStory } from "./money-story.ts";
import { long } from "./runs.ts";

/** The long run kills one at every boundary, until all live to the end. */
const quick = ["withdrawal"] as const;
/** As fast as a small machine can. */
const blockMs = 100;
/** They mostly wait for blocks. */
const atOnce = 8;

/** A process takes its time to start. */
const anyTime = Number.POSITIVE_INFINITY;

type Live = Extract<Asked, { what: "live" }>;
type KillAt = NonNullable<Live["killAt"]>;

test("a provider killed at any boundary withdraws nothing twice, and its books are whole when it has run again", async (t) => {
  let killed = 0;
  for (let first = 1; ; first += atOnce) {
    const killAt: readonly KillAt[] = long ? Array.from({ length: atOnce }, (_, index) => first + index) : quick;
    const all = await Promise.all(killAt.map((at) => isKilled(t, at)));
    killed += all.filter((each) => each).length;
    // How many boundaries there are depends on what is written together.
    if (!long || all.every((each) => !each)) break;
  }
  assert.ok(killed >= quick.length);
  t.diagnostic(`${killed} processes killed`);
});

async function isKilled(t: TestContext, killAt: KillAt): Promise<boolean> {
  const dir = join(memoryFolder(t), "provider");
  let killed = false;
  await onRealMoneyStage(blockMs, async (stage) => {
    const task: Live = { what: "live", dir, rpcUrl: stage.node.rpcUrl, blockMs };
    const first = launch(t, { ...task, killAt });
    await Promise.race([once(first.child, "message"), first.ended]);
    const frozen = tellAndFreeze(stage);
    frozen.catch(() => undefined);
    killed = (await finish(stage, first, frozen)) === "SIGKILL";
    if (killed) assert.equal(await finish(stage, launch(t, task), frozen), 0, "nobody kills the second");
    await frozen;
    await audit(stage, dir);
  }).catch((thrown: unknown) => {
    throw new Error(`killed at ${killAt}`, { cause: thrown });
  });
  return killed;
}

async function audit(stage: MoneyStage, dir: string): Promise<void> {
  const { journal } = await openJournal({ dir, clock: realClock, log: silentLog });
  try {
    await storyAuditor(stage, anyTime).audit(journal);
  } finally {
    await journal.close();
  }
}

async function tellAndFreeze(stage: MoneyStage): Promise<void> {
  await tellMoneyStory(stage, { payDebt: false });
  await stage.pass(3);
  stage.freeze();
}

/** Asks the process to end once the story is told, and says how it ended. */
async function finish(stage: MoneyStage, { child, ended }: Launched, frozen: Promise<void>): Promise<unknown> {
  await Promise.race([frozen, ended]);
  if (child.connected) child.send({ what: "end", height: stage.node.height } satisfies Asked, () => undefined);
  return ended;
}

type Launched = ReturnType<typeof launch>;

function launch(t: TestContext, task: Live) {
  const child = fork(join(import.meta.dirname, "money-child.ts"), { serialization: "advanced" });
  t.after(() => child.kill("SIGKILL"));
  child.send(task);
  return { child, ended: exitOf(child) };
}

async function exitOf(child: ChildProcess): Promise<number | NodeJS.Signals> {
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  assert.ok(code === 0 || signal === "SIGKILL", `the child ended with ${code}`);
  return code ?? signal ?? 0;
}
