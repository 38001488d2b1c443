/** The habits of the network's tools, and that our streams suit them. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { StreamHandler } from "../../src/gateway/streams/tenant-stream.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";
import { eventually } from "../support/eventually.ts";
import { connectGateway } from "../support/gateway-client.ts";
import { serveStreams, streamPath } from "../support/stages/stream-stage.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { openNetworkStream } from "./network-streams.ts";

async function open(t: TestContext, handler: StreamHandler, ownClock?: Clock) {
  const stage = await serveStreams(t, handler);
  const socket = await connectGateway({ port: stage.port });
  t.after(() => void socket.destroy());
  const headers = { host: `localhost:${stage.port}`, authorization: "akash1tenant" };
  const stream = await openNetworkStream({ socket, path: streamPath, headers, clock: ownClock ?? stage.clock });
  return { ...stage, stream, socket };
}

const quiet: StreamHandler = async ({ signal }) => {
  await untilAborted(signal);
  return { code: 1000 };
};

test("a stream on which nothing happens is kept by pings alone", async (t) => {
  const { stream, clock, world, step } = await open(t, quiet);
  for (let pings = 1; pings <= 30; pings += 1) {
    await clock.advance(10_000);
    await eventually("a ping", () => stream.pings === pings);
  }
  world.leaseState = "closed";
  await step();
  await stream.over;
});

test("these tools leave who sends no pings, whatever else comes", async (t) => {
  const own = createVirtualClock();
  const { stream } = await open(
    t,
    async ({ send, signal }) => {
      await send("a line");
      return quiet({ send, signal, onFrame: () => undefined });
    },
    own,
  );
  await eventually("a line", () => stream.frames.length === 1);
  await own.advance(15_000);
  await assert.rejects(stream.over, /i\/o timeout/);
});

test("to these tools any end without a close frame of 1000 is an error", async (t) => {
  const cut = await open(t, quiet);
  cut.socket.destroy();
  await assert.rejects(cut.stream.over, /1006: unexpected EOF/);
  const away = await open(t, async () => ({ code: 4002 }));
  await assert.rejects(away.stream.over, /close 4002/);
});
