/** The same as bidengine-crash.test.ts with a real process, a chain that it reaches over the network, and a real SIGKILL. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { realClock } from "../../src/runtime/clock.ts";
import type { KillPoint } from "../support/boundary-kinds.ts";
import { memoryFolder } from "../support/folder.ts";
import { killAtEach, killPoints } from "../support/kill-points.ts";
import { type BidStage, onRealBidStage } from "../support/stages/bid-stage.ts";
import { thorough } from "../support/thorough.ts";
import type { ChildTask } from "./bid-child.ts";
import { type BidHistory, checkEnd, lateBidEnds, ordersOf, playStory } from "./bid-history.ts";

/** Longer than any machine takes to start a process. */
const bidTimeoutMs = 300_000;

// A process takes a second to start: `npm test` leaves it at bidengine-crash.test.ts.
if (thorough) {
  test("a provider killed at any kind of boundary makes the same bids when it runs again, and gets every deposit back", async (t) => {
    const whole = await play(t, undefined, undefined);
    const early = killPoints(whole.early);
    const late = killPoints(whole.late).filter(({ kind }) => !early.some((each) => each.kind === kind));
    await killAtEach(t, early, async (at) => (await play(t, at, undefined)).killed);
    await killAtEach(t, late, async (at) => (await play(t, undefined, at)).killed);
  });
}

/**
 * Killed before all but one order is decided, its tenant closes that one in the end; otherwise the last bid becomes too old
 * while the provider is away and all clocks are set ahead, and the next one may be killed on the way of that.
 */
async function play(t: TestContext, killEarly: KillPoint | undefined, killLate: KillPoint | undefined) {
  const dir = join(memoryFolder(t), "provider");
  let aheadMs = 0;
  let early: readonly string[] = [];
  let late: readonly string[] = [];
  let killed = false;
  const clock = { ...realClock, now: () => realClock.now() + aheadMs };

  async function onStage(stage: BidStage): Promise<void> {
    await Promise.all(["one", "two", "three"].map((name) => stage.register(name)));
    const { rpcUrl } = stage.node;
    const common = { dir, rpcUrl, secret: stage.secret("one"), bidTimeoutMs, orders: ordersOf(stage) };
    /** Lives until so many bids are open, and once more where it is killed. */
    async function live(openBids: number, killAt: KillPoint | undefined, story: () => Promise<unknown>) {
      const task = { ...common, aheadMs, openBids };
      const begun = Promise.withResolvers<void>();
      const survive = async () => {
        const first = await runChild(t, { ...task, ...(killAt && { killAt }) }, begun.resolve);
        begun.resolve();
        killed ||= !first;
        const history = first ?? (await runChild(t, task));
        assert.ok(history, "the second child is not killed");
        return history;
      };
      const [history] = await Promise.all([survive(), begun.promise.then(story)]);
      return history;
    }
    if (killEarly) {
      const story = () => playStory(stage, 0).then(() => lateBidEnds(stage, "order closed"));
      return checkEnd(await live(0, killEarly, story), "order closed");
    }
    early = (await live(1, undefined, () => playStory(stage, 0))).crossings;
    aheadMs = bidTimeoutMs;
    const end = await live(0, killLate, () => lateBidEnds(stage));
    late = end.crossings;
    checkEnd(end);
  }

  await onRealBidStage(t, onStage, clock);
  return { early, late, killed };
}

/** Undefined where it was killed. */
async function runChild(t: TestContext, task: ChildTask, onReady?: () => void): Promise<BidHistory | undefined> {
  const child = fork(join(import.meta.dirname, "bid-child.ts"), { serialization: "advanced" });
  t.after(() => child.kill("SIGKILL"));
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  let history: BidHistory | undefined;
  child.on("message", (message: "ready" | BidHistory) => {
    if (message === "ready") onReady?.();
    else history = message;
  });
  child.send(task);
  const [code, signal] = await ended;
  assert.ok(signal === "SIGKILL" || (code === 0 && history), `the child ended with ${code}`);
  return signal === "SIGKILL" ? undefined : history;
}
