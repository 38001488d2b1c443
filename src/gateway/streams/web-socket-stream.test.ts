import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { openStream, serveStreams } from "../../../test/support/stages/stream-stage.ts";
import { clientFrame } from "../../../test/support/web-socket-bytes.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { streamFarewellMs } from "../../runtime/limits.ts";
import { streamsPerTenant } from "./admission.ts";
import type { StreamHandler, TenantStream } from "./tenant-stream.ts";
import { streamPingMs, streamProbeMs, streamStalledMs } from "./web-socket-stream.ts";

/** Streams until it may not any more. */
const idle: StreamHandler = async ({ signal }) => {
  if (!signal.aborted) await once(signal, "abort");
  return { code: 1000 };
};

test("stream is pinged every ten seconds, with or without pongs", async (t) => {
  const { port, clock, admission, world } = await serveStreams(t, idle);
  world.untilMs = clock.now() + 2 * 3_600_000;
  const [silent, polite] = await Promise.all([openStream(port), openStream(port)]);
  await clock.advance(10 * 1_000);
  await silent.until(() => silent.count("ping") === 1);
  await polite.until(() => polite.count("ping") === 1);
  polite.send("pong");
  await clock.advance(3_600_000 - 10 * 1_000);
  for (const client of [silent, polite]) await client.until(() => client.count("ping") === 360);
  assert.deepEqual([silent.frames.length, silent.isEnded], [360, false]);
  assert(silent.frames.every(({ bytes }) => bytes.length === 0));
  assert.equal(admission.count, 2);
});

test("slow reader → pings among pending frames", async (t) => {
  const line = "x".repeat(1_000);
  let [sent, isEnough] = [0, false];
  const { port, clock } = await serveStreams(t, async ({ send, signal }) => {
    while (!isEnough && !signal.aborted) {
      await send(line);
      sent += 1;
    }
    return { code: 1000 };
  });
  const client = await openStream(port);
  client.socket.pause();
  await eventually("a handler that waits", () => isStill(() => sent));
  await clock.advance(3 * streamPingMs);
  isEnough = true;
  client.socket.resume();
  await client.until(() => client.close !== undefined);
  assert.equal(client.count("ping"), 3);
});

test("a close frame is echoed with its code and without its reason, then the connection ends", async (t) => {
  const reasons: unknown[] = [];
  const { port, admission } = await serveStreams(t, async (stream) => {
    await idle(stream);
    reasons.push((stream.signal.reason as ProviderError).code);
    return { code: 1000 };
  });
  const sent: readonly [Buffer, number | undefined][] = [
    [Buffer.from("\x13\x87bye", "latin1"), 4999],
    [Buffer.from("\x03\xe8", "latin1"), 1000],
    [Buffer.alloc(0), undefined],
  ];
  for (const [bytes, code] of sent) {
    const client = await openStream(port);
    client.send("close", bytes);
    await client.until(() => client.isEnded);
    assert.deepEqual(client.close, { code, reason: "" });
  }
  await eventually("no stream", () => admission.count === 0);
  assert.deepEqual(reasons, Array(3).fill("AKP_STREAM_CLIENT_GONE"));
});

test("handler result → close frame; error → close code by its kind", async (t) => {
  let ending: () => { code: number; reason?: string };
  const { port, admission } = await serveStreams(t, async (stream) => {
    await stream.send(Buffer.from("last"));
    return ending();
  });
  const unreachable = { server: "s", verb: "list", resource: "pods", reason: "r", path: "p" };
  const endings: readonly [typeof ending, number, string][] = [
    [() => ({ code: 1000 }), 1000, ""],
    [() => ({ code: 4000, reason: "no running pods" }), 4000, "no running pods"],
    [thrown(new ProviderError("AKP_KUBE_UNREACHABLE", unreachable)), 4002, ""],
    [thrown(new ProviderError("AKP_KUBE_NOT_FOUND", { verb: "v", resource: "r", reason: "r" })), 4001, ""],
    [thrown(new Error("a secret")), 4000, ""],
  ];
  for (const [next, code, reason] of endings) {
    ending = next;
    const client = await openStream(port);
    await client.until(() => client.close !== undefined);
    assert.deepEqual(client.close, { code, reason });
    assert.deepEqual(
      client.frames.map(({ type }) => type),
      ["binary", "close"],
    );
    client.send("close", client.frames[1]?.bytes);
    await client.until(() => client.isEnded);
  }
  await eventually("no stream", () => admission.count === 0);
});

test("close frame not confirmed → connection ends anyway", async (t) => {
  const { port, clock } = await serveStreams(t, async () => ({ code: 1000 }));
  const client = await openStream(port);
  await client.until(() => client.close !== undefined);
  await clock.advance(streamFarewellMs);
  await client.until(() => client.isEnded);
});

for (const [who, sendsFirst, sendsLater] of [
  ["who still sends something", false, true],
  ["whose input is not read", true, false],
] as const)
  test(`end of a stream reaches a slow reader: ${who}`, async (t) => {
    const count = 1_000;
    const begun = Promise.withResolvers<void>();
    let isDone = false;
    const { port, clock, admission } = await serveStreams(t, async (stream) => {
      stream.onFrame(() => new Promise(() => undefined));
      await begun.promise;
      for (let sent = 0; sent < count; sent += 1) await stream.send(Buffer.alloc(1_000));
      isDone = true;
      return { code: 1000 };
    });
    const client = await openStream(port);
    // More than is read ahead, so that some of it is never read.
    if (sendsFirst) for (let left = 20; left > 0; left -= 1) client.send("binary", Buffer.alloc(16_384));
    await eventually("all of it on its way", () => client.socket.writableLength === 0);
    client.socket.pause();
    begun.resolve();
    await eventually("a stream at its end", () => isDone);
    await clock.advance(5 * streamFarewellMs);
    // Of a connection that is gone, the kernel would throw away what was not read yet.
    const pong = clientFrame("pong", "");
    if (sendsLater)
      for (let left = 3; left > 0; left -= 1) await new Promise((done) => client.socket.write(pong, done));
    client.socket.resume();
    await client.until(() => client.isEnded);
    assert.deepEqual([client.count("binary"), client.close?.code], [count, 1000]);
    await eventually("no stream", () => admission.count === 0);
  });

test("end of a stream never read → connection is destroyed", async (t) => {
  const { port, clock, admission } = await serveStreams(t, async () => ({ code: 1000 }));
  const client = await openStream(port);
  client.socket.pause();
  await eventually("no stream", () => admission.count === 0);
  await clock.advance(streamStalledMs);
  assert.equal(admission.leaving, 1);
  await clock.advance(2 * streamFarewellMs);
  await eventually("its end", () => admission.leaving === 0);
  client.socket.destroy();
});

test("slow reader delays the handler; without reading for ten minutes it is cut off", async (t) => {
  const line = "x".repeat(1_000);
  let sent = 0;
  let reason: unknown;
  const { port, clock, admission } = await serveStreams(t, async (stream) => {
    while (!stream.signal.aborted) {
      await stream.send(line);
      sent += line.length;
    }
    reason = (stream.signal.reason as ProviderError).code;
    return { code: 1000 };
  });
  const client = await openStream(port);
  client.socket.pause();
  await eventually("a handler that waits", () => isStill(() => sent));
  await clock.advance(streamStalledMs - streamPingMs);
  assert.equal(reason, undefined);
  await clock.advance(2 * streamPingMs);
  await eventually("an end", () => admission.count === 0);
  assert.equal(reason, "AKP_STREAM_TOO_SLOW");
  client.socket.destroy();
});

test("slow reader is not cut off", async (t) => {
  const whole = 2 * 2 ** 20;
  const frame = Buffer.alloc(16 * 1024);
  const { port, clock } = await serveStreams(t, async (stream) => {
    for (let sent = 0; sent < whole; sent += frame.length) await stream.send(frame);
    return { code: 1000 };
  });
  const client = await openStream(port);
  while (client.close === undefined && !client.isEnded) {
    client.socket.pause();
    await clock.advance(streamPingMs * 3);
    client.socket.resume();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(client.count("binary"), whole / frame.length);
  assert.equal(client.close?.code, 1000);
});

test("reader of so little that the kernel buffer stays full for minutes is not cut off", async (t) => {
  let sent = 0;
  const { port, clock, admission } = await serveStreams(t, async ({ send, signal }) => {
    while (!signal.aborted) {
      await send(Buffer.alloc(16 * 1024));
      sent += 1;
    }
    return { code: 1000 };
  });
  const client = await openStream(port);
  client.socket.pause();
  await eventually("a handler that waits", () => isStill(() => sent));
  // Of its send buffer, the kernel wants a third to be free before it takes more: on loopback that is a megabyte.
  for (let seconds = 0; seconds < 5 * 60; seconds += 4) {
    const sip = once(client.socket, "data");
    client.socket.once("data", () => client.socket.pause()).resume();
    await sip;
    await clock.advance(4_000);
  }
  assert.equal(admission.count, 1);
  client.socket.destroy();
});

test("what a tenant sends is read no faster than it is taken, in its order, and none is lost", async (t) => {
  const taken: string[] = [];
  const waiting: (() => void)[] = [];
  const { port } = await serveStreams(t, async (stream) => {
    stream.onFrame((bytes, isBinary) => {
      taken.push(`${isBinary ? "binary" : "text"} ${bytes}`);
      return new Promise((resolve) => void waiting.push(resolve));
    });
    return idle(stream);
  });
  const client = await openStream(port);
  for (const text of ["1", "2", "3"]) client.send("binary", text);
  client.send("text", "4");
  for (const count of [1, 2, 3, 4]) {
    await eventually("a frame", () => taken.length === count);
    assert.equal(waiting.length, 1);
    waiting.pop()?.();
  }
  assert.deepEqual(taken, ["binary 1", "binary 2", "binary 3", "text 4"]);
  client.socket.destroy();
});

test("client leaves with unread input → detected at once", async (t) => {
  const { port, admission } = await serveStreams(t, async (stream) => {
    stream.onFrame(() => new Promise(() => undefined));
    return idle(stream);
  });
  const client = await openStream(port);
  for (let left = 8; left > 0; left -= 1) client.send("binary", Buffer.alloc(4_096));
  await eventually("all of it on its way", () => client.socket.writableLength === 0);
  client.socket.destroy();
  await eventually("an end", () => admission.count === 0);
});

test("client leaves with input beyond the read-ahead → detected by a ping", async (t) => {
  const { port, clock, admission } = await serveStreams(t, async (stream) => {
    stream.onFrame(() => new Promise(() => undefined));
    return idle(stream);
  });
  const client = await openStream(port);
  for (let left = 16; left > 0; left -= 1) client.send("binary", Buffer.alloc(65_536));
  await eventually("all of it on its way", () => client.socket.writableLength === 0);
  client.socket.destroy();
  const untilMs = clock.now() + streamPingMs - streamProbeMs;
  await eventually("an end", async () => {
    if (clock.now() < untilMs) await clock.advance(streamProbeMs);
    return admission.count === 0;
  });
});

test("ping → pong with its payload; pings without reading hold no memory", async (t) => {
  let stream: TenantStream | undefined;
  const { port, admission } = await serveStreams(t, (own) => {
    stream = own;
    return idle(own);
  });
  const client = await openStream(port);
  client.send("ping", "p1");
  await client.until(() => client.count("pong") === 1);
  assert.equal(client.frames[0]?.bytes.toString(), "p1");
  client.socket.pause();
  for (let left = 900; left > 0; left -= 1) client.send("ping", Buffer.alloc(125));
  assert(stream && admission.count === 1);
  client.socket.destroy();
  await eventually("an end", () => admission.count === 0);
});

test("oversized frame ends its own stream only", async (t) => {
  const { port, admission } = await serveStreams(t, idle);
  const [client, other] = await Promise.all([openStream(port), openStream(port)]);
  client.socket.write(Buffer.of(0x82, 0xff, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0));
  await client.until(() => client.close !== undefined);
  assert.equal(client.close?.code, 1009);
  client.socket.destroy();
  await eventually("one stream", () => admission.count === 1);
  assert.equal(other.isEnded, false);
});

const deaf: StreamHandler = (stream) => {
  stream.onFrame(() => new Promise(() => undefined));
  return idle(stream);
};

/** The head of a masked binary frame of a megabyte. */
const largeHead = Buffer.of(0x82, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0);

test("frame in one-byte TLS records → stream ends before it costs much memory", async (t) => {
  const { port, admission } = await serveStreams(t, idle);
  const client = await openStream(port);
  client.socket.setNoDelay(true);
  client.socket.write(largeHead);
  for (let left = 20_000; left > 0 && !client.isEnded; left -= 1)
    await new Promise((written) => client.socket.write("x", written));
  await client.until(() => client.isEnded);
  await eventually("no stream", () => admission.count === 0);
  assert.deepEqual([...admission.endings], [["AKP_STREAM_INPUT_EXCESS", 1]]);
});

test("message in one-byte fragments → stream ends; in usual fragments → delivered", async (t) => {
  const sizes: number[] = [];
  const { port, admission } = await serveStreams(t, async (stream) => {
    stream.onFrame((bytes) => void sizes.push(bytes.length));
    return idle(stream);
  });
  const fragment = (size: number, isFirst: boolean, isLast: boolean) => {
    const head = clientFrame("binary", Buffer.alloc(size));
    head[0] = (isFirst ? 2 : 0) | (isLast ? 0x80 : 0);
    return head;
  };
  const usual = await openStream(port);
  for (let n = 0; n < 250; n += 1) usual.socket.write(fragment(4_096, n === 0, n === 249));
  await eventually("the message", () => sizes.length === 1);
  assert.deepEqual(sizes, [250 * 4_096]);
  const client = await openStream(port);
  client.socket.write(Buffer.concat(Array.from({ length: 15_000 }, (_, n) => fragment(1, n === 0, false))));
  await client.until(() => client.isEnded);
  await eventually("one stream", () => admission.count === 1);
  usual.socket.destroy();
});

for (const [what, handler, frames] of [
  ["frames that are not whole", idle, Buffer.concat([largeHead, Buffer.alloc(2 ** 20 - 1)])],
  ["frames that its commands do not take", deaf, Buffer.concat([largeHead, Buffer.alloc(2 ** 20)])],
] as const)
  test(`memory of one tenant in ${what} is bounded, and affects no other tenant's stream`, async (t) => {
    const { port, admission } = await serveStreams(t, handler);
    const other = await openStream(port, { authorization: "akash1other" });
    other.socket.write(frames);
    const clients = await Promise.all(Array.from({ length: 30 }, () => openStream(port)));
    for (const { socket } of clients) socket.write(frames);
    await eventually("an end for some", () => clients.some(({ isEnded }) => isEnded));
    await eventually("all is read", () =>
      clients.every(({ isEnded, socket }) => isEnded || socket.writableLength === 0),
    );
    assert.deepEqual([...admission.endings.keys()], ["AKP_STREAM_INPUT_EXCESS"]);
    assert.equal(other.isEnded, false);
    for (const { socket } of [other, ...clients]) socket.destroy();
    await eventually("no stream", () => admission.count === 0);
  });

for (const [what, bytes] of [
  ["pings", clientFrame("ping", "")],
  ["pongs", clientFrame("pong", "x")],
  ["empty frames", clientFrame("text", "")],
  ["empty fragments", Buffer.of(0, 0x80, 0, 0, 0, 0)],
  ["small frames that are not read", clientFrame("binary", "x")],
] as const)
  test(`a flood of ${what} ends its stream`, async (t) => {
    const { port, clock, admission } = await serveStreams(t, idle);
    const client = await openStream(port);
    if (what === "empty fragments") client.socket.write(Buffer.of(2, 0x80, 0, 0, 0, 0));
    for (let second = 0; second < 5; second += 1) {
      for (let left = 100; left > 0; left -= 1) client.socket.write(bytes);
      await clock.advance(5_000);
    }
    await client.until(() => client.count("ping") >= 2);
    assert.equal(admission.count, 1);
    client.socket.write(Buffer.concat(Array.from({ length: 3_000 }, () => bytes)));
    await client.until(() => client.isEnded);
    await eventually("no stream", () => admission.count === 0);
    assert.deepEqual([...admission.endings], [["AKP_STREAM_INPUT_EXCESS", 1]]);
  });

test("closed stream is not counted, whether its client confirms or not", async (t) => {
  const { port, admission } = await serveStreams(t, async () => ({ code: 4001 }));
  const silent = [];
  for (let left = streamsPerTenant + 1; left > 0; left -= 1) {
    const client = await openStream(port);
    assert.equal(client.answer?.status, 101, client.answer?.body);
    client.socket.pause();
    silent.push(client);
  }
  assert.equal(admission.count, 0);
  const [oldest, next] = silent;
  oldest?.socket.resume();
  next?.socket.resume();
  // As many as may be open may wait for their clients; of more, the oldest is left.
  await oldest?.until(() => oldest.isEnded);
  assert.equal(next?.isEnded, false);
  for (const { socket } of silent) socket.destroy();
});

/** The kernel takes megabytes before a handler has to wait. Turns are counted, since a busy machine may give us none for a while. */
async function isStill(sent: () => number): Promise<boolean> {
  const before = sent();
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  return sent() > 0 && sent() === before;
}

function thrown(error: Error): () => never {
  return () => {
    throw error;
  };
}
