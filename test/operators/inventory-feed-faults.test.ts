/** The feed over gRPC against an operator that does all that operators and wires do wrong. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { type ClusterSnapshot, feedOldMs } from "../../src/cluster/capacity/inventory/feed.ts";
import {
  createGrpcFeed,
  feedAnswerMs,
  feedRetryMostMs,
  feedWakeMs,
} from "../../src/cluster/capacity/inventory/grpc-feed.ts";
import { framed } from "../../src/runtime/grpc/framing.ts";
import type { GrpcAddress } from "../../src/runtime/grpc/grpc-client.ts";
import { grpcConnectMs } from "../../src/runtime/grpc/grpc-client.ts";
import { encodeProof } from "../../src/runtime/grpc/snapshot-proof.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { startProxy } from "../support/cuttable-proxy.ts";
import { eventually } from "../support/eventually.ts";
import type { Owner } from "../support/owner.ts";
import {
  grpcHeaders,
  networkNode,
  networkSnapshot,
  type RawOperator,
  startRawOperator,
} from "../support/raw-operator.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const one = networkSnapshot([networkNode("one")]);
const two = networkSnapshot([networkNode("one"), networkNode("two")]);
const minute = 60_000;

function follow(owner: Owner, address: GrpcAddress) {
  const clock = createVirtualClock();
  const locate = async () => address;
  const feed = createGrpcFeed({ locate, clock, random: createSeededRandom(1), log: silentLog });
  const snapshots: ClusterSnapshot[] = [];
  feed.onSnapshot((snapshot) => snapshots.push(snapshot));
  const stopping = new AbortController();
  const running = feed.run(stopping.signal);
  const stop = async () => {
    stopping.abort();
    await running;
  };
  owner.after(stop);
  /** As much of the feed's time as it takes, a little at a time. */
  const until = (what: string, condition: () => unknown, stepMs = 1_000) =>
    eventually(what, async () => {
      if (condition()) return true;
      await clock.advance(stepMs);
      return Boolean(condition());
    });
  return { clock, feed, snapshots, stop, until };
}

/** Where it is just then. */
function addressOf(operator: RawOperator) {
  return {
    host: "127.0.0.1",
    get port() {
      return operator.port;
    },
  };
}

async function stage(owner: Owner, snapshot?: Uint8Array) {
  const operator = await startRawOperator(owner, snapshot);
  return { operator, ...follow(owner, addressOf(operator)) };
}

test("the Go provider's operator, which reports no versions, is followed", async (t) => {
  const { feed } = await stage(t, two);
  const snapshot = await eventually("the snapshot", () => feed.snapshot);
  assert.deepEqual(snapshot.nodes[0], {
    name: "one",
    cpuMilli: { allocatable: 32_000n, allocated: 1_250n },
    memoryBytes: { allocatable: 274_877_906_944n, allocated: 1_130n * 1024n ** 2n },
    ephemeralBytes: { allocatable: 1_099_511_627_776n, allocated: 48n * 1024n ** 2n },
    gpus: { allocatable: 8n, allocated: 2n },
    gpuCounts: [{ gpu: { vendor: "nvidia", model: "a100", memoryGi: 80n, interface: "sxm" }, count: 8n }],
    volumes: { allocatable: "unlimited", allocated: 0n },
    storageClasses: ["beta3"],
  });
  assert.deepEqual(snapshot.storage, [
    { class: "beta3", bytes: { allocatable: 10n ** 12n, allocated: 10n * 1024n ** 3n } },
  ]);
  assert.equal(snapshot.podsVersion, undefined);
});

test("operator restarted → the last snapshot stays until the next", async (t) => {
  const { operator, feed, until } = await stage(t, two);
  await eventually("the snapshot", () => feed.snapshot);
  await operator.kill();
  await eventually("the loss to be noticed", () => feed.lastError);
  await until("a few tries", () => feed.counts.reconnects >= 3);
  assert.match(feed.lastError ?? "", /ECONNREFUSED/);
  assert.equal(feed.snapshot?.nodes.length, 2);
  assert.equal(feed.error, undefined);
  operator.snapshot = one;
  await operator.revive();
  await until("the next snapshot", () => feed.snapshot?.nodes.length === 1);
  assert.deepEqual([feed.lastError, feed.error], [undefined, undefined]);
});

test("news on the bus ends the pause before the next connection, and is a question where the stream is silent", async (t) => {
  const { operator, clock, feed, until } = await stage(t, two);
  await eventually("the snapshot", () => feed.snapshot);
  feed.wake();
  await clock.advance(0);
  assert.equal(operator.queries, 0, "it was heard just now");
  await clock.advance(feedWakeMs + 1);
  feed.wake();
  await eventually("the question", () => operator.queries === 1);
  await operator.kill();
  await eventually("the loss to be noticed", () => feed.lastError);
  await until("long pauses", () => feed.counts.reconnects >= 6);
  operator.snapshot = one;
  await operator.revive();
  const tried = feed.counts.reconnects;
  await eventually("the next snapshot without a pause", () => {
    feed.wake();
    return feed.snapshot?.nodes.length === 1;
  });
  assert.ok(feed.counts.reconnects > tried);
});

test("while the operator is gone the tries grow apart, and after two minutes nothing may be promised", async (t) => {
  const { operator, clock, feed, until } = await stage(t, two);
  await eventually("the snapshot", () => feed.snapshot);
  await operator.kill();
  await eventually("the loss to be noticed", () => feed.lastError);
  await until("the snapshot to be too old", () => feed.error, 2_000);
  assert.ok(clock.monotonicMs() > feedOldMs);
  assert.match(feed.error ?? "", /^the inventory has been silent for 12\d s: connect ECONNREFUSED/);
  assert.ok(feed.counts.reconnects > 8 && feed.counts.reconnects < 24, `${feed.counts.reconnects} tries`);
  assert.equal(feed.snapshot?.nodes.length, 2);
});

test("silent operator → queried, disconnected and reconnected", async (t) => {
  const { operator, clock, feed, until } = await stage(t, two);
  await eventually("the snapshot", () => feed.snapshot);
  const { onQuery, onStream } = operator;
  // It takes calls, and answers none of them.
  operator.onQuery = (stream) => stream.respond(grpcHeaders);
  operator.onStream = (stream) => stream.respond(grpcHeaders);
  await clock.advance(minute);
  await eventually("the question", () => operator.queries === 1);
  assert.equal(feed.error, undefined);
  await clock.advance(feedAnswerMs);
  await eventually("it to be left", () => feed.lastError);
  assert.equal(feed.lastError, `no answer within ${feedAnswerMs} ms`);
  await until("the error", () => feed.error, 2_000);
  assert.match(feed.error ?? "", /^the inventory has been silent for 12\d s: no answer within 15000 ms$/);
  assert.ok(operator.queries > 1);
  Object.assign(operator, { onQuery, onStream });
  await until("the end of the error", () => feed.error === undefined);
});

test("dead connection → noticed before the snapshot is too old", async (t) => {
  const operator = await startRawOperator(t, two);
  const proxy = await startProxy(t, operator.port);
  const { feed, until, snapshots } = follow(t, { host: "127.0.0.1", port: proxy.port });
  await eventually("the snapshot", () => feed.snapshot);
  proxy.mute();
  operator.snapshot = one;
  let worstMs = 0;
  await until(
    "the next snapshot",
    () => {
      worstMs = Math.max(worstMs, feed.ageMs ?? 0);
      assert.equal(feed.error, undefined);
      return snapshots.length === 2;
    },
    2_000,
  );
  assert.equal(feed.snapshot?.nodes.length, 1);
  assert.ok(worstMs >= minute && worstMs < feedOldMs, `the snapshot was ${worstMs} ms old`);
});

test("a server that takes connections and says nothing is left after a while", async (t) => {
  const server = createServer((socket) => socket.on("error", () => undefined));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const { feed, until, stop } = follow(t, { host: "127.0.0.1", port });
  await until("it to be left", () => feed.lastError);
  assert.equal(feed.lastError, `no answer within ${grpcConnectMs} ms`);
  await stop();
});

const garbage: Readonly<Record<string, Uint8Array>> = {
  "a length that no snapshot has": Buffer.from([0, 0xff, 0xff, 0xff, 0xff]),
  "a snapshot that is compressed": Buffer.concat([Buffer.from([1, 0, 0, 0, 2]), Buffer.alloc(2)]),
  "a message that is none": framed(Buffer.from([0x0a, 0x7f, 0x01])),
  "a field of a type that there is not": framed(Buffer.from([0x0f, 0x01])),
};

for (const [what, bytes] of Object.entries(garbage)) {
  test(`${what} ends the stream, and the last snapshot stays`, async (t) => {
    const { operator, feed, until } = await stage(t, two);
    await eventually("the snapshot", () => feed.snapshot);
    operator.write(bytes);
    await eventually("the error", () => feed.lastError);
    assert.equal(feed.snapshot?.nodes.length, 2);
    assert.equal(feed.error, undefined);
    await until("it to go on", () => feed.counts.snapshots === 2);
    assert.equal(feed.lastError, undefined);
  });
}

test("a web server at the operator's address → an error that says so", async (t) => {
  const operator = await startRawOperator(t);
  operator.onStream = (stream) => {
    stream.respond({ ":status": 404, "content-type": "text/html" });
    stream.end("<html>");
  };
  const { feed } = follow(t, { host: "127.0.0.1", port: operator.port });
  await eventually("the error", () => feed.lastError);
  assert.equal(feed.lastError, "the server answered HTTP 404");
});

test("operator without a snapshot yet → its reason is the error", async (t) => {
  const { operator, feed, until } = await stage(t);
  operator.onQuery = (stream) =>
    stream.respond(
      { ...grpcHeaders, "grpc-status": "14", "grpc-message": "it waits for nodes%21" },
      { endStream: true },
    );
  await until("the reason", () => feed.lastError);
  assert.match(feed.error ?? "", /^no inventory snapshot has come for \d+ s: it waits for nodes!$/);
});

test("a stream that the operator ends in order is opened again", async (t) => {
  const { operator, feed, until } = await stage(t, two);
  await eventually("the snapshot", () => feed.snapshot);
  for (const stream of operator.streams) stream.end();
  await until("the next stream", () => feed.counts.snapshots === 2);
  assert.equal(feed.error, undefined);
});

test("two messages in one chunk, and one message in many → all are read", async (t) => {
  const { operator, feed, snapshots } = await stage(t, two);
  await eventually("the first", () => feed.snapshot);
  operator.write(Buffer.concat([framed(one), framed(two)]));
  await eventually("both", () => snapshots.length === 3);
  assert.deepEqual(
    snapshots.map(({ nodes }) => nodes.length),
    [2, 1, 2],
  );
  for (const byte of framed(one)) operator.write(Buffer.from([byte]));
  await eventually("all of its pieces", () => snapshots.length === 4);
  assert.equal(feed.snapshot?.nodes.length, 1);
});

test("invalid entries → left out, with a condition", async (t) => {
  const broken = networkNode("broken", "12 apples");
  const less = networkNode("less", "-1");
  const { feed } = await stage(
    t,
    networkSnapshot([networkNode("twice"), broken, networkNode("good"), less, networkNode("twice")]),
  );
  const snapshot = await eventually("the snapshot", () => feed.snapshot);
  assert.deepEqual(
    snapshot.nodes.map(({ name }) => name),
    ["good"],
  );
  assert.deepEqual(
    snapshot.conditions.map(({ type, message }) => [type, /^node "?(\w+)"? is left out/.exec(message)?.[1]]),
    [
      ["NodeTwice", "twice"],
      ["NodeUnreadable", "broken"],
      ["NodeUnreadable", "less"],
      ["NodeTwice", "twice"],
    ],
  );
});

test("snapshot of 5,000 nodes → read whole, and the next one is cheap", async (t) => {
  const nodes = Array.from({ length: 5_000 }, (_, n) => networkNode(`gpu-${n}.eu-west.example.com`));
  const large = networkSnapshot(nodes);
  assert.ok(large.length > 2 * 1024 * 1024, `${large.length}`);
  const { operator, feed, snapshots } = await stage(t, large);
  await eventually("the snapshot", () => feed.snapshot);
  assert.equal(feed.snapshot?.nodes.length, 5_000);
  operator.write(framed(networkSnapshot([networkNode("gpu-0.eu-west.example.com", "2"), ...nodes.slice(1)])));
  await eventually("the change", () => snapshots.length === 2);
  const [before, after] = snapshots.map((snapshot) => new Set(snapshot.nodes));
  assert.equal([...(after ?? [])].filter((node) => !before?.has(node)).length, 1);
});

function withVersion(snapshot: Uint8Array, podsVersion: string): Uint8Array {
  return Buffer.concat([snapshot, encodeProof({ podsVersion, ageMs: 0n })]);
}

test("snapshot on the stream older than the last query → ignored", async (t) => {
  const { operator, clock, feed, snapshots } = await stage(t, withVersion(one, "10"));
  await eventually("the snapshot", () => feed.snapshot);
  operator.snapshot = withVersion(two, "30");
  await clock.advance(minute);
  await eventually("the requested snapshot", () => feed.snapshot?.podsVersion === "30");
  operator.write(framed(withVersion(one, "20")));
  operator.write(framed(withVersion(two, "31")));
  await eventually("what came since", () => feed.snapshot?.podsVersion === "31");
  assert.deepEqual(
    snapshots.map(({ podsVersion }) => podsVersion),
    ["10", "30", "31"],
  );
});

test("versions begin anew after a restored backup → ignored snapshots do not renew the age of the last one", async (t) => {
  const { operator, clock, feed, until } = await stage(t, withVersion(one, "10"));
  await eventually("the snapshot", () => feed.snapshot);
  operator.snapshot = withVersion(one, "5000");
  await clock.advance(minute);
  await eventually("the requested snapshot", () => feed.snapshot?.podsVersion === "5000");
  let version = 100;
  const publish = () => {
    version += 1;
    operator.snapshot = withVersion(two, String(version));
    operator.write(framed(operator.snapshot));
    return feed.snapshot?.nodes.length === 2;
  };
  await until("the current snapshot", publish, 5_000);
  assert.ok(clock.monotonicMs() <= minute + feedOldMs, `it took ${clock.monotonicMs() - minute} ms`);
});

test("failed look-up of the operator → tried again", async (t) => {
  const clock = createVirtualClock();
  const operator = await startRawOperator(t, one);
  let known = false;
  const locate = async () => {
    if (!known) throw new Error("no Service has the labels");
    return { host: "127.0.0.1", port: operator.port };
  };
  const feed = createGrpcFeed({ locate, clock, random: createSeededRandom(1), log: silentLog });
  const stopping = new AbortController();
  const running = feed.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
  await clock.settle();
  assert.equal(feed.error, "no inventory snapshot has come for 0 s: no Service has the labels");
  known = true;
  await clock.advance(feedRetryMostMs);
  await eventually("the snapshot", () => feed.snapshot);
});

test("whatever became of its connections, the feed leaves neither timers nor sockets behind", async (t) => {
  const { operator, clock, feed, until, stop } = await stage(t, one);
  await eventually("the snapshot", () => feed.snapshot);
  for (let time = 0; time < 5; time += 1) {
    operator.write(Buffer.from([0, 0xff, 0xff, 0xff, 0xff]));
    await until("the next connection", () => feed.counts.snapshots > time + 1);
  }
  await eventually("only one to be open", () => operator.sessions.size === 1);
  assert.equal(clock.pendingTimers, 1);
  await stop();
  assert.equal(clock.pendingTimers, 0);
  await eventually("none to be open", () => operator.sessions.size === 0);
});
