/** Abuse of the gateway over gRPC: other clients are not delayed, and all resources are released. */

import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import { tokenChars } from "../../src/gateway/auth/token.ts";
import { startGrpcGateway } from "../../src/gateway/grpc/grpc-gateway.ts";
import { createRequestBudget, gatewayCheckMs, gatewayIdleMs } from "../../src/gateway/rest/connections.ts";
import { type ProxyOptions, rateLimitKeyOf } from "../../src/gateway/rest/rate-limit-key.ts";
import { ByteBudget, requestBytes } from "../../src/runtime/byte-budget.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { grpcPingMs, grpcPings } from "../../src/runtime/grpc/grpc-server.ts";
import { GrpcError, grpcCodes, grpcStatusChars } from "../../src/runtime/grpc/grpc-status.ts";
import type { GrpcMethod } from "../../src/runtime/grpc/methods.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";
import { manifestBytes } from "../../src/runtime/limits.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { frame, openGrpcClient } from "../support/grpc-client.ts";
import type { Owner } from "../support/owner.ts";
import { binaryProxyHeader, connectThrough, textProxyHeader } from "../support/proxy-headers.ts";
import { certificateOf } from "../support/stages/gateway-stage.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";
import { connectRaw, flags, frameTypes, greeting, headerBlock, rawFrame } from "./raw-http2.ts";

const paths = { one: "/test.Service/One", many: "/test.Service/Many", own: "/test.Service/Own" };
const one: GrpcMethod = {
  kind: "unary",
  answer: (_, { socket }) => ({ message: Buffer.from(rateLimitKeyOf(socket)) }),
};
/** For accounts: the token is the account. */
const own: GrpcMethod = {
  kind: "unary",
  authenticate({ headers: { authorization } }) {
    if (authorization === undefined) throw new GrpcError(grpcCodes.Unauthenticated, "unauthorized access");
    return authorization;
  },
  answer: () => ({ message: Buffer.of() }),
};
const many: GrpcMethod = {
  kind: "stream",
  async *answers(_, { signal }) {
    yield Buffer.from("first");
    await untilAborted(signal);
  },
};
const file = { name: "test.proto", package: "test", services: { Service: [] } };
const settings = rawFrame(frameTypes.settings, 0, 0);

async function start(owner: Owner, clock = realClock, budget = createRequestBudget(), proxies: ProxyOptions = {}) {
  const rejections: string[] = [];
  const gateway = await startGrpcGateway({
    ...{ listen: { host: "127.0.0.1", port: 0 }, own: certificateOf("akash1provider"), budget, clock, log: silentLog },
    services: [
      {
        file,
        methods: [
          [paths.one, one],
          [paths.many, many],
          [paths.own, own],
        ],
      },
    ],
    ...{ ...proxies, onHandshakeFailure: () => undefined, onRejection: (reason) => void rejections.push(reason) },
  });
  owner.after(() => gateway.close());
  const from = (localAddress: string) =>
    openGrpcClient(owner, `https://127.0.0.1:${gateway.port}`, { rejectUnauthorized: false, localAddress } as object);
  const good = from("127.0.0.4");
  equal((await good.call(paths.one)).status, grpcCodes.OK);
  const open = async () => {
    const socket = await connectRaw(gateway.port);
    owner.after(() => void socket.destroy());
    socket.on("error", () => undefined);
    return socket;
  };
  /** Others are answered during the attack; then all its resources are released. */
  const others = async (what: string) => {
    equal((await good.call(paths.one)).status, grpcCodes.OK, what);
    await eventually(`the end of ${what}`, () => gateway.connections === 1 && gateway.streams === 0);
  };
  return { gateway, good, open, others, rejections, from };
}

function received(socket: TLSSocket): () => Buffer {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks);
}

test("invalid HTTP/2 → its connection ends, and no other", async (t) => {
  const { open, others } = await start(t);
  for (const garbage of [
    Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    Buffer.alloc(1_000, 0xff),
    Buffer.concat([greeting, settings, Buffer.alloc(1_000, 0xff)]),
    Buffer.concat([greeting, settings, rawFrame(frameTypes.headers, flags.endHeaders, 1, Buffer.alloc(50, 0xff))]),
    Buffer.concat([greeting, settings, rawFrame(frameTypes.data, 0, 77, Buffer.alloc(50))]),
  ]) {
    const socket = await open();
    socket.resume();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(garbage);
    await closed;
  }
  await others("garbage");
});

test("ping flood → some answered, then GOAWAY too_many_pings and disconnect", async (t) => {
  const { open, others, rejections } = await start(t);
  const ping = rawFrame(frameTypes.ping, 0, 0, Buffer.from("12345678"));
  const some = await open();
  const answers = received(some);
  some.write(Buffer.concat([greeting, settings, ...Array.from({ length: 100 }, () => ping)]));
  await eventually("100 answers", () => answers().toString("latin1").split("12345678").length === 101);
  some.destroy();
  const socket = await open();
  const bytes = received(socket);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(Buffer.concat([greeting, settings]));
  for (let n = 0; n < 3; n++) {
    socket.write(Buffer.concat(Array.from({ length: grpcPings.atOnce / 2 }, () => ping)));
    await realClock.yield();
  }
  await closed;
  ok(bytes().includes("too_many_pings"));
  await others("pings");
  deepEqual(rejections, ["pings"]);
});

test("floods of control frames and headers end their connection, and other clients are answered meanwhile", async (t) => {
  const { good, open, others } = await start(t);
  const begun = rawFrame(frameTypes.headers, 0, 1, headerBlock(paths.one));
  const begunWhole = rawFrame(frameTypes.headers, flags.endHeaders, 1, headerBlock(paths.one));
  const floods = {
    settings: [settings, rawFrame(frameTypes.settings, 0, 0, Buffer.of(0, 3, 0, 0, 0, 100))],
    // So large that nghttp2, which counts them in what it is given at once, finds too few in each TLS record.
    "larger settings": [settings, rawFrame(frameTypes.settings, 0, 0, Buffer.of(0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0))],
    "headers that go on": [begun, rawFrame(frameTypes.continuation, 0, 1, headerBlock(paths.one))],
    "headers that go on with nothing": [begun, rawFrame(frameTypes.continuation, 0, 1)],
    "empty messages": [begunWhole, rawFrame(frameTypes.data, 0, 1)],
    "frames of no known type": [settings, rawFrame(0x77, 0, 0)],
  };
  for (const [what, [first = settings, again = settings]] of Object.entries(floods)) {
    const socket = await open();
    socket.resume();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(Buffer.concat([greeting, settings, first, ...Array.from({ length: 20_000 }, () => again)]));
    equal((await good.call(paths.one)).status, grpcCodes.OK, what);
    await closed;
    await others(what);
  }
});

test("client that vanishes or reads nothing → disconnected", async (t) => {
  const clock: VirtualClock = createVirtualClock();
  const { gateway, open } = await start(t, clock);
  const mute = await open();
  const closed = new Promise((resolve) => mute.once("close", resolve));
  mute.resume();
  await eventually("its connection", () => gateway.connections === 2);
  await clock.advance(grpcPingMs);
  await clock.advance(grpcPingMs);
  await closed;
  deepEqual(gateway.streams, 0);
});

test("client that resets its calls at once, or sends GOAWAY and stays → only its own connection ends", async (t) => {
  const clock = createVirtualClock();
  const { gateway, good, open } = await start(t, clock);
  const begin = (stream: number, path: string) =>
    rawFrame(frameTypes.headers, flags.endHeaders, stream, headerBlock(path));
  const reset = (stream: number) => rawFrame(frameTypes.reset, 0, stream, Buffer.alloc(4));
  const called = ["/test.Service/None", paths.one, paths.many, "/grpc.health.v1.Health/Check"];

  const hasty = await open();
  hasty.resume();
  hasty.write(
    Buffer.concat([greeting, settings, ...called.flatMap((path, n) => [begin(2 * n + 1, path), reset(2 * n + 1)])]),
  );

  const mute = await open();
  mute.resume();
  const noWindow = rawFrame(frameTypes.settings, 0, 0, Buffer.of(0, 4, 0, 0, 0, 0));
  const watch = [
    begin(1, "/grpc.health.v1.Health/Watch"),
    rawFrame(frameTypes.data, flags.endStream, 1, frame(Buffer.alloc(0))),
  ];
  mute.write(Buffer.concat([greeting, noWindow, ...watch]));
  await eventually("its stream", () => gateway.streams === 1);
  await realClock.yield();
  mute.write(reset(1));
  await eventually("its end", () => gateway.streams === 0);
  equal((await good.call(paths.one)).status, grpcCodes.OK);
  hasty.destroy();
  mute.destroy();

  const leaving = await open();
  leaving.pause();
  leaving.write(Buffer.concat([greeting, settings, rawFrame(frameTypes.goAway, 0, 0, Buffer.alloc(8))]));
  await eventually("only those two", () => gateway.connections === 2);
  await eventually("its end", async () => {
    await clock.advance(grpcPingMs);
    return gateway.connections === 1;
  });
});

test("unknown method of any length → short status, and the connection stays", async (t) => {
  const { good } = await start(t);
  const name = Buffer.concat([Buffer.of(0x0a, 0xc0, 0x84, 0x3d), Buffer.alloc(1_000_000, "x")]);
  const { status, words } = await good.call("/grpc.health.v1.Health/Check", name);
  equal(status, grpcCodes.NotFound);
  equal(words.length, grpcStatusChars);
  equal((await good.call(paths.one)).status, grpcCodes.OK);
});

test("ten thousand streams on one connection → it ends, and they are released also if the client left meanwhile", async (t) => {
  const clock: VirtualClock = createVirtualClock();
  const { gateway, good, open } = await start(t, clock);
  const streams = Array.from({ length: 10_000 }, (_, n) => [
    rawFrame(frameTypes.headers, flags.endHeaders, 1 + 2 * n, headerBlock(paths.many)),
    rawFrame(frameTypes.data, flags.endStream, 1 + 2 * n, Buffer.alloc(5)),
  ]);
  const flood = Buffer.concat([greeting, settings, ...streams.flat()]);
  const [polite, rude] = [await open(), await open()];
  const closed = new Promise((resolve) => polite.once("close", resolve));
  polite.resume();
  polite.write(flood);
  await closed;
  rude.write(flood);
  await eventually("its first streams", () => gateway.streams > 0);
  rude.destroy();
  equal((await good.call(paths.one)).status, grpcCodes.OK);
  await eventually("the end of both", async () => {
    // Where Node does not report the disconnect, the second ping detects it.
    await clock.advance(grpcPingMs);
    return gateway.connections <= 1 && gateway.streams === 0;
  });
});

test("calls that are never finished hold a bounded number of bytes for each client and in total, headers included", async (t) => {
  const budget = new ByteBudget({ perClient: 110_000, total: 220_000, assured: 10_000 });
  const { good, from, rejections } = await start(t, realClock, { ...createRequestBudget(), anonymous: budget });
  const begin = (client: ReturnType<typeof from>) =>
    Array.from({ length: 8 }, () => client.open(paths.one, undefined, { authorization: "x".repeat(20_000) }));
  const heavy = from("127.0.0.2");
  const ends = begin(heavy).map(({ ended }) => ended);
  equal((await Promise.race(ends)).status, grpcCodes.ResourceExhausted);
  await eventually("four of them to be rejected", () => rejections.length === 4);
  ok(budget.used > 80_000 && budget.used < 110_000, `${budget.used}`);
  begin(from("127.0.0.3"));
  await eventually("the total to be used up", () => rejections.length === 10);
  deepEqual(new Set(rejections), new Set(["bytes"]));
  equal((await good.call(paths.one)).status, grpcCodes.OK);
  heavy.session.destroy();
  await eventually("its bytes to be released", () => budget.used < 60_000);
});

test("unfinished requests of anonymous clients leave room for an account's manifest and compressed call, over gRPC and REST", async (t) => {
  const budget = createRequestBudget();
  const { from } = await start(t, realClock, budget, { trustedProxies: ["127.0.0.2/32"] });
  const tenant = from("127.0.0.3");
  const token = { authorization: "akash1tenant" };
  const begin = (bytes: number, path = paths.one) => {
    // Through a trusted proxy each connection is a client of its own.
    const { stream, ended } = from("127.0.0.2").open(path, undefined);
    stream.on("error", () => undefined);
    stream.write(frame(Buffer.alloc(bytes)).subarray(0, -1));
    return ended;
  };
  for (let n = 0; n < 11; n++) for (const size of [2_000_000, 1_000_000, 500_000, 250_000, 120_000]) begin(size);
  await eventually("their budget to be used up", () => budget.anonymous.used > 7 * 2 ** 20);
  const manifest = Buffer.alloc(manifestBytes);
  equal((await tenant.call(paths.own, manifest, token)).status, grpcCodes.OK);
  const packed = (bytes: Buffer) => frame(gzipSync(bytes), 1);
  const compressed = { "grpc-encoding": "gzip" };
  equal((await tenant.send(paths.own, packed(manifest), { ...token, ...compressed })).status, grpcCodes.OK);
  equal(
    (await tenant.send(paths.one, packed(Buffer.alloc(1_000)), compressed)).status,
    grpcCodes.OK,
    "without an account",
  );
  const startBytes = requestBytes(["Authorization", `Bearer ${"x".repeat(tokenChars)}`]) + 64 * 1024;
  equal(budget.anonymous.reserve("192.0.2.1", startBytes), true, "the start of a manifest over REST");
  equal(budget.accounts.open("akash1tenant").resize(manifestBytes), true, "its body");
  equal((await begin(1, paths.own)).status, grpcCodes.Unauthenticated, "before its request is whole");
});

test("idle connection → GOAWAY, one with a stream stays, and the next call reconnects", async (t) => {
  const clock: VirtualClock = createVirtualClock();
  const { gateway, good, from } = await start(t, clock);
  const following = from("127.0.0.2");
  const { messages } = following.stream(paths.many);
  await eventually("its stream", () => messages.length === 1);
  let lastStream: number | undefined;
  good.session.on("goaway", (code, last) => {
    lastStream = code === 0 ? last : undefined;
  });
  // Twice, so that the server has read the answer to its own ping.
  const answered = async () => {
    for (let n = 0; n < 2; n++) await new Promise((resolve) => following.session.ping(resolve));
  };
  for (let ms = 0; ms <= gatewayIdleMs; ms += grpcPingMs / 2) {
    equal(gateway.connections, 2, `after ${ms} ms`);
    await clock.advance(grpcPingMs / 2);
    await answered();
  }
  await clock.advance(gatewayCheckMs);
  await eventually("the idle one to end", () => gateway.connections === 1);
  equal(lastStream, 1);
  equal(gateway.streams, 1);
  equal((await from("127.0.0.1").call(paths.one)).status, grpcCodes.OK);
});

test("rate limit key over gRPC: the client's address behind a proxy, the connection of a trusted proxy", async (t) => {
  const proxies = { proxyProtocolFrom: ["127.0.0.1/32"], trustedProxies: ["192.0.2.9/32"] };
  const { gateway } = await start(t, realClock, createRequestBudget(), proxies);
  const placeOf = async (header: Buffer) => {
    const socket = await connectThrough(gateway.port, header, { ALPNProtocols: ["h2"] });
    const client = openGrpcClient(t, `https://127.0.0.1:${gateway.port}`, { createConnection: () => socket });
    return (await client.call(paths.one)).message.toString();
  };
  equal(await placeOf(textProxyHeader("192.0.2.7")), "192.0.2.7");
  equal(await placeOf(binaryProxyHeader("2001:db8:1:2:0:0:0:3")), "2001:0db8:0001:0002");
  const [first, second] = [await placeOf(textProxyHeader("192.0.2.9")), await placeOf(textProxyHeader("192.0.2.9"))];
  notEqual(first, second);
});
