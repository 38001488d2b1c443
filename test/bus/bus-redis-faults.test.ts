/** What the bus over Redis does when Redis goes away, comes back empty, hangs or fails over. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import type { Bus } from "../../src/bus/bus.ts";
import { createRedisBus } from "../../src/bus/redis.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { type Log, silentLog } from "../../src/runtime/log.ts";
import { count, listen, listenNow, orderOf, publishOrder } from "../support/contracts/bus.contract.ts";
import { startProxy } from "../support/cuttable-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { openBus } from "../support/redis-bus.ts";
import { type RedisServer, redisMissing, startRedis, stoppedRedisPort } from "../support/redis-server.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const orders = "akash.provider.event.order";
const nodes = "inventory.nodes";

const connected = (...buses: Bus[]) => eventually("connected", () => buses.every(({ state }) => state.connected));
const disconnected = (...buses: Bus[]) =>
  eventually("disconnected", () => buses.every(({ state }) => !state.connected));
const reasonOf = ({ state }: Bus) => state.detail;
const keptIn = async (server: RedisServer) => {
  const text = await server.command("GET", `akash-provider:${nodes}`);
  return text === null ? undefined : JSON.parse(String(text)).data;
};

describe("the Redis bus and its faults", { skip: redisMissing }, () => {
  test("while Redis is absent this process hears itself, events for others are dropped, and retained values are kept", async (t) => {
    const port = await stoppedRedisPort(t);
    const { bus, lines } = openBus(t, { url: `redis://127.0.0.1:${port}` });
    const { seen } = listenNow(bus, orders);
    for (let n = 0; n < 10; n += 1) publishOrder(bus, n);
    for (const n of [1, 2]) bus.publish(nodes, { n });
    await eventually("its own messages", () => seen.length === 10);
    await eventually("an attempt", () => /ECONNREFUSED/.test(reasonOf(bus)));
    assert.equal(bus.counts.get(orders)?.dropped, 10);
    const server = await startRedis(t, { port });
    await connected(bus);
    assert.deepEqual(bus.state, { connected: true, detail: `127.0.0.1:${port}` });
    assert.deepEqual(await eventually("the retained value", () => keptIn(server)), { n: 2 });
    assert.equal(bus.counts.get(nodes)?.dropped, 0);
    const errors = lines.filter(([, fields]) => ProviderError.is(fields?.["error"], "AKP_BUS_UNREACHABLE"));
    const refused = errors.filter(([, fields]) => String(fields?.["error"]).includes("ECONNREFUSED"));
    assert.equal(refused.length, 1);
  });

  test("cut connections are made again, and later messages arrive", async (t) => {
    const server = await startRedis(t);
    const opened = [openBus(t, { url: server.url }), openBus(t, { url: server.url })] as const;
    const [{ bus: publisher }, { bus }] = opened;
    const seen = await listen(bus, orders);
    publishOrder(publisher, 1);
    await eventually("the first", () => seen.length === 1);
    for (const type of ["normal", "pubsub"]) await server.command("CLIENT", "KILL", "TYPE", type, "SKIPME", "yes");
    for (const { lines } of opened) {
      const times = () => lines.filter(([line]) => line === "connected to Redis").length;
      await eventually("connected again", () => times() === 2);
    }
    publishOrder(publisher, 2);
    await eventually("the second", () => seen.length === 2);
    assert.deepEqual(seen.map(orderOf), [1, 2]);
  });

  test("a subscriber that was cut off gets the value that was retained meanwhile", async (t) => {
    const server = await startRedis(t);
    const wire = await startProxy(t, server.port);
    const [{ bus: publisher }, { bus }] = [openBus(t, { url: server.url }), openBus(t, { url: wire.url })];
    const seen = await listen(bus, nodes);
    publisher.publish(nodes, { n: 1 });
    await eventually("the first", () => seen.length === 1);
    wire.target = undefined;
    wire.cut();
    await disconnected(bus);
    publisher.publish(nodes, { n: 2 });
    await eventually("the key", async () => (await keptIn(server)).n === 2);
    wire.target = server.port;
    await eventually("the second", () => seen.at(-1)?.data["n"] === 2);
    assert.equal(seen.at(-1)?.retained, true);
  });

  test("a Redis that was killed and comes back empty gets the retained values again", async (t) => {
    const server = await startRedis(t);
    const [{ bus: publisher }, { bus }] = [openBus(t, { url: server.url }), openBus(t, { url: server.url })];
    publisher.publish(nodes, { n: 1 });
    await eventually("the key", () => keptIn(server));
    const seen = await listen(bus, orders);
    await server.kill();
    await disconnected(publisher, bus);
    const again = await startRedis(t, { port: server.port });
    await eventually("the retained value", () => keptIn(again));
    await connected(publisher, bus);
    publishOrder(publisher, 1);
    await eventually("the later message", () => seen.length === 1);
  });

  test("a Redis that hangs is left, and taken up again when it goes on", async (t) => {
    const server = await startRedis(t);
    const { bus } = openBus(t, { url: server.url }, { answerMs: 250 });
    await connected(bus);
    server.pause();
    publishOrder(bus, 1);
    bus.publish(nodes, { n: 1 });
    await disconnected(bus);
    assert.equal(bus.counts.get(orders)?.dropped, 1);
    assert.match(reasonOf(bus), /no answer within 250 ms/);
    server.resume();
    await connected(bus);
    assert.deepEqual(await eventually("the retained value", () => keptIn(server)), { n: 1 });
  });

  test("a Redis that takes messages too slowly is left, and gets the retained value from the next connection", async (t) => {
    const server = await startRedis(t);
    const { bus, lines } = openBus(t, { url: server.url }, { outgoingChars: 10_000 });
    await connected(bus);
    for (let n = 1; n <= 200; n += 1) publishOrder(bus, n);
    for (const n of [1, 2, 3]) bus.publish(nodes, { n });
    await eventually("the last one", async () => (await keptIn(server))?.n === 3);
    const dropped = bus.counts.get(orders)?.dropped ?? 0;
    assert.ok(dropped > 50, `${dropped} dropped`);
    assert.ok(lines.some(([, fields]) => String(fields?.["error"]).includes("too slowly")));
  });

  test("a stall of this process is not blamed on Redis", async (t) => {
    const server = await startRedis(t);
    const { bus, lines } = openBus(t, { url: server.url }, { answerMs: 500 });
    await connected(bus);
    const endMs = performance.now() + 1_200;
    // While Redis answers, nothing here looks.
    do spawnSync("redis-cli", ["-p", `${server.port}`, "PING"]);
    while (performance.now() < endMs);
    const seen = await listen(bus, orders);
    publishOrder(bus, 1);
    await eventually("a message", () => seen.length === 1);
    assert.ok(!lines.some(([line]) => line === "Redis unreachable"));
  });

  test("a replica, which takes no writes, counts as unreachable", async (t) => {
    const master = await startRedis(t);
    const replica = await startRedis(t, { args: ["--replicaof", "127.0.0.1", String(master.port)] });
    const { bus } = openBus(t, { url: replica.url });
    bus.publish(nodes, { n: 1 });
    await eventually("the error", () => /READONLY/.test(reasonOf(bus)));
  });
});

test("attempts to connect become rarer up to a bound, each is logged while its reason is new, and closing ends the pause", async (t) => {
  const clock = createVirtualClock();
  const reasons: string[] = [];
  const log: Log = { ...silentLog, error: (_, fields) => void reasons.push(String(fields?.["error"])) };
  const random = createSeededRandom(1);
  // Only root may listen on port 1.
  const bus = createRedisBus({ url: "redis://127.0.0.1:1", clock, random, log });
  t.after(() => bus.close());
  const attempted = async (wanted: number) => {
    for (const _ of count(wanted)) {
      await eventually("a pause", () => clock.pendingTimers === 1 && reasonOf(bus).includes("ECONNREFUSED"));
      await clock.advance(6_000);
    }
  };
  await attempted(3);
  assert.equal(reasons.length, 1);
  await bus.close();
  assert.equal(clock.pendingTimers, 0);
  assert.deepEqual(bus.state, { connected: false, detail: "127.0.0.1:1: the bus is closed" });
});
