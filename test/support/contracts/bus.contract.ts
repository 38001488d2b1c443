/** What every bus does, whatever it is made of. Both implementations run exactly this. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Bus, BusOptions, Message } from "../../../src/bus/bus.ts";
import { watchTopics } from "../../../src/bus/bus-service.ts";
import { type TopicPattern, topicNames, topicsMatching } from "../../../src/bus/topics.ts";
import { ProviderError } from "../../../src/runtime/errors.ts";
import { type Log, silentLog } from "../../../src/runtime/log.ts";
import { eventually } from "../eventually.ts";
import { createOwner, type Owner } from "../owner.ts";
import { runs } from "../runs.ts";

/** Two handles on the same bus, as two processes would have them. */
export interface BusPair {
  readonly first: Bus;
  readonly second: Bus;
}

export interface BusContract {
  readonly name: string;
  readonly skip: false | string;
  open(owner: Owner, options?: Partial<Pick<BusOptions, "limits" | "log">>): BusPair;
}

const orders = "akash.provider.event.order";
const leases = "akash.provider.event.lease";
const nodes = "inventory.nodes";

export function checkBusContract({ name, skip, open }: BusContract): void {
  describe(`the ${name} bus`, { skip }, () => {
    test("messages of a topic arrive in the order they were published, in this process and in others", async (t) => {
      const { first, second } = open(t);
      const [here, there] = [await listen(first, orders), await listen(second, orders)];
      for (let n = 0; n < 100; n += 1) publishOrder(first, n);
      for (const seen of [here, there]) {
        await eventually("all", () => seen.length >= 100);
        assert.deepEqual(seen.map(orderOf), count(100));
        assert.ok(seen.every(({ retained }) => !retained));
      }
    });

    test("a subscriber gets the retained value first, then what comes later", async (t) => {
      const { first, second } = open(t);
      const probe = await listen(second, nodes);
      for (const n of [1, 2]) first.publish(nodes, { n });
      await eventually("both", () => probe.length === 2);
      const seen = await listen(second, nodes);
      first.publish(nodes, { n: 3 });
      await eventually("the later one", () => seen.length === 2);
      const shown = seen.map(({ retained, data }) => [retained, data]);
      assert.deepEqual(shown, [
        [true, { n: 2 }],
        [false, { n: 3 }],
      ]);
    });

    test("events are not retained", async (t) => {
      const { first, second } = open(t);
      const probe = await listen(second, orders);
      publishOrder(first, 1);
      await eventually("the first", () => probe.length === 1);
      const seen = await listen(second, orders);
      publishOrder(first, 2);
      await eventually("the second", () => seen.length >= 1);
      assert.deepEqual(seen.map(orderOf), [2]);
    });

    test("a subscriber that comes while values flow ends with the newest", async (t) => {
      const { first, second } = open(t);
      await listen(first, nodes);
      const listeners: Seen[][] = [];
      for (let n = 0; n < 300; n += 1) {
        first.publish(nodes, { n });
        if (n % 30 === 20) listeners.push(listenNow(second, "inventory.*").seen);
        if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      for (const seen of listeners) await eventually("the last", () => seen.at(-1)?.data["n"] === 299);
    });

    test("a pattern brings every topic that begins like it, and no other", async (t) => {
      const { first, second } = open(t);
      const seen = await listen(second, "akash.provider.balance.*");
      first.publish(nodes, { n: 1 });
      first.publish("akash.provider.balance.wallet", { wallet: [] });
      first.publish("akash.provider.balance.low", { denom: "uakt", threshold: "warn", low: true });
      await eventually("both", () => seen.length >= 2);
      const arrived = seen.map(({ topic }) => topic);
      assert.deepEqual(arrived, ["akash.provider.balance.wallet", "akash.provider.balance.low"]);
    });

    test("both handles see what either publishes, once each", async (t) => {
      const { first, second } = open(t);
      const [atFirst, atSecond] = [await listen(first, leases), await listen(second, leases)];
      first.publish(leases, { kind: "LeaseCreated", lease: "1" });
      await eventually("the first", () => atSecond.length === 1);
      second.publish(leases, { kind: "LeaseClosed", lease: "2" });
      for (const seen of [atFirst, atSecond]) {
        await eventually("both messages", () => seen.length >= 2);
        assert.deepEqual(seen.map(orderOf), [1, 2]);
      }
    });

    test("a slow subscriber loses the oldest messages, and delays no other", async (t) => {
      const { first } = open(t, { limits: { subscriberMessages: 4 } });
      const gate = Promise.withResolvers<void>();
      const slow: number[] = [];
      const subscription = first.subscribe("akash.provider.event.*", (message) => {
        slow.push(orderOf(message));
        return gate.promise;
      });
      const quick = await listen(first, "akash.provider.event.*");
      for (let n = 0; n < 10; n += 1) {
        if (n % 5 === 2) first.publish(leases, { kind: "LeaseClosed", lease: String(n) });
        else publishOrder(first, n);
        await eventually("the quick one", () => quick.length > n);
      }
      assert.deepEqual(slow, [0]);
      assert.equal(subscription.dropped, 5);
      assert.deepEqual([first.counts.get(leases)?.dropped, first.counts.get(orders)?.dropped], [1, 4]);
      gate.resolve();
      await eventually("the rest", () => slow.length >= 5);
      assert.deepEqual(slow, [0, 6, 7, 8, 9]);
    });

    test("messages that wait for a subscriber are bounded by their size too", async (t) => {
      const { first } = open(t, { limits: { subscriberChars: 10_000 } });
      let started = 0;
      const subscription = first.subscribe(nodes, () => {
        started += 1;
        return new Promise<void>(() => undefined);
      });
      first.publish(nodes, {});
      await eventually("the first", () => started === 1);
      for (let n = 1; n < 30; n += 1) first.publish(nodes, { text: "x".repeat(950) });
      assert.ok(subscription.dropped >= 19 && subscription.dropped <= 20, `${subscription.dropped} dropped`);
    });

    test("a handler that throws is logged and counted, gets the next message, and disturbs no other", async (t) => {
      const lines: string[] = [];
      const log: Log = { ...silentLog, error: (line) => void lines.push(line) };
      const { first } = open(t, { log });
      const got: number[] = [];
      first.subscribe(orders, (message) => {
        got.push(orderOf(message));
        if (got.length === 1) throw new Error("on purpose");
        return got.length === 2 ? Promise.reject(new Error("on purpose, later")) : undefined;
      });
      const seen = await listen(first, orders);
      for (let n = 0; n < 3; n += 1) publishOrder(first, n);
      await eventually("the counts", () => first.counts.get(orders)?.delivered === 6);
      assert.deepEqual([got, seen.map(orderOf)], [count(3), count(3)]);
      assert.equal(first.counts.get(orders)?.failed, 2);
      assert.equal(lines.filter((line) => line === "bus subscriber failed").length, 2);
    });

    test("one subscriber's handler runs one message at a time", async (t) => {
      const { first } = open(t);
      let running = 0;
      let ended = 0;
      first.subscribe(orders, async () => {
        running += 1;
        assert.equal(running, 1);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        ended += 1;
      });
      for (let n = 0; n < 20; n += 1) publishOrder(first, n);
      await eventually("all", () => ended === 20);
      assert.equal(first.counts.get(orders)?.failed, 0);
    });

    test("after close no handler starts, not even for what waited", async (t) => {
      const { first, second } = open(t);
      const got: number[] = [];
      const subscription = first.subscribe(orders, (message) => {
        got.push(orderOf(message));
        subscription.close();
      });
      const seen = await listen(first, orders);
      for (let n = 0; n < 5; n += 1) publishOrder(first, n);
      await eventually("the other subscriber", () => seen.length >= 5);
      publishOrder(second, 5);
      await eventually("the other process", () => seen.length >= 6);
      assert.deepEqual(got, [0]);
    });

    test("a closed bus delivers nothing more, not even to other processes", async (t) => {
      const { first, second } = open(t);
      const [{ seen }, probe] = [listenNow(first, orders), await listen(second, orders)];
      publishOrder(first, 0);
      await first.close();
      publishOrder(first, 1);
      await first.close();
      assert.deepEqual(seen, []);
      if (first === second) return;
      publishOrder(second, 2);
      await eventually("its own", () => probe.length === 2);
      assert.deepEqual(new Set(probe.map(orderOf)), new Set([0, 2]));
    });

    test("each subscriber has a copy of its own", async (t) => {
      const { first } = open(t);
      const [seen, other] = [await listen(first, nodes), await listen(first, nodes)];
      const mine = { nodes: [{ name: "a" }] };
      first.publish(nodes, mine);
      (mine.nodes[0] as { name: string }).name = "changed";
      await eventually("the message", () => seen.length + other.length >= 2);
      const [message] = seen;
      assert.ok(message);
      (message.data["nodes"] as object[]).pop();
      assert.deepEqual(other[0]?.data, { nodes: [{ name: "a" }] });
    });

    test("a message that is too large is rejected, with its size", (t) => {
      const { first } = open(t, { limits: { messageBytes: 100 } });
      const publish = () => first.publish(nodes, { text: "ä".repeat(60) });
      assert.throws(publish, (error) => {
        return ProviderError.is(error, "AKP_BUS_MESSAGE_TOO_LARGE") && Number(error.details["bytes"]) > 131;
      });
      assert.equal(first.counts.get(nodes)?.published ?? 0, 0);
    });

    test("what the types forbid is stopped at run time too", (t) => {
      const { first } = open(t);
      const untyped = first as unknown as {
        publish(topic: string, data: unknown): void;
        subscribe(pattern: string, handler: () => void): void;
      };
      assert.throws(() => untyped.publish("akash.provider.nonsense", {}), /topics\.ts/);
      assert.throws(() => untyped.publish("akash.provider.balance.*", {}), /topics\.ts/);
      assert.throws(() => untyped.publish(orders, { kind: "OrderCreated" }), /form/);
      assert.throws(() => untyped.publish(orders, { kind: "OrderCreated", order: "a", price: 1 }), /form/);
      assert.throws(() => untyped.publish(nodes, [1]), /form/);
      assert.throws(() => untyped.subscribe("akash.nonsense.*", () => undefined), /topics\.ts/);
    });

    test("who watches topics gets retained values, then news, and how many were missed meanwhile", async (t) => {
      const { first, second } = open(t, { limits: { subscriberMessages: 2 } });
      const probe = await listen(second, nodes);
      first.publish(nodes, { n: 1 });
      await eventually("the value", () => probe.length === 1);
      const stop = new AbortController();
      const watched = watchTopics(second, [nodes], stop.signal);
      const read = async () => {
        const { value } = await watched.next();
        assert.ok(value);
        return value;
      };
      const value = await read();
      assert.deepEqual([value.topic, value.retained, value.data], [nodes, true, { n: 1 }]);
      for (const n of [2, 3, 4, 5]) {
        first.publish(nodes, { n });
        await eventually("the news", () => probe.length === n);
      }
      const later = await read();
      assert.deepEqual([later.data, later.missed], [{ n: 4 }, 2]);
      assert.equal((await read()).missed, undefined);
      stop.abort(new Error("enough"));
      await assert.rejects(watched.next(), /enough/);
    });

    test("after any mix of publishing and subscribing everyone has the last value of each topic", async () => {
      const retaining = ["inventory.nodes", "inventory.storage", "akash.provider.manifest.status"] as const;
      const patterns = [...retaining, "inventory.*", "*"] as const;
      const step = fc.oneof(
        { weight: 4, arbitrary: fc.record({ by: fc.nat(1), publish: fc.constantFrom(...retaining) }) },
        { weight: 2, arbitrary: fc.record({ by: fc.nat(1), subscribe: fc.constantFrom(...patterns) }) },
        { weight: 1, arbitrary: fc.record({ close: fc.nat(20) }) },
      );
      const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        await using owner = createOwner();
        const { first, second } = open(owner);
        const last = new Map<string, number>();
        const following: { pattern: TopicPattern; seen: Seen[]; close: () => void }[] = [];
        for (const [n, each] of steps.entries()) {
          // A retained topic has one publisher.
          const bus = "publish" in each || ("by" in each && each.by === 0) ? first : second;
          if ("publish" in each) {
            bus.publish(each.publish, { n });
            last.set(each.publish, n);
          } else if ("subscribe" in each) {
            following.push({ pattern: each.subscribe, ...listenNow(bus, each.subscribe) });
          } else {
            following.splice(each.close % Math.max(1, following.length), 1)[0]?.close();
          }
        }
        const isCurrent = ({ pattern, seen }: (typeof following)[number]) =>
          topicsMatching(pattern).every(
            (topic) => seen.findLast((message) => message.topic === topic)?.data["n"] === last.get(topic),
          );
        await eventually("the last values", () => following.every(isCurrent));
      });
      await fc.assert(property, { numRuns: runs(15, 300) });
    });

    test("counts say what went through, by topic", async (t) => {
      const { first } = open(t);
      await listen(first, "inventory.*");
      first.publish(nodes, { n: 1 });
      first.publish(nodes, { n: 2 });
      await eventually("the counts", () => first.counts.get(nodes)?.delivered === 2);
      const counts = { published: 2, delivered: 2, dropped: 0, failed: 0, malformed: 0 };
      assert.deepEqual([...first.counts], [[nodes, counts]]);
      assert.ok(topicNames.includes(nodes));
    });
  });
}

export type Seen = Message & { data: Record<string, unknown> };

/** All that arrives, as a list that grows; messages of other processes too from when it resolves. */
export async function listen(bus: Bus, pattern: TopicPattern): Promise<Seen[]> {
  const { seen } = listenNow(bus, pattern);
  await eventually("a connection", () => bus.state.connected);
  return seen;
}

export function listenNow(bus: Bus, pattern: TopicPattern) {
  const seen: Seen[] = [];
  const { close } = bus.subscribe(pattern, ({ topic, data, retained, publishedAtMs }) => {
    seen.push({ topic, data, retained, publishedAtMs } as Seen);
  });
  return { seen, close };
}

export function publishOrder(bus: Bus, n: number): void {
  bus.publish(orders, { kind: "OrderCreated", order: String(n) });
}

/** The number that `publishOrder` put in, or that a lease event carries. */
export function orderOf({ data }: { data: unknown }): number {
  const { order, lease } = data as { order?: string; lease?: string };
  return Number(order ?? lease);
}

export function count(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index);
}
