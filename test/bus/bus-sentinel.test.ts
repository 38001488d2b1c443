/** The bus over a Redis that real Sentinels watch, with the master killed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { listen, orderOf, publishOrder } from "../support/contracts/bus.contract.ts";
import { eventually } from "../support/eventually.ts";
import type { Owner } from "../support/owner.ts";
import { openBus } from "../support/redis-bus.ts";
import { redisMissing, startRedis, startSentinel } from "../support/redis-server.ts";

const name = "provider-bus";
const orders = "akash.provider.event.order";

async function startCluster(owner: Owner) {
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
  return { master, sentinels };
}

test("when the master is killed, later messages and the retained value arrive from the one that takes over", {
  skip: redisMissing,
}, async (t) => {
  const { master, sentinels } = await startCluster(t);
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`);
  // Only root may listen there.
  const nobody = "127.0.0.1:1";
  const open = () => openBus(t, { sentinels: [nobody, ...addresses], sentinelMaster: name });
  const { bus: publisher } = open();
  const { bus: subscriber } = open();
  const seen = await listen(subscriber, orders);
  // Events are lost while either is away, so each is published until it arrives.
  const arrives = (order: number) =>
    eventually(`order ${order}`, () => {
      publishOrder(publisher, order);
      return seen.map(orderOf).includes(order);
    });
  publisher.publish("inventory.cluster", { nodes: 3 });
  await arrives(1);

  await master.kill();
  await arrives(2);
  const late = await listen(open().bus, "inventory.cluster");
  await eventually("the retained value", () => late.length >= 1);
  assert.deepEqual([late[0]?.retained, late[0]?.data], [true, { nodes: 3 }]);
});

test("Sentinels that know no such master are reported", { skip: redisMissing }, async (t) => {
  const master = await startRedis(t);
  const sentinel = await startSentinel(t, { name, port: master.port, quorum: 1, downAfterMs: 10_000 });
  const { bus } = openBus(t, { sentinels: [`127.0.0.1:${sentinel.port}`], sentinelMaster: "another" });
  await eventually("the answer", () => /No such master with that name/.test(JSON.stringify(bus.state)));
});
