import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../../test/support/folder.ts";
import { createVirtualClock, type VirtualClock } from "../../../../test/support/virtual-clock.ts";
import { condition } from "../../../runtime/condition.ts";
import { silentLog } from "../../../runtime/log.ts";
import { builtInRegistry } from "./parse-registry.ts";
import { nameGpu } from "./registry.ts";
import {
  createRegistrySource,
  type RegistryLocation,
  type RegistrySource,
  registryAnswerMs,
  registryBytes,
  registryFileMs,
  registryRetryFirstMs,
} from "./registry-source.ts";

const periodMs = 20_000;

function registryOf(name: string, deviceId = "0bad"): string {
  return JSON.stringify({ "10de": { name: "nvidia", devices: { [deviceId]: { name, interface: "PCIe" } } } });
}

function nameOf(source: RegistrySource, deviceId = "0bad"): string | undefined {
  return nameGpu(source.registry, { address: "", vendorId: "10de", deviceId }).name;
}

interface Stage {
  readonly source: RegistrySource;
  readonly clock: VirtualClock;
  /** Number of calls of onChange. */
  readonly changes: () => number;
  /** Moves the clock until this holds; the answers themselves come in real time. */
  until(what: string, condition: () => boolean): Promise<void>;
}

function follow(t: TestContext, location: RegistryLocation | undefined): Stage {
  const clock = createVirtualClock();
  let changes = 0;
  const onChange = () => {
    changes += 1;
  };
  const source = createRegistrySource({ location, periodMs }, { clock, log: silentLog, onChange });
  const stop = new AbortController();
  const running = source.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  const until = async (what: string, condition: () => boolean) => {
    await eventually(what, async () => {
      if (!condition()) await clock.advance(1_000);
      return condition();
    });
  };
  return { source, clock, changes: () => changes, until };
}

interface Server {
  readonly url: string;
  readonly requests: IncomingMessage["headers"][];
  readonly paths: string[];
  answer: { status?: number; body?: string; etag?: string; location?: string; hang?: "all" | "half" };
}

async function startServer(t: TestContext, answer: Server["answer"]): Promise<Server> {
  const http = createServer((request, response) => {
    server.requests.push(request.headers);
    server.paths.push(request.url ?? "");
    const { status = 200, body = "", etag, location, hang } = server.answer;
    if (hang === "all") return;
    if (etag && request.headers["if-none-match"] === etag) return void response.writeHead(304).end();
    response.writeHead(status, { ...(etag ? { etag } : {}), ...(location ? { location } : {}) });
    if (hang === "half") response.write(body.slice(0, body.length / 2));
    else response.end(body);
  });
  http.listen(0, "127.0.0.1");
  t.after(() => {
    http.close();
    http.closeAllConnections();
  });
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  const server: Server = { url: `http://127.0.0.1:${port}`, requests: [], paths: [], answer };
  return server;
}

test("without a location the built-in registry is used", async (t) => {
  const { source, clock } = follow(t, undefined);
  await clock.advance(periodMs * 3);
  assert.equal(source.registry, builtInRegistry);
  assert.deepEqual(source.conditions, []);
});

test("fetches the registry below its address, and again after the period", async (t) => {
  const server = await startServer(t, { body: registryOf("first") });
  const { source, clock, changes } = follow(t, `${server.url}/base//`);
  await eventually("the first one", () => nameOf(source) === "first");
  assert.deepEqual(server.paths, ["/base/devices/gpus"]);
  assert.equal(nameOf(source, "2335"), "h200");
  server.answer = { body: registryOf("second", "0bae") };
  await clock.advance(periodMs - 1);
  assert.equal(server.requests.length, 1);
  await clock.advance(1);
  await eventually("the second one", () => nameOf(source, "0bae") === "second");
  // What it no longer says is forgotten, but for what is known without it.
  assert.equal(nameOf(source), undefined);
  assert.equal(nameOf(source, "2335"), "h200");
  assert.equal(changes(), 2);
  assert.equal(source.counts.failures, 0);
});

test("the address of a JSON file is used unchanged", async (t) => {
  const server = await startServer(t, { body: registryOf("gpu") });
  const { source, until } = follow(t, new URL(`${server.url}/my/gpus.json`));
  await until("the registry", () => nameOf(source) === "gpu");
  assert.deepEqual(server.paths, ["/my/gpus.json"]);
});

test("an unchanged registry is not sent again and reports no change", async (t) => {
  const server = await startServer(t, { body: registryOf("gpu"), etag: '"one"' });
  const { source, until, changes } = follow(t, server.url);
  await until("three requests", () => server.requests.length === 3);
  server.answer = { body: registryOf("gpu") };
  assert.deepEqual(
    server.requests.map((headers) => headers["if-none-match"]),
    [undefined, '"one"', '"one"'],
  );
  await until("two answers without a mark", () => server.requests.length === 5);
  assert.equal(nameOf(source), "gpu");
  assert.equal(changes(), 1);
  assert.equal(source.counts.failures, 0);
});

test("after a failed read the last good registry holds, with a condition", async (t) => {
  const server = await startServer(t, { body: registryOf("gpu") });
  const { source, until } = follow(t, server.url);
  await until("the registry", () => nameOf(source) === "gpu");
  const failures: [Server["answer"], RegExp][] = [
    [{ status: 503 }, /the server answered 503/],
    [{ status: 302, location: "http://elsewhere.invalid/?key=1" }, /moved to http:\/\/elsewhere\.invalid\/ \(302\)/],
    [{ body: "<html>" }, /is no GPU registry/],
    [{ body: "{}" }, /it names no GPU/],
    [{ body: "x".repeat(registryBytes + 1) }, /longer than 1048576 bytes/],
    [{ hang: "all" }, /no whole answer within 10000 ms/],
    [{ hang: "half", body: registryOf("half") }, /no whole answer within 10000 ms/],
    [{ status: 304 }, /the server answered 304/],
  ];
  for (const [answer, expected] of failures) {
    server.answer = answer;
    // Two of them fail with the same words.
    const failed = source.counts.failures;
    await until(`${expected}`, () => {
      const [condition] = source.conditions;
      return source.counts.failures > failed && expected.test(condition?.message ?? "");
    });
    assert.equal(source.conditions[0]?.type, "GpuRegistryUnusable");
    assert.ok(source.conditions[0]?.message.includes(server.url));
    assert.equal(nameOf(source), "gpu");
  }
  server.answer = { body: registryOf("gpu") };
  await until("its recovery", () => source.conditions.length === 0);
  assert.equal(nameOf(source), "gpu");
});

test("retries soon after the first failure", async (t) => {
  const gone = await startServer(t, { status: 404 });
  const { source, clock } = follow(t, gone.url);
  await eventually("a failure", () => source.conditions.length === 1);
  assert.equal(source.registry, builtInRegistry);
  gone.answer = { body: registryOf("late") };
  await clock.advance(registryRetryFirstMs);
  await eventually("the registry", () => nameOf(source) === "late");
});

test("pauses grow up to the period while the registry stays malformed", async (t) => {
  const server = await startServer(t, { body: "{" });
  const { source, clock } = follow(t, server.url);
  const pausesMs = [registryRetryFirstMs, 2 * registryRetryFirstMs, periodMs, periodMs];
  for (const [index, pauseMs] of pausesMs.entries()) {
    await eventually("the failure", () => source.counts.failures === index + 1);
    await clock.advance(pauseMs - 1);
    assert.equal(server.requests.length, index + 1);
    if (index === pausesMs.length - 1) server.answer = { body: registryOf("gpu") };
    await clock.advance(1);
  }
  // Once it was good, all begins anew.
  await eventually("the registry", () => nameOf(source) === "gpu");
  server.answer = { status: 503 };
  await clock.advance(periodMs);
  await eventually("the failure", () => source.conditions.length === 1);
  const before = server.requests.length;
  await clock.advance(registryRetryFirstMs);
  await eventually("the next request", () => server.requests.length === before + 1);
});

test("credentials of the address reach the server and no message", async (t) => {
  const server = await startServer(t, { status: 401 });
  const address = new URL(server.url);
  address.username = "me";
  address.password = "p%40ss";
  address.search = "?token=secret";
  const { source, until } = follow(t, address);
  await until("a rejection", () => source.conditions.length === 1);
  assert.equal(server.requests[0]?.authorization, `Basic ${Buffer.from("me:p@ss").toString("base64")}`);
  assert.equal(server.paths[0], "/devices/gpus?token=secret");
  assert.doesNotMatch(source.conditions[0]?.message ?? "", /p@ss|p%40ss|secret|me:/);
});

test("a file is read again within seconds of a change, also through the links of a ConfigMap", async (t) => {
  const folder = temporaryFolder(t);
  const publish = (version: string, text: string) => {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, "gpus.json"), text);
    symlinkSync(version, join(folder, "..new"));
    renameSync(join(folder, "..new"), join(folder, "..data"));
  };
  publish("..one", registryOf("first"));
  const path = join(folder, "gpus.json");
  symlinkSync("..data/gpus.json", path);
  const { source, clock } = follow(t, path);
  await eventually("the first one", () => nameOf(source) === "first");
  publish("..two", registryOf("second"));
  await clock.advance(registryFileMs);
  await eventually("the second one", () => nameOf(source) === "second");
});

test("a file that is missing, damaged or a folder keeps the last good registry, and is found when it is back", async (t) => {
  const path = join(temporaryFolder(t), "gpus.json");
  const { source, until } = follow(t, path);
  const hasError = (expected: RegExp) => () => expected.test(source.conditions[0]?.message ?? "");
  await until("that it is missing", hasError(/ENOENT/));
  assert.equal(source.registry, builtInRegistry);
  writeFileSync(path, registryOf("gpu"));
  await until("that it is there", () => nameOf(source) === "gpu");
  assert.deepEqual(source.conditions, []);
  writeFileSync(path, "{");
  await until("that it is damaged", hasError(/is no GPU registry/));
  unlinkSync(path);
  mkdirSync(path);
  await until("that it is a folder", hasError(/EISDIR/));
  rmSync(path, { recursive: true });
  assert.equal(nameOf(source), "gpu");
  writeFileSync(path, registryOf("back"));
  await until("that it is back", () => nameOf(source) === "back");
  assert.deepEqual(source.conditions, []);
});

test("invalid entries are left out with a condition", async (t) => {
  const path = join(temporaryFolder(t), "gpus.json");
  writeFileSync(path, registryOf("gpu").replace('"devices":{', '"devices":{"zz":{},'));
  const { source, until } = follow(t, path);
  await until("the registry", () => nameOf(source) === "gpu");
  assert.deepEqual(source.conditions, [
    condition(
      "GpuRegistryEntries",
      `entries of the GPU registry at ${path} were left out: device 10de:zz: its id is not four hex digits`,
    ),
  ]);
});

test("relocates while running, also to no location", async (t) => {
  const server = await startServer(t, { body: registryOf("fetched") });
  const path = join(temporaryFolder(t), "gpus.json");
  const { source, clock, until, changes } = follow(t, server.url);
  await until("the first place", () => nameOf(source) === "fetched");
  source.relocate(path);
  await until("that nothing is there", () => source.conditions.length === 1);
  assert.equal(nameOf(source), "fetched");
  writeFileSync(path, registryOf("written"));
  await until("the second place", () => nameOf(source) === "written");
  const before = changes();
  source.relocate(undefined);
  assert.equal(source.registry, builtInRegistry);
  assert.equal(changes(), before + 1);
  await clock.advance(periodMs * 2);
  assert.equal(source.registry, builtInRegistry);
});

test("a response from the previous location is ignored", async (t) => {
  const slow = await startServer(t, { hang: "all" });
  const { source, clock, until } = follow(t, slow.url);
  await eventually("the request", () => slow.requests.length === 1);
  source.relocate(undefined);
  await clock.advance(registryAnswerMs);
  await until("the end of the wait", () => slow.requests.length === 1);
  assert.deepEqual(source.conditions, []);
  assert.equal(source.counts.failures, 0);
});
