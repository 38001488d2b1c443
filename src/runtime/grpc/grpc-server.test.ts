import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { connect } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { eventually } from "../../../test/support/eventually.ts";
import { frame, openGrpcClient } from "../../../test/support/grpc-client.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { ByteBudget } from "../byte-budget.ts";
import { type Clock, realClock } from "../clock.ts";
import { ProviderError } from "../errors.ts";
import { silentLog } from "../log.ts";
import { grpcRequestMs } from "./call.ts";
import { createGrpcServer, grpcPingMs } from "./grpc-server.ts";
import { GrpcError, grpcCodes } from "./grpc-status.ts";
import { type GrpcMethod, methodsOf } from "./methods.ts";
import type { GrpcBounds } from "./streaming-calls.ts";

const path = "/test.Service/Do";
const bounds = { connections: 10, calls: 100, streams: 2, requestBytes: 100 };

async function serve(owner: Owner, method: GrpcMethod, clock: Clock = realClock, more: Partial<GrpcBounds> = {}) {
  const methods = methodsOf(new Map([[path, method]]));
  const server = createGrpcServer({ methods, bounds: { ...bounds, ...more }, clock, log: silentLog });
  owner.after(() => server.stop());
  const port = await server.listen({ host: "127.0.0.1", port: 0, what: "a test", setting: "none" });
  return { server, port, ...openGrpcClient(owner, `http://127.0.0.1:${port}`) };
}

function streamOf(answers: (signal: AbortSignal) => AsyncIterable<string>): GrpcMethod {
  return {
    kind: "stream",
    async *answers(_, { signal }) {
      for await (const text of answers(signal)) yield Buffer.from(text);
    },
  };
}

const echo: GrpcMethod = { kind: "unary", answer: (message) => ({ message }) };

/** Goes on for ever after its first message, as streams of changes do. */
const endless = streamOf(async function* (signal) {
  yield "first";
  await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
});

test("a stream has its messages in order, then its status", async (t) => {
  const method = streamOf(async function* () {
    yield* ["one", "", "three"];
  });
  const { call } = await serve(t, method);
  const reply = await call(path);
  assert.deepEqual(reply.messages.map(String), ["one", "", "three"]);
  assert.equal(reply.trailers["grpc-status"], "0");
});

test("a stream that fails half-way keeps what it sent and ends with the error's status", async (t) => {
  const method = streamOf(async function* () {
    yield "one";
    throw new ProviderError("AKP_INVENTORY_NOT_READY", { what: "nodes" });
  });
  const { call } = await serve(t, method);
  const reply = await call(path);
  assert.deepEqual(reply.messages.map(String), ["one"]);
  assert.equal(reply.status, grpcCodes.Unavailable);
  assert.match(reply.words, /waits for nodes \(AKP_INVENTORY_NOT_READY\)$/);
});

test("a client that leaves ends the work for it", async (t) => {
  const { server, stream } = await serve(t, endless);
  const { stream: request, messages } = stream(path);
  await eventually("its message", () => messages.length === 1);
  assert.equal(server.streams, 1);
  request.on("error", () => undefined);
  request.close();
  await eventually("the end of the stream", () => server.streams === 0);
});

test("beyond the bound a stream is rejected, and one that ended makes room", async (t) => {
  const { server, stream } = await serve(t, endless);
  const [first] = [stream(path), stream(path)];
  await eventually("both to be open", () => server.streams === 2);
  const rejected = await stream(path).ended;
  assert.equal(rejected.status, grpcCodes.ResourceExhausted);
  first?.stream.close();
  await eventually("room", () => server.streams === 1);
  const { messages } = stream(path);
  await eventually("its message", () => messages.length === 1);
});

test("clients with as many streams as they may have do not keep others from a stream", async (t) => {
  let client = "";
  const budget = new ByteBudget({ perClient: megabyte, total: 50 * megabyte, assured: 0 });
  const clients = { of: () => client, streams: 8, assuredStreams: 1, budget: { anonymous: budget, accounts: none } };
  const { server, stream } = await serve(t, endless, realClock, { streams: 20, clients });
  for (client of ["one", "two", "three", "four", "five", "six", "seven", "eight"]) {
    const calls = Array.from({ length: 10 }, () => stream(path));
    await eventually(`the streams of ${client}`, async () => {
      const ended = calls.filter(({ stream: each }) => each.readableEnded).length;
      return calls.filter(({ messages }) => messages.length > 0).length + ended === calls.length;
    });
  }
  assert.ok(server.streams >= 20, `${server.streams}`);
  client = "tenant";
  const { messages } = stream(path);
  await eventually("its message", () => messages.length === 1);
  assert.equal((await stream(path).ended).status, grpcCodes.ResourceExhausted);
});

test("a reader that does not read holds up the stream, not the server", async (t) => {
  let made = 0;
  const method: GrpcMethod = {
    kind: "stream",
    async *answers() {
      for (; ; made += 1) yield Buffer.alloc(1_000_000);
    },
  };
  const { server, open } = await serve(t, method);
  const { stream } = open(path, undefined);
  stream.pause();
  stream.end(Buffer.alloc(5));
  await eventually("the stream to be open", () => server.streams === 1);
  const settled = await eventually("it to stand still", async () => {
    const before = made;
    for (let turns = 0; turns < 50; turns += 1) await realClock.yield();
    return made === before && { made };
  });
  assert.ok(settled.made <= 1, `${settled.made} messages were made for a reader that takes none`);
});

test("the time that a client gives is kept to, before an answer and in the middle of many", async (t) => {
  const clock = createVirtualClock();
  const { server, stream, open } = await serve(t, endless, clock);
  const { ended, messages } = stream(path, { "grpc-timeout": "2S" });
  await eventually("its message", () => messages.length === 1);
  await clock.advance(1_999);
  assert.equal(server.streams, 1);
  await clock.advance(1);
  assert.equal((await ended).status, grpcCodes.DeadlineExceeded);

  const unfinished = open(path, undefined, { "grpc-timeout": "100m" });
  await eventually("the call to arrive", () => clock.pendingTimers >= 3);
  await clock.advance(100);
  assert.equal((await unfinished.ended).status, grpcCodes.DeadlineExceeded);
  assert.equal((await stream(path, { "grpc-timeout": "soon" }).ended).status, grpcCodes.Internal);
});

test("a request that never ends is not waited for", async (t) => {
  const clock = createVirtualClock();
  const { open, call } = await serve(t, echo, clock);
  const { ended } = open(path, undefined);
  await eventually("the call to arrive", () => clock.pendingTimers === 2);
  await clock.advance(grpcRequestMs);
  const reply = await ended;
  assert.deepEqual([reply.status, reply.words], [grpcCodes.DeadlineExceeded, "the request did not arrive in time"]);
  assert.equal(String((await call(path, Buffer.from("hello"))).message), "hello");
});

test("a connection that answers no ping is closed; one that does stays", async (t) => {
  const clock = createVirtualClock();
  const { server, port, stream } = await serve(t, endless, clock);
  const { messages } = stream(path);
  const mute = connect(port, "127.0.0.1");
  t.after(() => mute.destroy());
  const closed = new Promise((resolve) => mute.once("close", resolve));
  mute.on("error", () => undefined);
  mute.resume();
  await eventually("both connections", () => server.connections === 2 && messages.length === 1);
  let pings = 0;
  const answered = () => eventually("the ping's way back", () => pings > 0);
  stream(path).stream.session?.on("ping", () => {
    pings += 1;
  });
  await clock.advance(grpcPingMs);
  await answered();
  await clock.advance(grpcPingMs);
  await closed;
  assert.equal(server.connections, 1);
  assert.equal(server.streams, 2);
});

test("a server that stops reports its streams so, and leaves nothing behind", async (t) => {
  const { server, stream } = await serve(t, endless);
  const { ended, messages } = stream(path);
  await eventually("its message", () => messages.length === 1);
  await server.stop();
  const { status, words } = await ended;
  assert.deepEqual([status, words], [grpcCodes.Unavailable, "the server stops"]);
  await eventually("nothing to be left", () => server.connections === 0 && server.streams === 0);
});

const compressed = { "grpc-encoding": "gzip" };
const megabyte = 2 ** 20;
/** A kilobyte that unpacks to a megabyte. */
const bomb = frame(gzipSync(Buffer.alloc(megabyte)), 1);
const none = new ByteBudget({ perClient: 0, total: 0, assured: 0 });
const heldBounds = (): Partial<GrpcBounds> => ({
  requestBytes: megabyte,
  clients: {
    ...{ of: () => "client", streams: 2, assuredStreams: 2 },
    budget: {
      anonymous: new ByteBudget({ perClient: 5 * megabyte, total: 50 * megabyte, assured: 0 }),
      accounts: none,
    },
  },
});

for (const kind of ["unary", "stream"] as const)
  test(`a compressed request of a caller who is rejected is not unpacked (${kind})`, async (t) => {
    const authenticate = async () => {
      throw new GrpcError(grpcCodes.Unauthenticated, "unauthorized access");
    };
    const never = () => assert.fail("not called");
    const method = kind === "unary" ? { kind, authenticate, answer: never } : { kind, authenticate, answers: never };
    const { send } = await serve(t, method);
    const { status, words } = await send(path, frame(Buffer.from("not gzip"), 1), compressed);
    assert.deepEqual([status, words], [grpcCodes.Unauthenticated, "unauthorized access"]);
  });

test("unpacked requests count towards the bytes that one client's calls may hold", async (t) => {
  const done = Promise.withResolvers<void>();
  let reached = 0;
  const method: GrpcMethod = {
    kind: "unary",
    async answer() {
      reached += 1;
      await done.promise;
      return { message: Buffer.of() };
    },
  };
  const { send } = await serve(t, method, realClock, heldBounds());
  const statuses: number[] = [];
  const sent = Array.from({ length: 10 }, () =>
    send(path, bomb, compressed).then(({ status }) => statuses.push(status)),
  );
  await eventually("all to be unpacked or rejected", () => reached + statuses.length === sent.length);
  assert.deepEqual([reached, statuses], [4, Array(6).fill(grpcCodes.ResourceExhausted)]);
  done.resolve();
  await Promise.all(sent);
  assert.equal((await send(path, bomb, compressed)).status, grpcCodes.OK);
});

test("requests that are not whole count towards them as well", async (t) => {
  const { server, open, call } = await serve(t, echo, realClock, heldBounds());
  const begun = frame(Buffer.alloc(megabyte)).subarray(0, -1);
  const calls = Array.from({ length: 5 }, () => open(path, undefined));
  for (const { stream } of calls) stream.write(begun);
  const { status } = await Promise.race(calls.map(({ ended }) => ended));
  assert.equal(status, grpcCodes.ResourceExhausted);
  for (const { stream } of calls) stream.close();
  await eventually("their end", () => server.ends.of(path).reduce((sum, count) => sum + count) === calls.length);
  assert.equal((await call(path, Buffer.alloc(megabyte))).status, grpcCodes.OK);
});

test("compressed requests whose client has left are not unpacked", async (t) => {
  let unpacked = 0;
  const hook = createHook({
    init(_, type) {
      if (type === "ZLIB") unpacked += 1;
    },
  });
  const { server, port, session, open } = await serve(t, echo, realClock, { requestBytes: megabyte });
  hook.enable();
  t.after(() => hook.disable());
  const calls = Array.from({ length: 100 }, () => open(path, bomb, compressed));
  await Promise.race(calls.map(({ ended }) => ended));
  session.destroy();
  await eventually("their end", () => server.connections === 0);
  // Its turn comes after theirs.
  const { status } = await openGrpcClient(t, `http://127.0.0.1:${port}`).send(path, bomb, compressed);
  assert.equal(status, grpcCodes.OK);
  assert.ok(unpacked < calls.length / 2, `${unpacked} of ${calls.length}`);
});

for (const [what, kind, isPacked] of [
  ["unary", "unary", false],
  ["compressed", "unary", true],
  ["stream", "stream", false],
] as const)
  test(`what a call holds counts until its method is through, also where its client has left (${what})`, async (t) => {
    const budget = new ByteBudget({ perClient: 2 ** 20, total: 2 ** 20, assured: 0 });
    const through = Promise.withResolvers<void>();
    let reached = 0;
    const work = () => {
      reached += 1;
      return through.promise;
    };
    const method: GrpcMethod =
      kind === "stream"
        ? streamOf(async function* () {
            await work();
            yield* [];
          })
        : {
            kind,
            answer: () => work().then(() => ({ message: Buffer.of() })),
          };
    const clients = { of: () => "one", streams: 10, assuredStreams: 10, budget: { anonymous: budget, accounts: none } };
    const { server, open } = await serve(t, method, realClock, { clients });
    const request = isPacked ? frame(gzipSync(Buffer.alloc(100)), 1) : frame(Buffer.alloc(100));
    const { stream } = open(path, request, isPacked ? compressed : {});
    stream.on("error", () => undefined);
    await eventually("its request", () => reached === 1);
    const before = budget.used;
    assert.ok(before > 0);
    stream.close();
    await eventually("its end", () => server.ends.of(path).reduce((sum, count) => sum + count) === 1);
    await realClock.yield();
    assert.equal(budget.used, before);
    through.resolve();
    await eventually("all to be released", () => budget.used === 0);
  });

test("what is held for the requests of a client that left is released, also where its method goes on reading them", async (t) => {
  const budget = new ByteBudget({ perClient: 2 ** 20, total: 2 ** 20, assured: 0 });
  const left = Promise.withResolvers<void>();
  let read = 0;
  const method: GrpcMethod = {
    kind: "conversation",
    async *answers(requests) {
      for await (const _ of requests) {
        read += 1;
        await left.promise;
      }
      yield* [];
    },
  };
  const clients = { of: () => "one", streams: 10, assuredStreams: 10, budget: { anonymous: budget, accounts: none } };
  const { open } = await serve(t, method, realClock, { clients });
  const { stream: request } = open(path, undefined);
  request.on("error", () => undefined);
  request.write(Buffer.concat(["one", "two", "three"].map((each) => frame(Buffer.from(each)))));
  await eventually("its first request", () => read === 1 && budget.used > 0);
  request.close();
  await eventually("the end of the stream", () => budget.used === 0);
  left.resolve();
  await realClock.yield();
  await eventually("the end of the method", () => read > 1);
  await realClock.yield();
  assert.equal(budget.used, 0);
});
