/** The same as outbox-crash.test.ts with a real process and a real SIGKILL. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createVirtualClock } from "../src/runtime/clock.ts";
import { memoryFolder } from "./folder.ts";
import type { ChildQuestion, ParentAnswer } from "./outbox-child.ts";
import { noFaults, runOutbox } from "./outbox-run.ts";
import { createOutboxStage, type OutboxStage } from "./outbox-stage.ts";
import { checkEffects, doAct, type Ground, planOutbox, prepareGround } from "./outbox-workload.ts";
import { runs } from "./runs.ts";

const seed = 3;

/** A process takes about a second. The long run kills one at every boundary, until one lives to the end. */
const step = runs(7, 1);

test("a process killed at any boundary leaves work that another one finishes, once", async (t) => {
  const folder = memoryFolder(t);
  let killed = 0;
  for (let crashAt = step; await isKilled(t, join(folder, `${crashAt}`), crashAt); crashAt += step) killed += 1;
  assert.ok(killed > 0);
  t.diagnostic(`${killed} processes killed, one at ${step === 1 ? "each boundary" : `every ${step}th boundary`}`);
});

async function isKilled(t: TestContext, dir: string, crashAt: number): Promise<boolean> {
  const clock = createVirtualClock(Date.now());
  const stage = await createOutboxStage({ clock });
  const plan = planOutbox(seed);
  const ground = await prepareGround(stage, plan);
  const signal = await runChild(t, stage, ground, dir, crashAt);
  // The next process does the rest: what was not filed, and what was not settled.
  const world = { clock, stage, faults: noFaults() };
  const run = await runOutbox(t, world, { dir });
  const everything = { kind: "file", intents: plan.intents.map((_, index) => index) } as const;
  await doAct(everything, plan, ground, run);
  for (let blocks = 0; run.outbox.counts.owed > 0; blocks++) {
    assert.ok(blocks < 100, `everything is settled in the end, killed at ${crashAt}`);
    await run.block(20_000);
  }
  checkEffects(run.journal.read, stage, plan, ground);
  await run.stop();
  return signal === "SIGKILL";
}

async function runChild(t: TestContext, stage: OutboxStage, ground: Ground, dir: string, crashAt: number) {
  const args = [dir, `${seed}`, `${crashAt}`];
  const child = fork(join(import.meta.dirname, "outbox-child.ts"), args, { serialization: "advanced" });
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  t.after(() => child.kill("SIGKILL"));
  child.on("message", (question: ChildQuestion) => {
    const { id, method, args } = question;
    const answer = async () => {
      if (method === "ground") return ground;
      // Time passes for the chain whenever the child looks.
      if (method === "head") await stage.step();
      return (stage.broadcaster[method] as (...args: unknown[]) => Promise<unknown>)(...args);
    };
    void answer().then((value) => {
      if (child.connected) child.send({ id, value } satisfies ParentAnswer);
    });
  });
  const [code, signal] = await ended;
  assert.ok(code === 0 || signal === "SIGKILL", `the child ended with ${code}`);
  return signal;
}
