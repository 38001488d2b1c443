/** The control socket from both ends, with hostile clients too. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../test/support/folder.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { realClock } from "../clock.ts";
import { ProviderError } from "../errors.ts";
import type { ControlHandler, Service } from "../lifecycle.ts";
import { silentLog } from "../log.ts";
import { createMetrics } from "../metrics.ts";
import { createProcess, type Process } from "../process.ts";
import { requestControl, streamControl } from "./control-client.ts";
import { controlConnections, createControlService } from "./control-service.ts";
import { controlRequestBytes, warnOfOpenFolder } from "./control-socket.ts";

interface Stage {
  readonly dataDir: string;
  readonly path: string;
  ask(about: string, params?: Record<string, unknown>): Promise<unknown>;
  /** Resolves when all is stopped. */
  stop(): Promise<void>;
}

const answers: Record<string, ControlHandler> = {
  echo: (params) => params,
  large: () => ({ height: 2n ** 60n, nothing: undefined }),
  fail: () => {
    throw new ProviderError("AKP_NO_OPEN_BID", { order: "akash1…/1/1/1", odd: () => 1 });
  },
  bug: () => Promise.reject(new Error("out of cheese")),
  async *count(_question, signal) {
    for (let number = 1; ; number++) {
      yield number;
      if (number === 3) await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    }
  },
  async *flood(_question, signal) {
    while (!signal.aborted) yield "x".repeat(100_000);
  },
};

async function start(owner: Owner, dataDir = temporaryFolder(owner), others: Service[] = []): Promise<Stage> {
  const deps = { clock: realClock, log: silentLog };
  let running: Process | undefined;
  const control = createControlService({ dataDir, control: (...asked) => running?.control(...asked), ...deps });
  const told: Service = { name: "told", start: () => undefined, controlHandlers: answers };
  running = createProcess({ services: [control, told, ...others], metrics: createMetrics(), ...deps });
  const stopping = new AbortController();
  const ended = running.run(stopping.signal);
  const stop = () => {
    stopping.abort();
    return ended;
  };
  owner.after(() => stop().catch(() => undefined));
  const isThere = () => running.status().services.every(({ name, state }) => name === "slow" || state === "running");
  let isOver = false;
  const over = ended.finally(() => {
    isOver = true;
  });
  // One that could not start is not looked at any more.
  await Promise.race([over, eventually("it runs", () => isOver || isThere())]);
  const request = (about: string, params = {}) =>
    requestControl({ dataDir, name: about, params: params, clock: realClock });
  return { dataDir, path: join(dataDir, "control.sock"), ask: request, stop };
}

test("a request is answered with large numbers as text; the socket file is removed at the stop", async (t) => {
  const { ask, path, stop } = await start(t);
  const params = { text: "\u2028 line\nbreak \u001b[2J", list: [1, { deep: null }] };
  assert.deepEqual(await ask("echo", params), params);
  assert.deepEqual(await ask("large"), { height: "1152921504606846976" });
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await stop();
  assert.ok(!existsSync(path));
});

test("an error of a handler → the client throws the same error", async (t) => {
  const { ask } = await start(t);
  await assert.rejects(ask("fail"), (error: ProviderError) => {
    assert.deepEqual([error.code, error.details], ["AKP_NO_OPEN_BID", { order: "akash1…/1/1/1" }]);
    return true;
  });
  await assert.rejects(ask("bug"), { code: "AKP_INTERNAL", message: /out of cheese/ });
  await assert.rejects(ask("what"), { code: "AKP_QUESTION_UNKNOWN", message: /it knows: echo, large/ });
});

test("a service that has not started → AKP_NOT_RUNNING_YET with what it waits for", async (t) => {
  const gate = Promise.withResolvers<void>();
  const slow: Service = {
    name: "slow",
    start: () => gate.promise,
    detail: () => "waits for a node",
    controlHandlers: { slow: () => "here" },
  };
  const { ask } = await start(t, undefined, [slow]);
  await assert.rejects(ask("slow"), { code: "AKP_NOT_RUNNING_YET", message: /slow is init: waits for a node/ });
  gate.resolve();
  await eventually("it answers", async () => (await ask("slow")) === "here");
});

test("a stream ends when its client disconnects and when the provider stops", async (t) => {
  const { dataDir, stop } = await start(t);
  const leaving = new AbortController();
  const seen: unknown[] = [];
  for await (const number of streamControl({ dataDir, name: "count", clock: realClock, signal: leaving.signal })) {
    seen.push(number);
    if (seen.length === 3) leaving.abort();
  }
  for await (const number of streamControl({ dataDir, name: "count", clock: realClock })) {
    seen.push(number);
    if (seen.length === 6) void stop();
  }
  assert.deepEqual(seen, [1, 2, 3, 1, 2, 3]);
});

test("no provider → AKP_PROVIDER_NOT_RUNNING; too long a path → AKP_CONTROL_PATH_TOO_LONG", async (t) => {
  const dataDir = temporaryFolder(t);
  const asked = () => requestControl({ dataDir, name: "echo", clock: realClock });
  await assert.rejects(asked(), { code: "AKP_PROVIDER_NOT_RUNNING", message: /there is no socket/ });
  await leaveStaleSocket(join(dataDir, "control.sock"));
  await assert.rejects(asked(), { code: "AKP_PROVIDER_NOT_RUNNING", message: /is gone/ });
  const long = join(dataDir, "ü".repeat(50));
  mkdirSync(long);
  await assert.rejects(start(t, long), { code: "AKP_CONTROL_PATH_TOO_LONG", message: /has 1\d\d bytes/ });
});

/** A listening socket whose process vanished: its file stays, as after `kill -9`. */
async function leaveStaleSocket(path: string): Promise<void> {
  const { spawnSync } = await import("node:child_process");
  const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  spawnSync(process.execPath, ["-e", script]);
  assert.ok(existsSync(path));
}

test("the socket of a dead process is replaced; a live one, or a file, is left and the start fails", async (t) => {
  const dead = temporaryFolder(t);
  await leaveStaleSocket(join(dead, "control.sock"));
  const stage = await start(t, dead);
  assert.deepEqual(await stage.ask("echo", { a: 1 }), { a: 1 });
  await assert.rejects(start(t, dead), { code: "AKP_CONTROL_SOCKET_UNUSABLE", message: /another process answers/ });
  assert.deepEqual(await stage.ask("echo", { a: 2 }), { a: 2 });

  const file = temporaryFolder(t);
  writeFileSync(join(file, "control.sock"), "mine");
  await assert.rejects(start(t, file), { code: "AKP_CONTROL_SOCKET_UNUSABLE", message: /something else/ });
  assert.ok(existsSync(join(file, "control.sock")));
});

test("a world-writable data directory → a warning with advice", async (t) => {
  const dataDir = temporaryFolder(t);
  const lines: unknown[] = [];
  const log = { ...silentLog, info: (...line: unknown[]) => void lines.push(line) };
  warnOfOpenFolder(dataDir, log);
  assert.deepEqual(lines, []);
  chmodSync(dataDir, 0o777);
  warnOfOpenFolder(dataDir, log);
  assert.match(JSON.stringify(lines), /can be written by every user.*chmod o-w/);
});

/** The response to raw text. */
function exchange(path: string, text: string): Promise<string> {
  return new Promise((resolve) => {
    let heard = "";
    const socket = connect(path, () => socket.write(text));
    socket.on("data", (piece) => {
      heard += piece;
    });
    socket.on("error", () => undefined).on("close", () => resolve(heard));
  });
}

test("garbage, a huge request and one that is no object → rejected with a reason; others are served", async (t) => {
  const { ask, path } = await start(t);
  assert.match(await exchange(path, "\u0000\u0001 what\r\n\r\n"), /^HTTP\/1.1 400/);
  assert.match(await exchange(path, `GET /${"x".repeat(100_000)} HTTP/1.1\r\n\r\n`), /^HTTP\/1.1 431/);
  assert.match(await exchange(path, "GET /echo HTTP/1.1\r\nhost: x\r\n\r\n"), /POST, not GET/);
  const post = (body: string) =>
    exchange(path, `POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  assert.match(await post("[1]"), /it is not a JSON object/);
  assert.match(await post("{"), /it is not a JSON object/);
  assert.match(await post(`{"__proto__":{"a":1}}`), /200 OK/);
  const huge = { text: "x".repeat(controlRequestBytes) };
  await assert.rejects(ask("echo", huge), /more than 1048576 bytes/);
  assert.doesNotMatch(await post(JSON.stringify(huge)), /200 OK/);
  assert.deepEqual(await ask("echo", { still: "here" }), { still: "here" });
});

test("silent clients and one that does not read delay no other client", async (t) => {
  const { ask, path, stop } = await start(t);
  const silent: Socket[] = [];
  for (let count = 0; count < controlConnections - 1; count++) silent.push(connect(path));
  await eventually("they are connected", () => silent.every((socket) => socket.readyState === "open"));
  assert.deepEqual(await ask("echo", { a: 1 }), { a: 1 });
  const deaf = connect(path, () => deaf.write("POST /flood HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"));
  await eventually("it is sent something", () => deaf.readableLength > 0 || deaf.bytesRead > 0);
  await assert.rejects(ask("echo"), { code: "AKP_CONTROL_CUT" });
  silent[0]?.destroy();
  await eventually("one has left", () => ask("echo", {}));
  await stop();
  for (const socket of [...silent, deaf]) socket.destroy();
});

test("a socket of another protocol → AKP_CONTROL_CUT", async (t) => {
  const dataDir = temporaryFolder(t);
  const other = createServer((socket) => socket.end("220 ready\r\n")).listen(join(dataDir, "control.sock"));
  t.after(() => void other.close());
  await eventually("it listens", () => other.listening);
  await assert.rejects(requestControl({ dataDir, name: "echo", clock: realClock }), { code: "AKP_CONTROL_CUT" });
});
