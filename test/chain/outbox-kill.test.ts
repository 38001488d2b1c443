/** The same as outbox-crash.test.ts with a real process and a real SIGKILL. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { KillPoint } from "../support/boundary-kinds.ts";
import { memoryFolder } from "../support/folder.ts";
import { killAtEach, killPoints } from "../support/kill-points.ts";
import { noFaults, runOutbox } from "../support/outbox-run.ts";
import { createOutboxStage, type OutboxStage } from "../support/stages/outbox-stage.ts";
import { thorough } from "../support/thorough.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import type { ChildEnd, ChildQuestion, ParentAnswer } from "./outbox-child.ts";
import { checkEffects, doAct, type OutboxFixture, planOutbox, prepareOutbox } from "./outbox-workload.ts";

const seed = 3;

// A process takes a second to start: `npm test` leaves it at outbox-crash.test.ts.
if (thorough) {
  test("a process killed at any kind of boundary leaves work that another one finishes, once", async (t) => {
    const { crossings } = await play(t);
    await killAtEach(t, killPoints(crossings), async (at) => (await play(t, at)).signal === "SIGKILL");
  });
}

async function play(t: TestContext, killAt?: KillPoint) {
  const dir = join(memoryFolder(t), "data");
  const clock = createVirtualClock(Date.now());
  const stage = await createOutboxStage({ clock });
  const plan = planOutbox(seed);
  const fixture = await prepareOutbox(stage, plan);
  const end = await runChild(t, stage, fixture, [dir, `${seed}`, ...(killAt ? [killAt.kind, `${killAt.nth}`] : [])]);
  // The next process does the rest: what was not filed, and what was not settled.
  const world = { clock, stage, faults: noFaults() };
  const run = await runOutbox(t, world, { dir });
  const everything = { kind: "file", intents: plan.intents.map((_, index) => index) } as const;
  await doAct(everything, plan, fixture, run);
  for (let blocks = 0; run.outbox.counts.owed > 0; blocks++) {
    assert.ok(blocks < 100, "everything is settled in the end");
    await run.block(20_000);
  }
  checkEffects(run.journal.read, stage, plan, fixture);
  await run.stop();
  return end;
}

/** The signal that ended it, or the boundaries that it crossed. */
async function runChild(t: TestContext, stage: OutboxStage, fixture: OutboxFixture, args: readonly string[]) {
  const child = fork(join(import.meta.dirname, "outbox-child.ts"), args, { serialization: "advanced" });
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  t.after(() => child.kill("SIGKILL"));
  let crossings: readonly string[] = [];
  child.on("message", (message: ChildQuestion | ChildEnd) => {
    if ("crossings" in message) {
      crossings = message.crossings;
      return;
    }
    const { id, method, args } = message;
    const answer = async () => {
      if (method === "fixture") return fixture;
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
  return { signal, crossings };
}
