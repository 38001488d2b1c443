import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { silentLog } from "../../runtime/log.ts";
import { createKubeClient } from "../client/kube-client.ts";
import type { Lane, SentRequest } from "../client/transport.ts";
import { kubeSockets } from "./agents.ts";
import { createKubeTransport } from "./http-kube.ts";

async function stage(owner: Owner, serve: RequestListener) {
  const clock = createVirtualClock();
  const seen: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    serve(request, response);
  });
  server.on("connection", (socket) => {
    connections += 1;
    socket.on("close", () => {
      connections -= 1;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const access = {
    path: "kubeconfig",
    server: new URL(`http://127.0.0.1:${port}`),
    authorization: undefined,
    tls: { rejectUnauthorized: true },
    tlsMark: "",
  };
  const credentials = { current: () => Promise.resolve(access), rejected: () => undefined, close: () => undefined };
  const transport = createKubeTransport({ credentials, clock });
  owner.after(() => {
    transport.close();
    server.close();
    server.closeAllConnections();
  });

  async function send(path: string, parts: Partial<SentRequest> = {}): Promise<string> {
    const requested = { verb: "get", resource: path, method: "GET", headers: {}, body: undefined };
    return text((await transport.send({ ...requested, path, ...parts })).body);
  }
  return { clock, seen, send, transport, connections: () => connections };
}

/** The second request on a connection finds it gone. */
async function stageThatLetsGo(owner: Owner, lane: Lane = "calls") {
  const used = new WeakSet<object>();
  const staged = await stage(owner, ({ socket }, response) => {
    if (used.has(socket)) return socket.destroy();
    used.add(socket);
    return response.end("hello");
  });
  assert.equal(await staged.send("/first", { lane }), "hello");
  return staged;
}

const isUnreachable = (reason: RegExp) => (thrown: unknown) =>
  ProviderError.is(thrown, "AKP_KUBE_UNREACHABLE") && reason.test(thrown.message);

test("a request on a kept-alive connection that the server closed is sent again", async (t) => {
  const { seen, send } = await stageThatLetsGo(t);
  assert.equal(await send("/second"), "hello");
  assert.deepEqual(seen, ["GET /first", "GET /second", "GET /second"]);
});

test("a create is not sent again on a new connection", async (t) => {
  const { seen, send } = await stageThatLetsGo(t);
  await assert.rejects(send("/second", { method: "POST" }), isUnreachable(/hang up|ECONNRESET/));
  assert.deepEqual(seen, ["GET /first", "POST /second"]);
});

test("a request to a pod is never sent twice, whatever its method", async (t) => {
  const { clock, seen, transport } = await stageThatLetsGo(t, "proxied");
  const kube = createKubeClient(transport, "test", { clock, random: createSeededRandom(1), log: silentLog });
  const requested = kube.proxy({ kind: "pod", namespace: "lease", name: "box", port: 80 });
  await assert.rejects(requested, isUnreachable(/hang up|ECONNRESET/));
  assert.equal(seen.length, 2);
});

test("a request on a kept connection that is not answered in time is not sent again", async (t) => {
  const { clock, seen, send } = await stage(t, ({ url }, response) => void (url === "/first" && response.end("hello")));
  assert.equal(await send("/first"), "hello");
  const late = assert.rejects(send("/second", { answerMs: 5_000 }), isUnreachable(/no answer within 5000 ms/));
  await eventually("the request", () => seen.length === 2);
  await clock.advance(5_000);
  await late;
  assert.deepEqual(seen, ["GET /first", "GET /second"]);
});

test("calls wait neither for proxied requests nor for streams", async (t) => {
  const { seen, send } = await stage(t, ({ url }, response) => void (url === "/quick" && response.end("hello")));
  const slow = Array.from({ length: 3 * kubeSockets }, (_, n) => [
    send(`/pod-${n}`, { lane: "proxied" }),
    send(`/stream-${n}`, { lane: "streams" }),
  ]).flat();
  for (const each of slow) each.catch(() => undefined);
  await eventually("all of them", () => seen.length === slow.length);
  assert.equal(await send("/quick"), "hello");
});

test("closing ends running and queued requests, and all connections", async (t) => {
  const { clock, seen, send, transport, connections } = await stage(t, ({ url }, response) => {
    if (url === "/streams") response.write("half");
  });
  const streaming = assert.rejects(send("/streams", { lane: "streams" }));
  const waiting = Array.from({ length: 20 }, (_, n) => assert.rejects(send(`/${n}`), isUnreachable(/is closed/)));
  await eventually("the requests", () => seen.length === 17);
  transport.close();
  await Promise.all([streaming, ...waiting]);
  await assert.rejects(send("/late"), isUnreachable(/is closed/));
  await eventually("the end", () => connections() === 0);
  assert.equal(seen.length, 17);
  assert.equal(clock.pendingTimers, 0);
});
