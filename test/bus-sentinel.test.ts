/** The bus over a Redis that real Sentinels watch, with the master killed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { listen, orderOf, publishOrder } from "./bus.contract.ts";
import { eventually } from "./eventually.ts";
import type { Owner } from "./owner.ts";
import { openBus } from "./redis-bus.ts";
import { type RedisServer, redisMissing, startRedis, startSentinel } from "./redis-server.ts";

const name = "provider-bus";
const orders = "akash.provider.event.order";

interface Cluster {
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly sentinels: readonly RedisServer[];
}

async function startCluster(owner: Owner): Promise<Cluster> {
  const master = await startRedis(owner, { args: ["--repl-diskless-sync-delay", "0"] });
  const replica = await startRedis(owner, { args: ["--replicaof", "127.0.0.1", String(master.port)] });
  await eventually("replication", async () =>
    /master_link_status:up/.test(String(await replica.command("INFO", "replication"))),
  );
  const watch = { name, port: master.port, quorum: 2, downAfterMs: 500 };
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(owner, watch)));
  // Before they know each other and the replica they could not agree on a failover.
  for (const sentinel of sentinels) {
    await eventually("the Sentinels to find each other", async () => {
      const known = (await sentinel.command("SENTINEL", "MASTER", name)) as string[];
      const value = (field: string) => Number(known[known.indexOf(field) + 1]);
      return value("num-slaves") === 1 && value("num-other-sentinels") === 2;
    });
  }
  return { master, replica, sentinels };
}

test("when the master is killed, later messages and the retained value arrive from the one that takes over", {
  skip: redisMissing,
}, async (t) => {
  const { master, replica, sentinels } = await startCluster(t);
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`);
  // Only root may listen there.
  const nobody = "127.0.0.1:1";
  const open = () => openBus(t, { sentinels: [nobody, ...addresses], sentinelMaster: name }).bus;
  const publisher = open();
  const subscriber = open();
  const seen = listen(subscriber, orders);
  await subscriber.flush();
  publisher.publish("inventory.cluster", { nodes: 3 }, { retain: true });
  publishOrder(publisher, 1);
  await eventually("the first", () => seen.length === 1);
  assert.deepEqual(publisher.state, { state: "connected", address: `127.0.0.1:${master.port}` });

  await master.kill();
  publishOrder(publisher, 2);
  await eventually("the message sent during the failover", () => seen.map(orderOf).includes(2));
  publishOrder(publisher, 3);
  await eventually("the next", () => seen.map(orderOf).includes(3));
  assert.deepEqual([...new Set(seen.map(orderOf))], [1, 2, 3]);
  for (const bus of [publisher, subscriber]) {
    assert.deepEqual(bus.state, { state: "connected", address: `127.0.0.1:${replica.port}` });
  }

  const late = listen(open(), "inventory.cluster");
  await eventually("the retained value", () => late.length >= 1);
  assert.deepEqual([late[0]?.retained, late[0]?.data], [true, { nodes: 3 }]);
});

test("a replica is not taken for a master, and Sentinels that know no such master say so", {
  skip: redisMissing,
}, async (t) => {
  const master = await startRedis(t);
  const replica = await startRedis(t, { args: ["--replicaof", "127.0.0.1", String(master.port)] });
  const sentinel = await startSentinel(t, { name, port: master.port, quorum: 1, downAfterMs: 10_000 });
  const onReplica = openBus(t, { url: replica.url }).bus;
  await eventually("the refusal", () => /no master but a replica/.test(JSON.stringify(onReplica.state)));
  const unknown = openBus(t, { sentinels: [`127.0.0.1:${sentinel.port}`], sentinelMaster: "another" }).bus;
  await eventually("the answer", () => /it knows no master another/.test(JSON.stringify(unknown.state)));
});
