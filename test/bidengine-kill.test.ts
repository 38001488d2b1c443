/** The same as bidengine-crash.test.ts with a real process, a chain that it reaches over the network, and a real SIGKILL. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ChildTask } from "./bid-child.ts";
import { type BidHistory, checkEnd, ordersOf, tellStory } from "./bid-history.ts";
import { onRealBidStage } from "./bid-stage.ts";
import { memoryFolder } from "./folder.ts";
import { long } from "./runs.ts";

/**
 * Before and after what costs money; the long run kills one at every boundary, until all live to the end. On a busy machine
 * a bid may be written together with something else, and under its name: then it is killed just before it sends the bid.
 */
const quick = [/^journal bid .*commit:after|^broadcast .*before/, /^broadcast .*after/];
/** Only the long run waits for bids to become too old: for longer than a process takes to start on a busy machine. */
const late = long ? "timed out" : "order closed";
const bidTimeoutMs = long ? 20_000 : 600_000;
/** They mostly wait for that. */
const atOnce = 8;

type KillAt = NonNullable<ChildTask["killAt"]>;

interface Played {
  readonly history: BidHistory;
  readonly killed: boolean;
}

test("a provider killed at any boundary makes the same bids when it runs again, and gets every deposit back", async (t) => {
  let killed = 0;
  for (let first = 1; ; first += atOnce) {
    const killAt = long ? Array.from({ length: atOnce }, (_, index) => first + index) : quick;
    const all = await Promise.all(killAt.map((at) => play(t, at)));
    killed += all.filter((each) => each.killed).length;
    // How many boundaries there are depends on what is written together.
    if (!long || all.every((each) => !each.killed)) break;
  }
  assert.ok(killed >= quick.length);
  t.diagnostic(`${killed} processes killed`);
});

async function play(t: TestContext, killAt: KillAt): Promise<Played> {
  let played: Played | undefined;
  const dir = join(memoryFolder(t), "provider");
  await onRealBidStage(t, async (stage) => {
    await Promise.all(["one", "two", "three"].map((name) => stage.register(name)));
    const task = { dir, rpcUrl: stage.node.rpcUrl, secret: stage.secret("one"), bidTimeoutMs, orders: ordersOf(stage) };
    const begun = Promise.withResolvers<void>();
    const live = async () => {
      const first = await runChild(t, { ...task, killAt }, begun.resolve);
      begun.resolve();
      const history = first ?? (await runChild(t, task));
      assert.ok(history, "nobody kills the second");
      played = { history, killed: !first };
    };
    await Promise.all([live(), begun.promise.then(() => tellStory(stage, 0, late))]);
  }).catch((thrown: unknown) => {
    throw new Error(`killed at ${killAt}`, { cause: thrown });
  });
  assert.ok(played);
  const { history } = played;
  assert.doesNotThrow(() => checkEnd(history, late), `killed at ${killAt}`);
  return played;
}

/** Undefined where it was killed. */
async function runChild(t: TestContext, task: ChildTask, onReady?: () => void): Promise<BidHistory | undefined> {
  const child = fork(join(import.meta.dirname, "bid-child.ts"), { serialization: "advanced" });
  t.after(() => child.kill("SIGKILL"));
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  let history: BidHistory | undefined;
  child.on("message", (told: "ready" | BidHistory) => {
    if (told === "ready") onReady?.();
    else history = told;
  });
  child.send(task);
  const [code, signal] = await ended;
  assert.ok(signal === "SIGKILL" || (code === 0 && history), `the child ended with ${code}`);
  return signal === "SIGKILL" ? undefined : history;
}
