/**
 * How fast the bus over Redis takes messages, as a share of what redis-benchmark gets out of the same server with as many
 * messages under way, and whether memory stays flat while a subscriber has stalled.
 */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import type { Bus } from "../src/bus/bus.ts";
import { createRedisBus } from "../src/bus/redis.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { eventually } from "../test/support/eventually.ts";
import { createOwner, type Owner } from "../test/support/owner.ts";
import { type RedisServer, redisMissing, startRedis } from "../test/support/redis-server.ts";
import { inTurn, medianRatio, report, round, rssMb, size } from "./report.ts";

const topic = "akash.provider.event.manifest";
/** Messages under way before one is awaited, on both sides. */
const pipeline = 256;
const perRound = size(400, 20) * pipeline;
const rounds = size(9, 1);
/** Enough to fill every buffer many times over. */
const perHalf = size(800, 60) * pipeline;
const slices = size(10, 2);
const bars = { ratio: ["≥", 0.05], flat: ["=", true] } as const;

const event = {
  kind: "ManifestReceived",
  lease: "akash1365yvmc4s7awdyj3n2sav7xfx76adc6dnmlx63/1234567/1/1/akash18qa2a2ltfyvkyj0ggj3hkvuj6twzyumuaru9s4",
  version: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
} as const;

export async function bench(): Promise<void> {
  if (redisMissing) throw new Error(redisMissing);
  if (spawnSync("redis-benchmark", ["--version"]).error) {
    throw new Error("redis-benchmark is not installed; on Debian: apt-get install redis-tools");
  }
  await using owner = createOwner();
  const server = await startRedis(owner);
  const bus = await openBus(owner, server);
  const pace = await createPace(owner, server);

  const pairs = await inTurn(
    rounds,
    () => pace(bus, perRound),
    () => theirs(server),
  );
  const rows = pairs.map(({ ours, baseline }, at) => {
    return {
      round: at + 1,
      ours: Math.round(ours),
      redisBenchmark: Math.round(baseline),
      ratio: round(ours / baseline),
    };
  });

  const stalled = await openBus(owner, server);
  const subscription = stalled.subscribe(topic, () => new Promise<void>(() => undefined));
  // Once unmeasured: buffers fill, and the heap finds the size that this flow of garbage needs.
  await mostMemoryMb();
  const firstMb = await mostMemoryMb();
  const secondMb = await mostMemoryMb();
  const { dropped } = subscription;
  if (dropped < 2 * perHalf) throw new Error(`only ${dropped} messages were dropped: the subscriber did not stall`);

  console.log(`${pipeline} messages of ${JSON.stringify(event).length} bytes at a time`);
  console.log(
    `stalled subscriber: ${dropped} dropped, at most ${firstMb} MB in the first half, ${secondMb} MB in the second`,
  );
  const [ratio, flat] = [medianRatio(pairs, (perS) => perS), secondMb <= 1.1 * firstMb];
  report("messages per second through Redis", rows, { bench: "bus", ratio, rssMb: secondMb, flat }, bars);

  /** The highest of several readings: one alone depends on what the collector has just given back to the system. */
  async function mostMemoryMb(): Promise<number> {
    let mostMb = 0;
    for (let slice = 0; slice < slices; slice += 1) {
      await pace(stalled, perHalf / slices);
      mostMb = Math.max(mostMb, rssMb());
    }
    return mostMb;
  }
}

async function openBus(owner: Owner, server: RedisServer): Promise<Bus> {
  const bus = createRedisBus({ url: server.url, clock: realClock, random: realRandom, log: silentLog });
  owner.after(() => bus.close());
  await eventually("a connection", () => bus.state.connected);
  return bus;
}

/** Publishes and waits until another bus has received it all; messages per second. */
async function createPace(owner: Owner, server: RedisServer) {
  const reader = await openBus(owner, server);
  let left = 0;
  let arrived = Promise.withResolvers<void>();
  reader.subscribe(topic, () => {
    left -= 1;
    if (left === 0) arrived.resolve();
  });
  return async (bus: Bus, messages: number): Promise<number> => {
    const started = performance.now();
    for (let sent = 0; sent < messages; sent += pipeline) {
      arrived = Promise.withResolvers();
      left = pipeline;
      for (let n = 0; n < pipeline; n += 1) bus.publish(topic, event);
      await arrived.promise;
    }
    return messages / ((performance.now() - started) / 1_000);
  };
}

async function theirs(server: RedisServer): Promise<number> {
  const text = JSON.stringify({ publisher: "0123456789abcdef", publishedAtMs: Date.now(), data: event });
  const command = ["PUBLISH", "benchmark", text];
  const settings = ["-p", String(server.port), "-c", "1", "-P", String(pipeline), "-n", String(perRound), "--csv"];
  const { stdout } = await promisify(execFile)("redis-benchmark", [...settings, ...command]);
  // The last line: "the command","requests per second",…; the command has quotes and commas of its own.
  const perSecond = /","([\d.]+)"(?:,"[\d.]+")*\s*$/.exec(stdout)?.[1];
  if (!perSecond) throw new Error(`redis-benchmark said ${stdout}`);
  return Number(perSecond);
}
