import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { openGrpcClient } from "../../../test/support/grpc-client.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { realClock } from "../../runtime/clock.ts";
import { grpcHealthV1HealthFile } from "../../runtime/grpc/akash-proto.ts";
import { grpcCodes } from "../../runtime/grpc/grpc-status.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import { silentLog } from "../../runtime/log.ts";
import { startOperatorGrpc } from "./grpc.ts";
import { startOperatorRest } from "./rest.ts";

async function openStage(t: Owner) {
  const clock = createVirtualClock(Date.UTC(2026, 10, 15, 8));
  const world = { state: undefined as unknown, waitingFor: undefined as string | undefined };
  const rest = await startOperatorRest({
    ...{ host: "127.0.0.1", port: 0, what: "an operator over REST", version: "1.2.3", refreshMs: 5_000 },
    metrics: { text: async () => "metrics 1\n", contentType: "text/plain; version=0.0.4" },
    routes: {
      "/state": () => world.state,
      "/broken": () => {
        throw new Error("on purpose");
      },
    },
    matchPath: (path) => (path.startsWith("/of/") ? { status: 200, body: [path.slice(4)] } : undefined),
    waitingFor: () => world.waitingFor,
    clock,
    log: silentLog,
  });
  t.after(() => rest.close());
  // Node's fetch would clean the path itself.
  const ask = (path: string, method = "GET") =>
    new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
      const outgoing = request({ host: "127.0.0.1", port: rest.port, path, method, agent: false }, async (answer) => {
        const parts = await answer.toArray();
        resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts).toString() });
      });
      outgoing.on("error", reject).end();
    });
  return { clock, world, ask };
}

test("pages are cached, and an empty one is answered with 204", async (t) => {
  const { clock, world, ask } = await openStage(t);
  assert.equal((await ask("/state")).status, 204);
  world.state = { dseq: 2n ** 60n };
  const first = await ask("/state?x=1");
  assert.deepEqual([first.status, first.body], [200, '{"dseq":1152921504606846976}\n']);
  assert.equal(first.headers["last-modified"], "Sun, 15 Nov 2026 08:00:00 GMT");
  assert.equal(first.headers["cache-control"], "no-cache, max-age=0");
  assert.equal(first.headers["content-type"], "text/plain; charset=utf-8");
  world.state = { dseq: 1 };
  assert.equal((await ask("/state")).body, first.body);
  await clock.advance(5_000);
  assert.equal((await ask("/state")).body, '{"dseq":1}\n');
});

test("verbs and paths are answered as the network's operators do", async (t) => {
  const { ask } = await openStage(t);
  for (const [method, path, status, body] of [
    ["GET", "/health", 200, "OK"],
    ["POST", "/health", 200, "OK"],
    ["HEAD", "/health", 200, ""],
    ["POST", "/state", 405, ""],
    ["HEAD", "/state", 405, ""],
    ["GET", "/of/x", 200, '["x"]\n'],
    ["POST", "/of/x", 405, ""],
    ["GET", "/nope", 404, "404 page not found\n"],
    ["GET", "/", 404, "404 page not found\n"],
    ["GET", "/state/", 404, "404 page not found\n"],
    ["GET", "//state", 301, ""],
    ["GET", "/x/../state", 301, ""],
    ["GET", "/healthz", 200, "ok\n"],
    ["GET", "/readyz", 200, "ready\n"],
    ["POST", "/metrics", 405, ""],
    ["GET", "/metrics", 200, "metrics 1\n"],
    ["GET", "/broken", 500, '{"Error":"unexpected error: on purpose","Code":-1}\n'],
  ] as const) {
    const answer = await ask(path, method);
    assert.deepEqual([answer.status, answer.body], [status, body], `${method} ${path}`);
    if (status === 301) assert.equal(answer.headers["location"], "/state");
  }
});

test("before the first read, the network's paths answer 503, and probes show the reason", async (t) => {
  const { world, ask } = await openStage(t);
  world.waitingFor = "the cluster has not answered yet";
  const answers = await Promise.all(
    ["/health", "/version", "/state", "/of/x", "/nope", "/healthz", "/metrics"].map((path) => ask(path)),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    [503, 503, 503, 503, 404, 200, 200],
  );
  const ready = await ask("/readyz");
  assert.deepEqual([ready.status, ready.body], [503, "the cluster has not answered yet\n"]);
});

test("the REST port serves gRPC too, whichever bytes of a connection come first", async (t) => {
  const grpc = await startOperatorGrpc({
    ...{ host: "127.0.0.1", port: 0, what: "an operator over gRPC", clock: realClock, log: silentLog },
    ...{ methods: [], file: grpcHealthV1HealthFile, serving: () => true, changed: (signal) => untilAborted(signal) },
  });
  t.after(() => grpc.close());
  const rest = await startOperatorRest({
    ...{ host: "127.0.0.1", port: 0, what: "an operator over REST", version: "1.2.3", refreshMs: 5_000 },
    metrics: { text: async () => "", contentType: "text/plain" },
    ...{ routes: {}, waitingFor: () => undefined, http2: grpc.accept, clock: realClock, log: silentLog },
  });
  t.after(() => rest.close());
  const client = openGrpcClient(t, rest.url);
  assert.equal((await client.call("/grpc.health.v1.Health/Check")).status, grpcCodes.OK);
  assert.equal(await (await fetch(`${rest.url}/healthz`)).text(), "ok\n");
  const slow = connect(rest.port, "127.0.0.1");
  t.after(() => slow.destroy());
  await once(slow, "connect");
  // "PRIx" is no method: the connection is HTTP/2's, which ends it.
  for (const part of ["P", "RI", "x"]) {
    slow.write(part);
    assert.equal(await (await fetch(`${rest.url}/healthz`)).text(), "ok\n", "others are answered meanwhile");
  }
  slow.end();
  await once(slow.resume(), "close");
});
