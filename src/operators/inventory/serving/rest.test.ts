import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { eventually } from "../../../../test/support/eventually.ts";
import type { Owner } from "../../../../test/support/owner.ts";
import { sampleInventory, sampleNode } from "../../../../test/support/samples/inventory-samples.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { realClock } from "../../../runtime/clock.ts";
import { condition } from "../../../runtime/condition.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { silentLog } from "../../../runtime/log.ts";
import { type RestOptions, startInventoryRest } from "./listeners.ts";
import { createPublisher } from "./publisher.ts";

async function start(owner: Owner, more: Partial<RestOptions> = {}) {
  let ageMs = 0;
  const deps = {
    clock: realClock,
    log: silentLog,
    waitingFor: () => "pods: the API server is gone",
    ageMs: () => ageMs,
  };
  const publisher = createPublisher(deps);
  owner.after(() => publisher.close());
  const options: RestOptions = {
    host: "127.0.0.1",
    port: 0,
    apiTimeoutMs: 3_000,
    version: "1.2.3",
    metrics: { text: async () => "up 1\n", contentType: "text/plain; version=0.0.4" },
    clock: realClock,
    log: silentLog,
    ...more,
  };
  const rest = await startInventoryRest(publisher, options);
  owner.after(() => rest.close());
  const ask = async (path: string, method = "GET") => {
    const response = await fetch(`http://127.0.0.1:${rest.port}${path}`, { method });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return {
    publisher,
    rest,
    ask,
    grow(ms: number) {
      ageMs = ms;
    },
  };
}

test("before the first snapshot the process is alive but not ready, with the reason", async (t) => {
  const { ask, publisher } = await start(t);
  assert.equal((await ask("/health")).status, 200);
  assert.equal((await ask("/metrics/health")).status, 200);
  for (const path of ["/ready", "/metrics/ready", "/v1/inventory"]) {
    const { status, text } = await ask(path);
    assert.equal(status, 503);
    const { code, message } = JSON.parse(text);
    assert.equal(code, "AKP_INVENTORY_NOT_READY");
    assert.match(message, /the API server is gone/);
  }
  publisher.show(sampleInventory());
  for (const path of ["/ready", "/metrics/ready", "/v1/inventory"]) assert.equal((await ask(path)).status, 200);
});

test("the inventory is the last good one with its age, as one line or for people", async (t) => {
  const { ask, publisher, grow } = await start(t);
  const conditions = [condition("Stale", "nodes may be out of date")];
  const away = sampleNode("n2", { offered: false, notOffered: [{ type: "NotReady", message: "not ready" }] });
  publisher.show(sampleInventory([sampleNode("n1"), away], { conditions }));
  grow(12_345);
  const { text, headers } = await ask("/v1/inventory");
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(Number(headers.get("content-length")), Buffer.byteLength(text));
  const seen = JSON.parse(text);
  assert.deepEqual(Object.keys(seen), ["nodes", "storage", "not_offered", "conditions", "at", "age_ms"]);
  assert.deepEqual([seen.nodes[0].name, seen.nodes.length], ["n1", 1]);
  assert.deepEqual(seen.not_offered[0].reasons, ["not ready"]);
  assert.deepEqual([seen.conditions, seen.at, seen.age_ms], [conditions, "2026-01-01T00:00:00.000Z", 12_345]);
  const pretty = await ask("/v1/inventory?pretty");
  assert.match(pretty.text, /^\{\n {2}"nodes": \[\n/);
  assert.deepEqual(JSON.parse(pretty.text), seen);
});

test("HEAD returns the length without a body; version and metrics are served", async (t) => {
  const { ask, publisher } = await start(t);
  publisher.show(sampleInventory());
  const { text, headers } = await ask("/v1/inventory", "HEAD");
  assert.equal(text, "");
  assert.ok(Number(headers.get("content-length")) > 1_000);
  assert.equal(JSON.parse((await ask("/version")).text).version, "1.2.3");
  const metrics = await ask("/metrics");
  assert.deepEqual([metrics.text, metrics.headers.get("content-type")], ["up 1\n", "text/plain; version=0.0.4"]);
});

test("unknown paths and methods are rejected with a code and advice", async (t) => {
  const { ask } = await start(t);
  const missing = await ask("/v1/nodes");
  assert.equal(missing.status, 404);
  assert.partialDeepStrictEqual(JSON.parse(missing.text), { code: "AKP_HTTP_PATH_UNKNOWN" });
  assert.match(JSON.parse(missing.text).advice, /\/v1\/inventory/);
  const post = await ask("/health", "POST");
  assert.deepEqual([post.status, post.headers.get("allow")], [405, "GET, HEAD"]);
  assert.equal(JSON.parse(post.text).code, "AKP_HTTP_METHOD_REFUSED");
});

test("an answer that takes too long is not waited for, and one that fails says so", async (t) => {
  const clock = createVirtualClock();
  const metrics = { text: () => new Promise<string>(() => undefined), contentType: "text/plain" };
  const { ask } = await start(t, { clock, metrics });
  const late = ask("/metrics");
  await eventually("the request to arrive", () => clock.pendingTimers === 1);
  await clock.advance(3_000);
  const { status, text } = await late;
  assert.deepEqual([status, JSON.parse(text).code], [503, "AKP_HTTP_ANSWER_LATE"]);

  const failing = { text: () => Promise.reject(new Error("out of luck")), contentType: "text/plain" };
  const { ask: askOther } = await start(t, { metrics: failing });
  const failed = await askOther("/metrics");
  assert.deepEqual([failed.status, JSON.parse(failed.text).code], [500, "AKP_INTERNAL"]);
});

test("malformed requests are rejected, and a port in use is named", async (t) => {
  const { ask, rest } = await start(t);
  const socket = connect(rest.port, "127.0.0.1");
  t.after(() => socket.destroy());
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.resume();
  socket.write("\0\0nonsense\r\n\r\n");
  await closed;
  assert.equal((await ask("/health")).status, 200);
  await assert.rejects(
    start(t, { port: rest.port }),
    (thrown) => ProviderError.is(thrown, "AKP_LISTEN_FAILED") && thrown.advice.includes("--rest-port"),
  );
});
