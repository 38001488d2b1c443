import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../../test/eventually.ts";
import {
  epyc,
  type MachineFiles,
  ordinary,
  pciFiles,
  plantMachine,
  processorFiles,
} from "../../../../test/machine-tree.ts";
import { createVirtualClock } from "../../../../test/virtual-clock.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { silentLog } from "../../../runtime/log.ts";
import type { Hardware } from "../hardware.ts";
import { discover, type Survey, survey } from "./discover.ts";
import {
  type DiscoveryServerOptions,
  discoveryAnswerMs,
  discoveryFreshMs,
  serveDiscovery,
} from "./discovery-server.ts";

async function stage(t: TestContext, files: MachineFiles = ordinary, look?: DiscoveryServerOptions["look"]) {
  const clock = createVirtualClock();
  const root = plantMachine(t, files);
  const options = { root, host: "127.0.0.1", port: 0, clock, log: silentLog, ...(look ? { look } : {}) };
  const server = await serveDiscovery(options);
  t.after(() => server.close());
  return { clock, root, url: server.url, get: (path: string) => fetch(`${server.url}${path}`) };
}

test("the hardware is answered as JSON, at the root and by its name", async (t) => {
  const { root, get } = await stage(t);
  for (const path of ["/", "/hardware", "/hardware?pretty"]) {
    const answer = await get(path);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "application/json; charset=UTF-8");
    assert.deepEqual(await answer.json(), await discover({ root }));
  }
});

test("the node is read again after a second, and not before", async (t) => {
  const { clock, root, get } = await stage(t);
  const memory = async () => ((await (await get("/")).json()) as Hardware).memory.totalBytes;
  const before = await memory();
  writeFileSync(join(root, "/proc/meminfo"), "MemTotal: 42 kB\n");
  await clock.advance(discoveryFreshMs - 1);
  assert.equal(await memory(), before);
  await clock.advance(1);
  assert.equal(await memory(), 42 * 1024);
});

test("many who ask at once cost one reading", async (t) => {
  let readings = 0;
  const { get } = await stage(t, ordinary, (options) => {
    readings += 1;
    return survey(options);
  });
  const answers = await Promise.all(Array.from({ length: 20 }, () => get("/gpu")));
  assert.ok(answers.every(({ status }) => status === 200));
  assert.equal(readings, 1);
});

test("a driver that hangs holds nobody up, and is heard once it answers", async (t) => {
  const { promise, resolve } = Promise.withResolvers<Survey>();
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
  resolve(await survey({ root }));
  assert.equal((await get("/")).status, 200);
  assert.equal(readings, 1);
});

test("a reading that fails is an error for who asked, and the next one is tried", async (t) => {
  let failures = 0;
  const { get } = await stage(t, ordinary, async (options) => {
    failures += 1;
    if (failures === 1) throw new Error("the disk is on fire");
    return survey(options);
  });
  const failed = await get("/");
  assert.equal(failed.status, 500);
  assert.match(await failed.text(), /the disk is on fire/);
  assert.equal((await get("/")).status, 200);
});

test("only GET is answered, and only what is there", async (t) => {
  const { url, get } = await stage(t);
  const posted = await fetch(url, { method: "POST", body: "{}" });
  assert.equal(posted.status, 405);
  assert.equal(posted.headers.get("allow"), "GET");
  for (const path of ["/nothing", "/constructor", "/..%2f..%2fetc/passwd"]) assert.equal((await get(path)).status, 404);
});

test("the network's own paths answer in the network's shapes", async (t) => {
  const { get } = await stage(t, {
    ...ordinary,
    ...processorFiles([
      { facts: epyc, coreId: 0 },
      { facts: epyc, coreId: 0 },
      { facts: epyc, coreId: 1 },
    ]),
    ...pciFiles("0000:00:00.0", { class: "0x060000", id: "8086:0d57" }),
    ...pciFiles("0000:01:00.0", {
      class: "0x030200",
      id: "10de:2335",
      subsystem: "10de:18bf",
      driver: "nvidia",
      more: { revision: "0xa1\n" },
    }),
    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
  });
  const seen = async (path: string) => (await get(path)).json();
  const threads = (count: number) => ({ total_hardware_threads: count, total_threads: count });
  assert.deepEqual(await seen("/cpu"), {
    total_cores: 2,
    ...threads(3),
    processors: [
      {
        id: 0,
        total_cores: 2,
        ...threads(3),
        vendor: "AuthenticAMD",
        model: "AMD EPYC 7763 64-Core Processor",
        capabilities: ["fpu", "lm"],
        cores: [
          { id: 0, ...threads(2), logical_processors: [0, 1] },
          { id: 1, ...threads(1), logical_processors: [2] },
        ],
      },
    ],
  });
  const named = (id: string) => ({ id, name: "unknown" });
  const card = {
    driver: "nvidia",
    address: "0000:01:00.0",
    vendor: named("10de"),
    product: named("2335"),
    revision: "0xa1",
    subsystem: named("18bf"),
    class: named("03"),
    subclass: named("02"),
    programming_interface: named("00"),
  };
  assert.deepEqual(await seen("/gpu"), { cards: [{ address: "0000:01:00.0", index: 0, pci: card }] });
  const { devices } = (await seen("/pci")) as { devices: { address: string }[] };
  assert.deepEqual(devices[1], card);
  assert.equal(devices.length, 2);
  assert.deepEqual(await seen("/memory"), {
    total_physical_bytes: 131_980_916 * 1024,
    total_usable_bytes: 131_980_916 * 1024,
    supported_page_sizes: [4096, 2_097_152],
  });
});

test("an address that is taken is told as such", async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  t.after(() => other.close());
  await eventually("the other listens", () => other.listening);
  const { port } = other.address() as AddressInfo;
  const options = { host: "127.0.0.1", port, clock: createVirtualClock(), log: silentLog };
  const thrown = await serveDiscovery(options).then(() => assert.fail("it listens"), ProviderError.from);
  assert.equal(thrown.code, "AKP_LISTEN_FAILED");
});

test("closing ends the connections that are still open", async (t) => {
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
