/** The bus over Redis and who else is there: users with few rights, writers of nonsense, TLS. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { listen, orderOf, publishOrder } from "./bus.contract.ts";
import { eventually } from "./eventually.ts";
import { openBus } from "./redis-bus.ts";
import { redisMissing, startRedis } from "./redis-server.ts";

const orders = "akash.provider.event.order";

describe("the Redis bus among strangers", { skip: redisMissing }, () => {
  test("nonsense from outside is counted, reported once per topic and passed over", async (t) => {
    const server = await startRedis(t);
    const { bus, lines } = openBus(t, { url: server.url });
    const seen = listen(bus, orders);
    publishOrder(bus, 0);
    await eventually("the first", () => seen.length === 1);
    const key = `akash-provider:stream:${orders}`;
    const good = JSON.stringify({ kind: "OrderCreated", order: "x" });
    for (const fields of [
      ["surprise", "1"],
      ["t", orders, "n", "2", "d", "{"],
      ["t", orders, "n", "3", "d", '{"kind":"OrderEaten","order":"x"}'],
      ["t", "inventory.nodes", "n", "4", "d", "{}"],
      ["t", "nowhere", "n", "5", "d", good],
      ["t", orders, "n", "many", "d", good],
    ]) {
      await server.command("XADD", key, "*", ...fields);
    }
    publishOrder(bus, 1);
    await eventually("the next", () => seen.length === 2);
    assert.deepEqual(seen.map(orderOf), [0, 1]);
    assert.equal(bus.counts.get(orders)?.malformed, 6);
    const complaints = lines.filter(([, fields]) => fields?.["code"] === "AKP_BUS_MESSAGE_MALFORMED");
    assert.equal(complaints.length, 1);
  });

  test("a user of Redis needs rights on our keys and no others, and the password is never logged", async (t) => {
    const server = await startRedis(t);
    const rights = ["~akash-provider:*", "+@all", "-@admin", "-@dangerous"];
    await server.command("ACL", "SETUSER", "bus", "on", ">secret-word", ...rights);
    const { bus, lines } = openBus(t, { url: `redis://bus:secret-word@127.0.0.1:${server.port}/3` });
    const seen = listen(bus, "*");
    bus.publish("inventory.nodes", { n: 1 }, { retain: true });
    await eventually("the message", () => seen.length === 1);
    const late = listen(bus, "inventory.nodes");
    await eventually("the retained value", () => late.length === 1);
    assert.match(String(await server.command("INFO", "keyspace")), /db3:/);

    const login = { username: "bus", password: "another-secret-word" };
    const wrong = openBus(t, { url: server.url, ...login });
    await eventually("the refusal", () => /WRONGPASS/.test(JSON.stringify(wrong.bus.state)));
    const told = JSON.stringify([lines, wrong.lines, bus.state, wrong.bus.state]);
    assert.match(told, /AKP_BUS_UNREACHABLE/);
    assert.doesNotMatch(told, /secret-word/);
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
