/**
 * Made-up orders for `npm start`, sent through the real bus, queue and journal, so that the ground can be seen at work.
 * Each order is a story: seen on the bus, decided and filed in the journal, settled, told on the bus.
 */
import type { Bus } from "../bus/bus.ts";
import type { Journal } from "../journal/journal.ts";
import { addressOf } from "../market/address.ts";
import { formatOrderId } from "../market/ids.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { invariant } from "../runtime/invariant.ts";
import type { Scope } from "../runtime/lifecycle.ts";
import { limits } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import { done, type Outcome, recheck, waiting } from "../runtime/outcome.ts";
import { createQueue, type Queue } from "../runtime/queue.ts";
import { jitter, type Random } from "../runtime/random.ts";
import type { StoryStatus } from "./status.ts";

export interface RehearsalDeps {
  readonly journal: Journal;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Rehearsal {
  readonly queue: Queue;
  /** The newest stories, oldest first. */
  readonly stories: readonly StoryStatus[];
  readonly complete: number;
}

/** A person can follow about two orders a second. */
const orderEveryMs = 400;
/** Long enough to be seen between two frames. */
const settleAfterMs = 300;
const tenants = 5;

export function startRehearsal(deps: RehearsalDeps, scope: Scope): Rehearsal {
  const { journal, bus, clock, random, log } = deps;
  const owners = Array.from({ length: tenants }, () => addressOf(random.bytes(20)));
  const stories = new Map<string, { order: string; stations: { name: string; atMs: number }[]; complete: boolean }>();
  let complete = 0;
  let posted = 0n;

  const queue = createQueue({ name: "rehearsal", work: rehearse, clock, random, log });

  /** Reads where the order stands in the journal and takes it one step further. */
  async function rehearse(order: string): Promise<Outcome> {
    const [decision] = journal.read.decisions.about(order, 1);
    if (!decision) {
      await decide(order);
      return recheck(jitter(random, settleAfterMs));
    }
    const [intent] = journal.read.intents.about(order);
    invariant(intent, "a decision to bid was written without its intent", { order });
    // One in five finds the market not ready, to show what waiting looks like.
    if (random.int(5) === 0) return waiting("market", "the made-up market is not ready");
    await journal.durable("settle", ({ intents }) => intents.settle(intent.id, "done", { rehearsed: true }));
    pass(order, "settled");
    tell(order);
    return done();
  }

  async function decide(order: string): Promise<void> {
    await journal.durable("decide", ({ decisions, intents }) => {
      const checks = [{ check: "rehearsal", passed: true, reason: "every made-up order is taken" }];
      decisions.record({ orderId: order, outcome: "bid", checks, inputs: {} });
      intents.file({ what: "createBid", subject: order, why: "rehearsal", body: {}, priority: 1 });
    });
    pass(order, "decided");
  }

  function tell(order: string): void {
    complete += 1;
    pass(order, "told");
    const story = stories.get(order);
    if (story) story.complete = true;
    bus.publish("akash.provider.bidengine.status", { orders: queue.size - 1, complete }, { retain: true });
    log.debug("a story is complete", { order });
  }

  function pass(order: string, name: string): void {
    const story = stories.get(order) ?? { order, stations: [], complete: false };
    story.stations.push({ name, atMs: clock.now() });
    stories.set(order, story);
    const oldest = stories.keys().next();
    if (stories.size > limits.rehearsalStories && !oldest.done) stories.delete(oldest.value);
  }

  const subscription = bus.subscribe(
    "akash.provider.event.order",
    ({ data }) => {
      if (!stories.has(data.order)) pass(data.order, "seen");
      queue.add(data.order);
    },
    { name: "rehearsal" },
  );
  scope.onStop(() => subscription.close());
  scope.task("queue", (signal) => queue.run(signal));
  scope.task("orders", async (signal) => {
    for (;;) {
      posted += 1n;
      const owner = owners[random.int(tenants)];
      invariant(owner, "a tenant went missing");
      const order = formatOrderId({ owner, dseq: posted, gseq: 1, oseq: 1 });
      bus.publish("akash.provider.event.order", { kind: "OrderCreated", order });
      await sleep(clock, jitter(random, orderEveryMs), signal);
    }
  });

  return {
    queue,
    get stories() {
      return [...stories.values()];
    },
    get complete() {
      return complete;
    },
  };
}
