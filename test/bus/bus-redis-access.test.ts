/** The bus over Redis and who else is there: users with few rights, malformed messages, TLS, and people with redis-cli. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { ProviderError } from "../../src/runtime/errors.ts";
import { listen, orderOf } from "../support/contracts/bus.contract.ts";
import { eventually } from "../support/eventually.ts";
import { openBus } from "../support/redis-bus.ts";
import { redisMissing, startRedis } from "../support/redis-server.ts";

const orders = "akash.provider.event.order";
const nodes = "inventory.nodes";

describe("the Redis bus among others", { skip: redisMissing }, () => {
  test("malformed messages are counted, logged once per topic and skipped", async (t) => {
    const server = await startRedis(t);
    const { bus, lines } = openBus(t, { url: server.url });
    const seen = await listen(bus, orders);
    const good = { publishedAtMs: 1, data: { kind: "OrderCreated", order: "7" } };
    for (const text of [
      "surprise",
      "{",
      JSON.stringify(good.data),
      JSON.stringify({ ...good, data: { kind: "OrderEaten", order: "x" } }),
      JSON.stringify({ ...good, data: { ...good.data, order: "x".repeat(300) } }),
      JSON.stringify(good),
    ]) {
      await server.command("PUBLISH", `akash-provider:${orders}`, text);
    }
    await eventually("the good one", () => seen.length === 1);
    assert.deepEqual(seen.map(orderOf), [7]);
    assert.equal(bus.counts.get(orders)?.malformed, 5);
    const errors = lines.filter(([, fields]) => ProviderError.is(fields?.["error"], "AKP_BUS_MESSAGE_MALFORMED"));
    assert.equal(errors.length, 1);
  });

  test("redis-cli reads a retained value as a key, and hears messages on the channel of that name", async (t) => {
    const server = await startRedis(t);
    const [{ bus }, { bus: other }] = [openBus(t, { url: server.url }), openBus(t, { url: server.url, prefix: "b/" })];
    const elsewhere = await listen(other, nodes);
    bus.publish(nodes, { n: 1 });
    const value = await eventually("the key", () => server.command("GET", `akash-provider:${nodes}`));
    const { data, publisher, publishedAtMs } = JSON.parse(String(value));
    assert.deepEqual(data, { n: 1 });
    assert.match(publisher, /^[0-9a-f]{16}$/);
    assert.ok(Math.abs(Date.now() - publishedAtMs) < 600_000);
    other.publish(nodes, { n: 2 });
    await eventually("the key of the other prefix", () => server.command("GET", `b/${nodes}`));
    assert.deepEqual(
      elsewhere.map(({ data }) => data),
      [{ n: 2 }],
    );
  });

  test("a user of Redis needs rights on our keys and channels only, and the password is never logged", async (t) => {
    const server = await startRedis(t);
    const rights = ["~akash-provider:*", "&akash-provider:*", "+@all", "-@admin", "-@dangerous"];
    await server.command("ACL", "SETUSER", "bus", "on", ">secret-word", ...rights);
    const url = `redis://bus:secret-word@127.0.0.1:${server.port}/3`;
    const { bus, lines } = openBus(t, { url });
    const { bus: other } = openBus(t, { url });
    const seen = await listen(other, "*");
    bus.publish(nodes, { n: 1 });
    await eventually("the message", () => seen.length === 1);
    const late = await listen(other, nodes);
    await eventually("the retained value", () => late.length === 1);
    assert.match(String(await server.command("INFO", "keyspace")), /db3:/);

    const wrong = openBus(t, { url: server.url, username: "bus", password: "another-secret-word" });
    await eventually("the rejection", () => /WRONGPASS/.test(JSON.stringify(wrong.bus.state)));
    const said = JSON.stringify([lines, wrong.lines.map(([line, fields]) => [line, String(fields?.["error"])])]);
    assert.match(said, /Redis bus at .* cannot be reached/);
    assert.doesNotMatch(`${said}${JSON.stringify([bus.state, wrong.bus.state])}`, /secret-word/);
  });

  test("rediss:// speaks TLS", async (t) => {
    const listener = createServer().listen(0, "127.0.0.1");
    t.after(() => void listener.close());
    await once(listener, "listening");
    const { port } = listener.address() as { port: number };
    openBus(t, { url: `rediss://127.0.0.1:${port}` });
    const [socket] = await once(listener, "connection");
    const [hello] = await once(socket, "data");
    socket.destroy();
    // A record of the kind "handshake", version 3.
    assert.deepEqual([...hello.subarray(0, 2)], [22, 3]);
  });
});

test("the state shows the address without a password, and a wrong one is reported", async (t) => {
  const shown = (options: Parameters<typeof openBus>[1]) => openBus(t, options).bus.state.detail;
  assert.match(shown({ url: "redis://me:word@127.0.0.1:1" }), /^127\.0\.0\.1:1: /);
  assert.match(shown({ url: "redis://[::1]:1" }), /^\[::1\]:1: /);
  assert.match(shown({ sentinels: ["127.0.0.1:1", "b:2"] }), /^Sentinels 127\.0\.0\.1:1, b:2: /);
  const { bus, lines } = openBus(t, { url: "redis://me:secret-word@127.0.0.1:1/first" });
  await eventually("a report", () => lines.length > 0);
  assert.doesNotMatch(
    `${lines.map(([, fields]) => String(fields?.["error"]))}${JSON.stringify(bus.state)}`,
    /secret-word/,
  );
});
