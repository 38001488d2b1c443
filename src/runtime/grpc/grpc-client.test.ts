import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { answer, grpcHeaders, startRawOperator } from "../../../test/support/raw-operator.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { realClock } from "../clock.ts";
import { silentLog } from "../log.ts";
import { framed } from "./framing.ts";
import { connectGrpc } from "./grpc-client.ts";
import { createGrpcServer } from "./grpc-server.ts";
import { GrpcError, grpcCodes } from "./grpc-status.ts";
import { type GrpcMethod, methodsOf } from "./methods.ts";

const path = "/test.Service/Do";
const bounds = { connections: 10, calls: 100, streams: 10, requestBytes: 1_000 };
const hello = Buffer.from("hello");

async function serve(owner: Owner, method: GrpcMethod, mostBytes = 1_000) {
  const server = createGrpcServer({
    methods: methodsOf(new Map([[path, method]])),
    bounds,
    clock: realClock,
    log: silentLog,
  });
  owner.after(() => server.stop());
  const port = await server.listen({ host: "127.0.0.1", port: 0, what: "a test", setting: "none" });
  const ending = new AbortController();
  const options = { clock: realClock, mostBytes, signal: ending.signal };
  const client = await connectGrpc({ host: "127.0.0.1", port }, options);
  owner.after(() => client.close());
  return { server, client, ending };
}

test("a call brings its one answer, and a stream every one until its end", async (t) => {
  const echo: GrpcMethod = { kind: "unary", answer: (request) => ({ message: Buffer.concat([request, request]) }) };
  const { client } = await serve(t, echo);
  assert.equal(String(await client.call(path, hello, 5_000)), "hellohello");
  const counting: GrpcMethod = {
    kind: "stream",
    async *answers(request) {
      for (const n of ["1", "2", "3"]) yield Buffer.from(`${request}${n}`);
    },
  };
  const streaming = await serve(t, counting);
  const seen: string[] = [];
  for await (const message of streaming.client.stream(path, hello)) seen.push(String(message));
  assert.deepEqual(seen, ["hello1", "hello2", "hello3"]);
});

test("a status other than OK is thrown with its code and its words, whatever characters are in them", async (t) => {
  const rejecting: GrpcMethod = {
    kind: "unary",
    answer: () => {
      throw new GrpcError(grpcCodes.NotFound, "100 % of the nodes are “away”");
    },
  };
  const { client } = await serve(t, rejecting);
  const rejection = { code: grpcCodes.NotFound, message: "100 % of the nodes are “away”" };
  await assert.rejects(client.call(path, hello, 5_000), rejection);
  await assert.rejects(client.stream("/test.Service/Other", hello).next(), { code: grpcCodes.Unimplemented });
});

test("an answer that is larger than allowed ends its call and no other", async (t) => {
  const long: GrpcMethod = { kind: "unary", answer: (request) => ({ message: Buffer.alloc(request.length * 100) }) };
  const { client } = await serve(t, long);
  await assert.rejects(client.call(path, Buffer.alloc(11), 5_000), { code: grpcCodes.ResourceExhausted });
  assert.equal((await client.call(path, Buffer.alloc(10), 5_000)).length, 1_000);
});

test("the caller that stops reading a stream ends it, and the connection stays", async (t) => {
  let gone = false;
  const endless: GrpcMethod = {
    kind: "stream",
    async *answers(_, { signal }) {
      signal.addEventListener("abort", () => {
        gone = true;
      });
      for (;;) {
        yield hello;
        await realClock.yield();
      }
    },
  };
  const { client } = await serve(t, endless);
  for await (const message of client.stream(path, hello)) {
    assert.equal(String(message), "hello");
    break;
  }
  await eventually("the server to hear of it", () => gone);
  for await (const _ of client.stream(path, hello)) break;
});

test("a call that takes too long is ended, by our clock", async (t) => {
  const operator = await startRawOperator(t);
  operator.onQuery = (stream) => stream.respond(grpcHeaders);
  const clock = createVirtualClock();
  const { signal } = new AbortController();
  const client = await connectGrpc({ host: "127.0.0.1", port: operator.port }, { clock, mostBytes: 100, signal });
  t.after(() => client.close());
  const call = client.call("/x/QueryCluster", hello, 3_000);
  call.catch(() => undefined);
  await eventually("the question", () => operator.queries === 1);
  await clock.advance(3_000);
  await assert.rejects(call, { code: grpcCodes.DeadlineExceeded, message: "no answer within 3000 ms" });
  operator.onQuery = (stream) => answer(stream, hello);
  assert.equal(String(await client.call("/x/QueryCluster", hello, 3_000)), "hello");
  assert.equal(clock.pendingTimers, 0);
});

test("an answer that breaks off, or has no message or no status, is an error", async (t) => {
  const operator = await startRawOperator(t);
  const options = { clock: realClock, mostBytes: 100, signal: new AbortController().signal };
  const client = await connectGrpc({ host: "127.0.0.1", port: operator.port }, options);
  t.after(() => client.close());
  const call = () => client.call("/x/QueryCluster", hello, 5_000);
  operator.onQuery = (stream) => {
    stream.respond(grpcHeaders);
    stream.end(framed(hello).subarray(0, 7));
  };
  await assert.rejects(call(), /ends within a message/);
  operator.onQuery = (stream) => {
    stream.respond(grpcHeaders);
    stream.end(framed(hello));
  };
  await assert.rejects(call(), { code: grpcCodes.Unavailable, message: "the connection broke" });
  operator.onQuery = (stream) => stream.respond({ ...grpcHeaders, "grpc-status": "0" }, { endStream: true });
  await assert.rejects(call(), { code: grpcCodes.Internal, message: "the answer has no message" });
  operator.onQuery = (stream) => stream.session?.destroy();
  await assert.rejects(call(), { code: grpcCodes.Unavailable });
  // The connection is gone by now.
  await assert.rejects(call(), { code: grpcCodes.Unavailable });
});

test("the signal ends the connection and all its calls, also before it is made", async (t) => {
  const endless: GrpcMethod = {
    kind: "stream",
    async *answers(_, { signal }) {
      yield hello;
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  };
  const { client, server, ending } = await serve(t, endless);
  const stream = client.stream(path, hello);
  await stream.next();
  const next = stream.next();
  ending.abort(new Error("enough"));
  await assert.rejects(next, /enough/);
  await eventually("the connection to go", () => server.connections === 0);
  const options = { clock: realClock, mostBytes: 100, signal: AbortSignal.abort(new Error("never")) };
  await assert.rejects(connectGrpc({ host: "127.0.0.1", port: 1 }, options), /never/);
});
