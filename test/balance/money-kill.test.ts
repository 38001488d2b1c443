/** The same as money-crash.test.ts with a real process, a chain that it reaches over the network, and a real SIGKILL. */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openJournal } from "../../src/journal/open.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { memoryFolder } from "../support/folder.ts";
import { killAtEach, killPoints } from "../support/kill-points.ts";
import { type MoneyStage, onRealMoneyStage } from "../support/stages/money-stage.ts";
import { thorough } from "../support/thorough.ts";
import type { Command } from "./money-child.ts";
import { runMoneyStory, storyAuditor } from "./money-story.ts";

/** As fast as a small machine can. */
const blockMs = 100;

/** A process takes its time to start. */
const anyTime = Number.POSITIVE_INFINITY;

type Live = Extract<Command, { what: "live" }>;
type Kill = Pick<Live, "killAt" | "withdrawing">;

// A process takes a second to start: `npm test` leaves it at money-crash.test.ts.
if (thorough) {
  test("a provider killed at any kind of boundary withdraws nothing twice, and its books are whole when it has run again", async (t) => {
    const { crossings } = await play(t, {});
    await killAtEach(t, killPoints(crossings), async (killAt) => (await play(t, { killAt })).killed);
    const afterWithdrawal = [{ kind: "broadcast broadcast:after", nth: 1 }];
    await killAtEach(t, afterWithdrawal, async (killAt) => (await play(t, { killAt, withdrawing: true })).killed);
  });
}

/** Whether it was killed, and the boundaries of the process that lived to the end. */
async function play(t: TestContext, kill: Kill) {
  const dir = join(memoryFolder(t), "provider");
  let killed = false;
  let crossings: readonly string[] = [];
  await onRealMoneyStage(blockMs, async (stage) => {
    const task: Live = { what: "live", dir, rpcUrl: stage.node.rpcUrl, blockMs };
    const first = launch(t, { ...task, ...kill });
    await Promise.race([once(first.child, "message"), first.ended]);
    const frozen = runAndFreeze(stage);
    frozen.catch(() => undefined);
    let end = await finish(stage, first, frozen);
    killed = end === "SIGKILL";
    if (killed) end = await finish(stage, launch(t, task), frozen);
    assert.ok(end !== "SIGKILL", "the second is not killed");
    crossings = end;
    await frozen;
    await audit(stage, dir);
  });
  return { killed, crossings };
}

async function audit(stage: MoneyStage, dir: string): Promise<void> {
  const { journal } = await openJournal({ dir, clock: realClock, log: silentLog });
  try {
    await storyAuditor(stage, anyTime).audit(journal);
  } finally {
    await journal.close();
  }
}

async function runAndFreeze(stage: MoneyStage): Promise<void> {
  await runMoneyStory(stage, { payDebt: false });
  await stage.pass(3);
  stage.freeze();
}

/** Requests the process to stop after the story and returns its exit signal or code. */
async function finish(stage: MoneyStage, { child, ended }: Launched, frozen: Promise<void>) {
  await Promise.race([frozen, ended]);
  if (child.connected) child.send({ what: "end", height: stage.node.height } satisfies Command, () => undefined);
  return ended;
}

type Launched = ReturnType<typeof launch>;

function launch(t: TestContext, task: Live) {
  const child = fork(join(import.meta.dirname, "money-child.ts"), { serialization: "advanced" });
  t.after(() => child.kill("SIGKILL"));
  child.send(task);
  return { child, ended: endOf(child) };
}

/** The boundaries that it crossed, where it lived to the end. */
async function endOf(child: ChildProcess): Promise<readonly string[] | "SIGKILL"> {
  let crossings: readonly string[] | undefined;
  child.on("message", (message: "ready" | readonly string[]) => {
    if (message !== "ready") crossings = message;
  });
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  if (signal === "SIGKILL") return signal;
  assert.ok(code === 0 && crossings, `the child ended with ${code}`);
  return crossings;
}
