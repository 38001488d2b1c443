import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../../test/support/eventually.ts";
import { type MachineFiles, ordinary, plantMachine } from "../../../../test/support/machine-tree.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { silentLog } from "../../../runtime/log.ts";
import type { Hardware } from "../hardware.ts";
import { discover } from "./discover.ts";
import { type DiscoveryServerOptions, discoveryAnswerMs, serveDiscovery } from "./discovery-server.ts";

async function stage(t: TestContext, files: MachineFiles = ordinary, read?: DiscoveryServerOptions["read"]) {
  const clock = createVirtualClock();
  const root = plantMachine(t, files);
  const options = { root, host: "127.0.0.1", port: 0, clock, log: silentLog, ...(read ? { read } : {}) };
  const server = await serveDiscovery(options);
  t.after(() => server.close());
  return { clock, root, url: server.url, get: (path: string) => fetch(`${server.url}${path}`) };
}

test("serves the hardware as JSON at / and /hardware", async (t) => {
  const { root, get } = await stage(t);
  for (const path of ["/", "/hardware", "/hardware?pretty"]) {
    const answer = await get(path);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "application/json; charset=UTF-8");
    assert.deepEqual(await answer.json(), await discover({ root }));
  }
});

test("concurrent requests share one reading", async (t) => {
  let readings = 0;
  const { get } = await stage(t, ordinary, (options) => {
    readings += 1;
    return discover(options);
  });
  const answers = await Promise.all(Array.from({ length: 20 }, () => get("/hardware")));
  assert.ok(answers.every(({ status }) => status === 200));
  assert.equal(readings, 1);
});

test("a hanging driver is answered with 503", async (t) => {
  const { promise, resolve } = Promise.withResolvers<Hardware>();
  let readings = 0;
  const { clock, root, get } = await stage(t, ordinary, () => {
    readings += 1;
    return promise;
  });
  const answer = get("/");
  await eventually("the reading", () => readings === 1);
  await clock.advance(discoveryAnswerMs);
  assert.equal((await answer).status, 503);
  assert.match(await (await answer).text(), /could not be read within 4000 ms/);
  assert.equal((await get("/health")).status, 200);
  resolve(await discover({ root }));
  assert.equal((await get("/")).status, 200);
});

test("a failed reading is answered with 500, and the next request reads again", async (t) => {
  let failures = 0;
  const { get } = await stage(t, ordinary, async (options) => {
    failures += 1;
    if (failures === 1) throw new Error("the disk is on fire");
    return discover(options);
  });
  const failed = await get("/");
  assert.equal(failed.status, 500);
  assert.match(await failed.text(), /the disk is on fire/);
  assert.equal((await get("/")).status, 200);
});

test("rejects other methods and paths", async (t) => {
  const { url, get } = await stage(t);
  const posted = await fetch(url, { method: "POST", body: "{}" });
  assert.equal(posted.status, 405);
  assert.equal(posted.headers.get("allow"), "GET");
  for (const path of ["/nothing", "/constructor", "/..%2f..%2fetc/passwd"]) assert.equal((await get(path)).status, 404);
});

test("an address in use fails with AKP_LISTEN_FAILED", async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  t.after(() => other.close());
  await eventually("the other listens", () => other.listening);
  const { port } = other.address() as AddressInfo;
  const options = { host: "127.0.0.1", port, clock: createVirtualClock(), log: silentLog };
  const thrown = await serveDiscovery(options).then(() => assert.fail("it listens"), ProviderError.from);
  assert.equal(thrown.code, "AKP_LISTEN_FAILED");
});

test("close ends open connections", async (t) => {
  const server = await serveDiscovery({
    root: plantMachine(t, ordinary),
    host: "127.0.0.1",
    port: 0,
    clock: createVirtualClock(),
    log: silentLog,
  });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  t.after(() => socket.destroy());
  socket.on("error", () => undefined);
  let ended = false;
  socket.on("close", () => {
    ended = true;
  });
  await eventually("the connection", () => socket.readyState === "open");
  socket.write("GET / HTTP/1.1\r\n");
  await server.close();
  await eventually("its end", () => ended);
});
