/** `akash-provider watch` as a person uses it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { startLiveProvider } from "../support/live-provider.ts";
import { startProgram } from "../support/program.ts";
import { openBus } from "../support/redis-bus.ts";
import { redisMissing, startRedis } from "../support/redis-server.ts";
import { smallGroup } from "../support/stages/bid-stage.ts";

test("it follows the running provider over its control socket: retained values, then what happens", async (t) => {
  const provider = await startLiveProvider(t);
  const watching = startProgram(t, ["watch", "--data-dir", provider.dataDir, "akash.provider.*"]);
  await watching.says(/akash\.provider\.bidengine\.status \(retained\) {2}\{"orders":0/);
  const [order = ""] = await provider.post(1n, smallGroup);
  await watching.says(new RegExp(`event\\.order {2}\\{"kind":"OrderCreated","order":"${order}"\\}`));
  watching.signal("SIGINT");
  assert.equal(await watching.ended(), 0, watching.said);
  const other = startProgram(t, ["watch", "--data-dir", provider.dataDir, "--json", "akash.provider.b*"]);
  await other.says(/"topic":"akash\.provider\.bidengine\.status","retained":true/);
  await provider.stop();
  assert.equal(await other.ended(), 0, other.said);
  assert.match(other.said, /the provider has stopped/);
});

test("it follows Redis without a provider, below the prefix of the settings", { skip: redisMissing }, async (t) => {
  const server = await startRedis(t);
  const { bus } = openBus(t, { url: server.url, prefix: "b/" });
  bus.publish("inventory.nodes", { n: 1 });
  const args = ["watch", "--redis-url", server.url, "--redis-prefix", "b/", "--json", "inventory.*"];
  const watching = startProgram(t, args);
  await watching.says(/"topic":"inventory\.nodes","retained":true,.*"data":\{"n":1\}/);
  bus.publish("inventory.storage", { n: 2 });
  await watching.says(/"topic":"inventory\.storage","retained":false,.*"data":\{"n":2\}/);
  watching.signal("SIGINT");
  assert.equal(await watching.ended(), 0, watching.said);
});

test("it reports a topic that does not exist, and a Redis that does not answer", async (t) => {
  const unknown = startProgram(t, ["watch", "inventory.gpus"]);
  assert.notEqual(await unknown.ended(), 0);
  assert.match(unknown.said, /no topic of the bus matches inventory\.gpus/);
  // Only root may listen on port 1.
  const absent = startProgram(t, ["watch", "--redis-url", "redis://127.0.0.1:1"]);
  await absent.says(/Redis unreachable[\s\S]*ECONNREFUSED/);
  absent.signal("SIGTERM");
  await eventually("its end", async () => (await absent.ended()) !== undefined);
});
