/** What the bus over Redis does when Redis goes away, comes back different, or hangs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Bus, Message } from "../src/bus/bus.ts";
import { redisAddress } from "../src/bus/redis-address.ts";
import { openConnection } from "../src/bus/redis-connection.ts";
import { realClock } from "../src/runtime/clock.ts";
import { count, listen, orderOf, publishOrder } from "./bus.contract.ts";
import { startProxy } from "./cuttable-proxy.ts";
import { eventually } from "./eventually.ts";
import { createOwner } from "./owner.ts";
import { openBus } from "./redis-bus.ts";
import { type RedisServer, redisMissing, startRedis, stoppedRedisPort } from "./redis-server.ts";
import { runs } from "./runs.ts";

const orders = "akash.provider.event.order";

const connected = (bus: Bus) => eventually("connected", () => bus.state.state === "connected");
const disconnected = (bus: Bus) => eventually("disconnected", () => bus.state.state === "connecting");
const cutAll = (server: RedisServer) => server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");

/** The first time that each came. */
function firstTimes(seen: readonly Message[]): number[] {
  return [...new Set(seen.map(orderOf))];
}

/** Before which message the wire is set to break, and after how many bytes more. */
const anyCuts = fc.array(fc.record({ at: fc.nat(59), bytes: fc.integer({ min: 1, max: 600 }) }), { maxLength: 6 });
let cutRuns = 0;

/** Sends sixty messages from one bus to another, of which one is at the end of a wire that breaks. */
async function publishThroughCuts(
  server: RedisServer,
  cuts: readonly { at: number; bytes: number }[],
  who: "reader" | "publisher",
): Promise<{ seen: Message[]; bus: Bus }> {
  await using owner = createOwner();
  cutRuns += 1;
  const prefix = `cut-${cutRuns}:`;
  const wire = await startProxy(owner, server.port);
  const urlOf = (end: "reader" | "publisher") => (who === end ? wire.url : server.url);
  const { bus: publisher } = openBus(owner, { url: urlOf("publisher"), prefix });
  const { bus } = openBus(owner, { url: urlOf("reader"), prefix }, { busReadEntries: 7 });
  const seen = listen(bus, orders);
  await Promise.all([bus.flush(), publisher.flush()]);
  for (let n = 0; n < 60; n += 1) {
    for (const { bytes } of cuts.filter(({ at }) => at === n)) wire.cutAfter(bytes);
    publishOrder(publisher, n);
    if (n % 3 === 0) await publisher.flush();
  }
  await eventually("the messages", () => firstTimes(seen).length >= 60);
  return { seen, bus };
}

describe("the Redis bus in trouble", { skip: redisMissing }, () => {
  test("a Redis that is absent at start is reported once, and found when it appears with nothing lost", async (t) => {
    const port = await stoppedRedisPort(t);
    const { bus, lines } = openBus(t, { url: `redis://127.0.0.1:${port}` });
    const seen = listen(bus, orders);
    for (let n = 0; n < 10; n += 1) publishOrder(bus, n);
    const reason = () => (bus.state.state === "connecting" ? bus.state.reason : "");
    await eventually("an attempt", () => /ECONNREFUSED/.test(reason()));
    assert.deepEqual(seen, []);
    await startRedis(t, { port });
    await eventually("the messages", () => seen.length >= 10);
    assert.deepEqual(seen.map(orderOf), count(10));
    assert.deepEqual(bus.state, { state: "connected", address: `127.0.0.1:${port}` });
    const refused = lines.filter(([, fields]) => String(fields?.["reason"]).includes("ECONNREFUSED"));
    assert.equal(refused.length, 1);
    assert.equal(refused[0]?.[1]?.["code"], "AKP_BUS_UNREACHABLE");
  });

  test("while Redis is away the oldest messages go, by topic, but never the last retained value", async (t) => {
    const port = await stoppedRedisPort(t);
    const { bus } = openBus(t, { url: `redis://127.0.0.1:${port}` }, { busOutgoingMessages: 5 });
    bus.publish("inventory.nodes", { n: 1 }, { retain: true });
    bus.publish("inventory.nodes", { n: 2 }, { retain: true });
    bus.publish("inventory.storage", { n: 3 });
    for (let n = 0; n < 20; n += 1) publishOrder(bus, n);
    const seen = listen(bus, "*");
    const server = await startRedis(t, { port });
    await eventually("what was kept", () => seen.length >= 6);
    assert.deepEqual(
      seen.map(({ topic, data }) => [topic, data["n"] ?? Number(data["order"])]),
      [["inventory.nodes", 2], ...[15, 16, 17, 18, 19].map((n) => [orders, n])],
    );
    assert.deepEqual(
      ["inventory.nodes", "inventory.storage", orders].map((topic) => bus.counts.get(topic)?.dropped),
      [1, 1, 15],
    );
    const late = listen(openBus(t, { url: server.url }).bus, "inventory.nodes");
    await eventually("the retained value", () => late.length >= 1);
    assert.deepEqual([late[0]?.retained, late[0]?.data], [true, { n: 2 }]);
  });

  test("cut connections are made again, and all messages arrive", async (t) => {
    const server = await startRedis(t);
    const { bus: publisher } = openBus(t, { url: server.url });
    const { bus } = openBus(t, { url: server.url });
    const seen = listen(bus, orders);
    await bus.flush();
    for (let n = 0; n < 40; n += 1) {
      publishOrder(publisher, n);
      if (n % 10 === 5) await cutAll(server);
    }
    await eventually("the messages", () => firstTimes(seen).length >= 40);
    assert.deepEqual(firstTimes(seen), count(40));
    assert.equal(bus.counts.get(orders)?.dropped, 0);
  });

  test("a reader that is cut off anywhere in a reply goes on by id: nothing lost, doubled or out of order", async (t) => {
    const server = await startRedis(t);
    const property = fc.asyncProperty(anyCuts, async (cuts) => {
      const { seen, bus } = await publishThroughCuts(server, cuts, "reader");
      assert.deepEqual(seen.map(orderOf), count(60));
      assert.equal(bus.counts.get(orders)?.dropped, 0);
    });
    await fc.assert(property, { numRuns: runs(8, 200) });
  });

  test("a publisher that is cut off anywhere sends again: nothing lost, first arrivals in order", async (t) => {
    const server = await startRedis(t);
    const property = fc.asyncProperty(anyCuts, async (cuts) => {
      const { seen } = await publishThroughCuts(server, cuts, "publisher");
      assert.deepEqual(firstTimes(seen), count(60));
    });
    await fc.assert(property, { numRuns: runs(8, 200) });
  });

  test("a Redis that was killed and comes back empty gets the retained values again and later messages arrive", async (t) => {
    const server = await startRedis(t);
    const { bus: publisher } = openBus(t, { url: server.url });
    const { bus } = openBus(t, { url: server.url });
    publisher.publish("inventory.nodes", { n: 1 }, { retain: true });
    await publisher.flush();
    const seen = listen(bus, orders);
    await bus.flush();
    publishOrder(publisher, 1);
    await eventually("the first", () => seen.length === 1);
    // The clock of the next server is behind this one's: its ids will be smaller than the one read last.
    await addFromTheFuture(server, 2);
    await eventually("the second", () => seen.length === 2);
    await server.kill();
    await Promise.all([disconnected(publisher), disconnected(bus)]);
    publishOrder(publisher, 3);
    const again = await startRedis(t, { port: server.port });
    publishOrder(publisher, 4);
    await eventually("the later ones", () => seen.length >= 4);
    assert.deepEqual(seen.map(orderOf), [1, 2, 3, 4]);
    const late = listen(openBus(t, { url: again.url }).bus, "inventory.nodes");
    await eventually("the retained value", () => late.length >= 1);
    assert.deepEqual([late[0]?.retained, late[0]?.data], [true, { n: 1 }]);
  });

  test("a database that is emptied under us does not make the bus fall silent", async (t) => {
    const server = await startRedis(t);
    const { bus } = openBus(t, { url: server.url }, { busHeartbeatMs: 250 });
    const seen = listen(bus, orders);
    await bus.flush();
    await addFromTheFuture(server, 1);
    await eventually("the first", () => seen.length === 1);
    await server.command("FLUSHALL");
    publishOrder(bus, 2);
    await eventually("the second", () => firstTimes(seen).length === 2);
  });

  test("a replica that takes over without the last messages is read from the last one in common", async (t) => {
    const old = await startRedis(t, { args: ["--repl-diskless-sync-delay", "0"] });
    const next = await startRedis(t, { args: ["--replicaof", "127.0.0.1", String(old.port)] });
    const wire = await startProxy(t, old.port);
    const { bus: publisher } = openBus(t, { url: wire.url });
    const { bus } = openBus(t, { url: wire.url });
    const seen = listen(bus, orders);
    await bus.flush();
    publisher.publish("inventory.nodes", { n: 1 }, { retain: true });
    for (const n of [1, 2]) publishOrder(publisher, n);
    await eventually("the first two", () => seen.length === 2);
    await eventually("the replica", async () => (await next.command("XLEN", `akash-provider:stream:${orders}`)) === 2);
    await next.command("REPLICAOF", "NO", "ONE");
    // The replica never gets these: one of them has an id that its own will not reach.
    publisher.publish("inventory.nodes", { n: 2 }, { retain: true });
    publishOrder(publisher, 3);
    await publisher.flush();
    await addFromTheFuture(old, 4);
    await eventually("the lost ones", () => seen.length === 4);
    // Others have moved already and published there before we come.
    const { bus: other } = openBus(t, { url: next.url });
    publishOrder(other, 5);
    await other.flush();
    wire.target = next.port;
    wire.cut();
    publishOrder(other, 6);
    await eventually("the later ones", () => seen.length >= 6);
    assert.deepEqual(seen.map(orderOf), [1, 2, 3, 4, 5, 6]);
    // The publisher notices that its newest retained value was lost too.
    const status = listen(other, "inventory.nodes");
    await eventually("the newest value", () => status.some(({ data }) => data["n"] === 2));
  });

  test("a Redis that hangs is noticed and left, and taken up again when it goes on", async (t) => {
    const server = await startRedis(t);
    const { bus } = openBus(t, { url: server.url }, { busHeartbeatMs: 250 });
    const seen = listen(bus, orders);
    publishOrder(bus, 0);
    await eventually("the first", () => seen.length === 1);
    server.pause();
    await disconnected(bus);
    for (let n = 1; n < 5; n += 1) publishOrder(bus, n);
    assert.match(bus.state.state === "connecting" ? bus.state.reason : "", /gave no answer within/);
    server.resume();
    await eventually("the rest", () => firstTimes(seen).length >= 5);
    assert.deepEqual(firstTimes(seen), count(5));
    await connected(bus);
  });

  test("a stall of our own is not blamed on Redis", async (t) => {
    const server = await startRedis(t);
    const address = redisAddress({ url: server.url });
    const { signal } = new AbortController();
    const connection = await openConnection(address, { name: "stall", clock: realClock, answerMs: 60_000, signal });
    t.after(() => connection.close());
    const answer = connection.send(["PING"], 50);
    // The client writes at the end of this turn; then the answer comes while nobody looks.
    await new Promise((resolve) => setImmediate(resolve));
    const endMs = performance.now() + 200;
    // Whoever asked first is answered first: when another program has its answer, ours has come too.
    do spawnSync("redis-cli", ["-p", `${server.port}`, "PING"]);
    while (performance.now() < endMs);
    assert.equal(await answer, "PONG");
  });

  test("a new subscriber does not wait for the end of a read that waits for news", async (t) => {
    const server = await startRedis(t);
    const { bus } = openBus(t, { url: server.url }, { busHeartbeatMs: 60_000 });
    const seen = listen(bus, "inventory.nodes");
    await bus.flush();
    bus.publish("akash.provider.balance.wallet", { n: 1 }, { retain: true });
    await bus.flush();
    const later = listen(bus, "akash.provider.balance.*");
    await eventually("the retained value", () => later.length === 1);
    assert.deepEqual(seen, []);
  });

  test("what Redis trimmed away meanwhile is counted and told by topic, and reading goes on", async (t) => {
    const server = await startRedis(t);
    const wire = await startProxy(t, server.port);
    const limits = { busStreamEntries: 100 };
    const { bus: publisher } = openBus(t, { url: server.url }, limits);
    const { bus } = openBus(t, { url: wire.url }, limits);
    const seen: number[] = [];
    const told: [string, number][] = [];
    const subscription = bus.subscribe(
      [orders, "akash.provider.event.lease"],
      (message) => void seen.push(orderOf(message)),
      {
        onDropped: (topic, dropped) => void told.push([topic, dropped]),
      },
    );
    await bus.flush();
    publishOrder(publisher, 0);
    await eventually("the first", () => seen.length === 1);
    wire.target = undefined;
    wire.cut();
    for (let n = 1; n < 500; n += 1) publishOrder(publisher, n);
    await publisher.flush();
    wire.target = server.port;
    await eventually("the last", () => seen.at(-1) === 499);
    const gone = 500 - seen.length;
    assert.ok(gone >= 200, `${gone} trimmed`);
    assert.deepEqual([...subscription.dropped], [[orders, gone]]);
    assert.deepEqual(told, [[orders, gone]]);
    assert.deepEqual(seen.slice(1), count(500).slice(500 - seen.length + 1));
  });
});

/** An entry such as a server with a fast clock would have written. */
async function addFromTheFuture(server: RedisServer, n: number): Promise<void> {
  const number = String(await server.command("HINCRBY", `akash-provider:numbers:${orders}`, orders, "1"));
  const data = JSON.stringify({ kind: "OrderCreated", order: String(n) });
  const id = `${Date.now() + 3_600_000}-0`;
  await server.command("XADD", `akash-provider:stream:${orders}`, id, "t", orders, "n", number, "d", data);
}
