/**
 * How fast the bus over Redis takes messages, as a share of what redis-benchmark gets out of the same server with the
 * same pipeline, and whether memory stays flat while a subscriber has stalled.
 */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import type { Bus } from "../src/bus/bus.ts";
import { createRedisBus } from "../src/bus/redis.ts";
import { realClock } from "../src/runtime/clock.ts";
import { limits } from "../src/runtime/limits.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { createOwner, type Owner } from "../test/owner.ts";
import { type RedisServer, redisMissing, startRedis } from "../test/redis-server.ts";
import { inTurn, medianRatio, report, round, rssMb, size } from "./report.ts";

const topic = "akash.provider.event.manifest";
/** Messages that are sent before an answer is awaited, on both sides: as many as one write of ours holds. */
const pipeline = limits.busBatchMessages;
const perRound = size(400, 20) * pipeline;
const rounds = size(9, 1);
/** Enough to fill every buffer many times over. */
const perHalf = size(800, 60) * pipeline;
const slices = size(10, 2);
const bars = { ratio: ["≥", 0.3], flat: ["=", true] } as const;

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
  const bus = openBus(owner, server);
  await bus.flush();

  const pairs = await inTurn(
    rounds,
    () => ours(bus, perRound),
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

  const stalled = openBus(owner, server);
  const subscription = stalled.subscribe(topic, () => new Promise<void>(() => undefined));
  // Once unmeasured here too: buffers fill, and the heap finds the size that this flow of garbage needs.
  await mostMemoryMb(stalled);
  const firstMb = await mostMemoryMb(stalled);
  const secondMb = await mostMemoryMb(stalled);
  const dropped = subscription.dropped.get(topic) ?? 0;
  if (dropped < 2 * perHalf) throw new Error(`only ${dropped} messages were dropped: the subscriber did not stall`);

  console.log(`${pipeline} messages of ${JSON.stringify(event).length} bytes at a time`);
  console.log(
    `stalled subscriber: ${dropped} dropped, at most ${firstMb} MB in the first half, ${secondMb} MB in the second`,
  );
  const [ratio, flat] = [medianRatio(pairs, (perS) => perS), secondMb <= 1.1 * firstMb];
  report("messages per second through Redis", rows, { bench: "bus", ratio, rssMb: secondMb, flat }, bars);
}

function openBus(owner: Owner, server: RedisServer): Bus {
  const bus = createRedisBus({ url: server.url, clock: realClock, random: realRandom, log: silentLog });
  owner.after(() => bus.close());
  return bus;
}

async function ours(bus: Bus, messages: number): Promise<number> {
  const started = performance.now();
  for (let sent = 0; sent < messages; sent += pipeline) {
    for (let n = 0; n < pipeline; n += 1) bus.publish(topic, event);
    await bus.flush();
  }
  return messages / ((performance.now() - started) / 1_000);
}

/** The highest of several readings: one alone depends on what the collector has just given back to the system. */
async function mostMemoryMb(bus: Bus): Promise<number> {
  let mostMb = 0;
  for (let slice = 0; slice < slices; slice += 1) {
    await ours(bus, perHalf / slices);
    mostMb = Math.max(mostMb, rssMb());
  }
  return mostMb;
}

async function theirs(server: RedisServer): Promise<number> {
  const entry = ["t", topic, "n", "1", "d", JSON.stringify(event)];
  const command = ["XADD", "benchmark", "MAXLEN", "~", String(limits.busStreamEntries), "*", ...entry];
  const settings = ["-p", String(server.port), "-c", "1", "-P", String(pipeline), "-n", String(perRound), "--csv"];
  const { stdout } = await promisify(execFile)("redis-benchmark", [...settings, ...command]);
  // The last line: "the command","requests per second",…; the command has quotes and commas of its own.
  const perSecond = /","([\d.]+)"(?:,"[\d.]+")*\s*$/.exec(stdout)?.[1];
  if (!perSecond) throw new Error(`redis-benchmark said ${stdout}`);
  return Number(perSecond);
}
