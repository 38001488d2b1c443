/** What every bus does, whatever it is made of. Both implementations run exactly this. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Bus, BusLimits, Message } from "../src/bus/bus.ts";
import type { TopicPattern } from "../src/bus/topics.ts";
import { ProviderError } from "../src/runtime/errors.ts";
import { type Log, silentLog } from "../src/runtime/log.ts";
import { anySteps, checkAgainstModel } from "./bus.model.ts";
import { eventually } from "./eventually.ts";
import { createOwner, type Owner } from "./owner.ts";
import { runs } from "./runs.ts";

/** Two handles on the same bus, as two processes would have them. */
export interface BusPair {
  readonly first: Bus;
  readonly second: Bus;
}

export interface BusContract {
  readonly name: string;
  readonly skip: false | string;
  open(owner: Owner, options?: { limits?: Partial<BusLimits>; log?: Log }): Promise<BusPair>;
}

export function checkBusContract({ name, skip, open }: BusContract): void {
  describe(`the ${name} bus`, { skip }, () => {
    test("messages of a topic arrive in the order they were published", async (t) => {
      const { first } = await open(t);
      const seen = listen(first, "akash.provider.event.order");
      for (let n = 0; n < 100; n += 1) publishOrder(first, n);
      await eventually("all", () => seen.length >= 100);
      assert.deepEqual(seen.map(orderOf), count(100));
      assert.ok(seen.every(({ retained }) => !retained));
    });

    test("a subscriber gets the retained value first, then what comes later", async (t) => {
      const { first, second } = await open(t);
      first.publish("inventory.nodes", { n: 1 }, { retain: true });
      first.publish("inventory.nodes", { n: 2 }, { retain: true });
      first.publish("inventory.nodes", { n: 3 });
      await first.flush();
      const seen = listen(second, "inventory.nodes");
      await second.flush();
      first.publish("inventory.nodes", { n: 4 });
      first.publish("inventory.nodes", { n: 5 }, { retain: true });
      await eventually("all", () => seen.length >= 3);
      assert.deepEqual(values(seen), [
        [true, { n: 2 }],
        [false, { n: 4 }],
        [false, { n: 5 }],
      ]);
      const late = listen(first, "inventory.nodes");
      await eventually("the retained one", () => late.length >= 1);
      assert.deepEqual(values(late), [[true, { n: 5 }]]);
    });

    test("whoever comes while messages flow gets the retained value and then each later one, none left out or twice", async (t) => {
      const { first, second } = await open(t, { limits: { busReadEntries: 2 } });
      const listeners: Message[][] = [];
      for (let n = 0; n < 300; n += 1) {
        first.publish("akash.provider.balance.wallet", { n }, { retain: true });
        if (n % 30 === 20) listeners.push(listen(second, "akash.provider.balance.*"));
        if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      for (const seen of listeners) {
        const numbers = () => seen.map(({ data }) => (data as { n: number }).n);
        await eventually("the last", () => numbers().at(-1) === 299);
        assert.deepEqual(numbers(), count(300).slice(numbers()[0]));
        assert.deepEqual(seen.filter(({ retained }) => retained).length, seen[0]?.retained ? 1 : 0);
      }
    });

    test("what was not retained is not told to those who come later", async (t) => {
      const { first, second } = await open(t);
      publishOrder(first, 1);
      await first.flush();
      const seen = listen(second, "akash.provider.event.order");
      await second.flush();
      publishOrder(first, 2);
      await eventually("the second", () => seen.length >= 1);
      assert.deepEqual(seen.map(orderOf), [2]);
    });

    test("a pattern brings a whole family, members that did not exist before included", async (t) => {
      const { first, second } = await open(t);
      first.publish("akash.provider.balance.wallet", { uakt: "7" }, { retain: true });
      first.publish("inventory.nodes", { n: 1 }, { retain: true });
      await first.flush();
      const seen = listen(second, "akash.provider.balance.*");
      await second.flush();
      first.publish("akash.provider.balance.escrow.summary", { uakt: "8" });
      await eventually("both", () => seen.length >= 2);
      assert.deepEqual(
        seen.map(({ topic, retained }) => [topic, retained]),
        [
          ["akash.provider.balance.wallet", true],
          ["akash.provider.balance.escrow.summary", false],
        ],
      );
    });

    test("both handles see what either publishes, their own messages too", async (t) => {
      const { first, second } = await open(t);
      const atFirst = listen(first, "akash.provider.event.lease");
      const atSecond = listen(second, "akash.provider.event.lease");
      await Promise.all([first.flush(), second.flush()]);
      first.publish("akash.provider.event.lease", { kind: "LeaseCreated", lease: "a/1/1/1/p" });
      await first.flush();
      second.publish("akash.provider.event.lease", { kind: "LeaseClosed", lease: "a/1/1/1/p" });
      for (const seen of [atFirst, atSecond]) {
        await eventually("both messages", () => seen.length >= 2);
        assert.deepEqual(
          seen.map(({ data }) => data["kind"]),
          ["LeaseCreated", "LeaseClosed"],
        );
      }
    });

    test("a slow subscriber loses the oldest, learns how many of which topic, and slows nobody down", async (t) => {
      const { first } = await open(t, { limits: { busSubscriberMessages: 4 } });
      const gate = Promise.withResolvers<void>();
      const slow: number[] = [];
      const told: [string, number][] = [];
      const subscription = first.subscribe(
        "akash.provider.event.*",
        async (message) => {
          slow.push(orderOf(message as Message));
          await gate.promise;
        },
        { onDropped: (topic, dropped) => void told.push([topic, dropped]) },
      );
      const quick = listen(first, "akash.provider.event.*");
      for (let n = 0; n < 10; n += 1) {
        if (n % 5 === 2) first.publish("akash.provider.event.lease", { kind: "LeaseClosed", lease: String(n) });
        else publishOrder(first, n);
        await eventually("the quick one", () => quick.length > n);
      }
      assert.deepEqual(slow, [0]);
      assert.equal(subscription.waiting, 4);
      assert.deepEqual([...subscription.dropped].sort(), [
        ["akash.provider.event.lease", 1],
        ["akash.provider.event.order", 4],
      ]);
      gate.resolve();
      await eventually("the rest", () => slow.length >= 5);
      assert.deepEqual(slow, [0, 6, 7, 8, 9]);
      assert.deepEqual(told.sort(), [...subscription.dropped].sort());
      assert.equal(first.counts.get("akash.provider.event.order")?.dropped, 4);
    });

    test("a subscriber that holds up heavy messages is bounded by their weight", async (t) => {
      const { first } = await open(t, { limits: { busSubscriberBytes: 10_000 } });
      let started = 0;
      const subscription = first.subscribe("akash.provider.balance.*", () => {
        started += 1;
        return new Promise<void>(() => undefined);
      });
      const publish = (n: number) => first.publish("akash.provider.balance.wallet", { n, text: "x".repeat(1_000) });
      publish(0);
      await eventually("the first", () => started === 1);
      for (let n = 1; n < 30; n += 1) publish(n);
      await eventually("the drops", () => subscription.dropped.get("akash.provider.balance.wallet") === 20);
      assert.equal(subscription.waiting, 9);
    });

    test("a handler that throws is logged and counted, gets the next message, and disturbs nobody", async (t) => {
      const lines: string[] = [];
      const log: Log = { ...silentLog, error: (line) => void lines.push(line) };
      const { first } = await open(t, { log });
      const got: number[] = [];
      first.subscribe("akash.provider.event.order", (message) => {
        got.push(orderOf(message));
        if (got.length === 1) throw new Error("on purpose");
        return got.length === 2 ? Promise.reject(new Error("on purpose, later")) : undefined;
      });
      const seen = listen(first, "akash.provider.event.order");
      for (let n = 0; n < 3; n += 1) publishOrder(first, n);
      await eventually("all", () => got.length >= 3 && seen.length >= 3);
      assert.deepEqual(got, [0, 1, 2]);
      assert.deepEqual(seen.map(orderOf), [0, 1, 2]);
      await eventually("the counts", () => first.counts.get("akash.provider.event.order")?.delivered === 6);
      assert.equal(first.counts.get("akash.provider.event.order")?.failed, 2);
      assert.equal(lines.filter((line) => line === "bus subscriber failed").length, 2);
    });

    test("one subscriber's handler runs one message at a time", async (t) => {
      const { first } = await open(t);
      let running = 0;
      let most = 0;
      let ended = 0;
      first.subscribe("akash.provider.event.order", async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        ended += 1;
      });
      for (let n = 0; n < 20; n += 1) publishOrder(first, n);
      await eventually("all", () => ended === 20);
      assert.equal(most, 1);
    });

    test("after close no handler starts, not even for what waited", async (t) => {
      const { first } = await open(t);
      const got: number[] = [];
      const subscription = first.subscribe("akash.provider.event.order", (message) => {
        got.push(orderOf(message));
        subscription.close();
      });
      const seen = listen(first, "akash.provider.event.order");
      for (let n = 0; n < 5; n += 1) publishOrder(first, n);
      await eventually("the other subscriber", () => seen.length >= 5);
      assert.deepEqual(got, [0]);
      assert.equal(subscription.waiting, 0);
    });

    test("a closed bus delivers nothing more and counts what is published as dropped", async (t) => {
      const { first } = await open(t);
      const seen = listen(first, "akash.provider.event.order");
      await first.flush();
      await first.close();
      publishOrder(first, 1);
      await first.flush();
      assert.deepEqual(seen, []);
      assert.equal(first.counts.get("akash.provider.event.order")?.dropped, 1);
    });

    test("messages are frozen copies, so that nobody changes what another one gets", async (t) => {
      const { first } = await open(t);
      const seen = listen(first, "inventory.nodes");
      const mine = { nodes: [{ name: "a" }] };
      first.publish("inventory.nodes", mine, { retain: true });
      (mine.nodes[0] as { name: string }).name = "changed";
      await eventually("the message", () => seen.length >= 1);
      const message = seen[0]!;
      assert.deepEqual(message.data, { nodes: [{ name: "a" }] });
      assert.ok(Object.isFrozen(message));
      const [node] = message.data["nodes"] as [object];
      assert.throws(() => Object.assign(node, { name: "b" }), TypeError);
    });

    test("a message that is too large is refused, with its size", async (t) => {
      const { first } = await open(t, { limits: { busMessageBytes: 100 } });
      const publish = () => first.publish("inventory.nodes", { text: "ä".repeat(60) });
      assert.throws(publish, (error) => {
        return ProviderError.is(error, "AKP_BUS_MESSAGE_TOO_LARGE") && error.details["bytes"] === 131;
      });
      assert.equal(first.counts.get("inventory.nodes")?.published ?? 0, 0);
    });

    test("what the types forbid is stopped at run time too", async (t) => {
      const { first } = await open(t);
      const untyped = first as unknown as {
        publish(topic: string, data: unknown): void;
        subscribe(pattern: string, handler: () => void): void;
      };
      assert.throws(() => untyped.publish("akash.provider.nonsense", {}), /topics\.ts/);
      assert.throws(() => untyped.publish("akash.provider.balance.*", {}), /topics\.ts/);
      assert.throws(() => untyped.publish("akash.provider.event.order", { kind: "OrderCreated" }), /form/);
      assert.throws(
        () => untyped.publish("akash.provider.event.order", { kind: "OrderCreated", order: "a", price: 1 }),
        /form/,
      );
      assert.throws(() => untyped.publish("inventory.nodes", [1]), /form/);
      assert.throws(() => untyped.subscribe("akash.nonsense.*", () => undefined), /never published/);
    });

    test("a family cannot grow by a topic per key", async (t) => {
      const { first } = await open(t, { limits: { busTopics: 3 } });
      for (const member of ["a", "b", "c"]) first.publish(`akash.provider.balance.${member}`, {});
      assert.throws(() => first.publish("akash.provider.balance.d", {}), /keys travel in the data/);
    });

    test("counts say what went through, by topic", async (t) => {
      const { first } = await open(t);
      const seen = listen(first, "inventory.*");
      first.publish("inventory.nodes", { n: 1 }, { retain: true });
      first.publish("inventory.nodes", { n: 2 });
      first.publish("inventory.storage", { n: 3 });
      await eventually("all", () => seen.length >= 3);
      await eventually("the counts", () => first.counts.get("inventory.storage")?.delivered === 1);
      assert.deepEqual(first.counts.get("inventory.nodes"), {
        published: 2,
        delivered: 2,
        dropped: 0,
        failed: 0,
        malformed: 0,
        retained: true,
      });
      assert.equal(first.counts.get("inventory.storage")?.retained, false);
    });

    test("any mix of publishing and subscribing gives what a simple model says", async () => {
      await fc.assert(
        fc.asyncProperty(anySteps, async (steps) => {
          await using owner = createOwner();
          await checkAgainstModel(await open(owner), steps);
        }),
        { numRuns: runs(15, 300) },
      );
    });
  });
}

/** All that arrives, as a list that grows. */
export function listen(bus: Bus, pattern: TopicPattern): (Message & { data: Record<string, unknown> })[] {
  const seen: (Message & { data: Record<string, unknown> })[] = [];
  bus.subscribe(pattern, (message) => void seen.push(message as never));
  return seen;
}

export function publishOrder(bus: Bus, n: number): void {
  bus.publish("akash.provider.event.order", { kind: "OrderCreated", order: String(n) });
}

/** The number that `publishOrder` put in, or that a lease event carries. */
export function orderOf({ data }: { data: unknown }): number {
  const { order, lease } = data as { order?: string; lease?: string };
  return Number(order ?? lease);
}

function values(messages: readonly Message[]): [boolean, unknown][] {
  return messages.map(({ retained, data }) => [retained, data]);
}

export function count(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index);
}
