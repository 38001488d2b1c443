/** The processor time it takes to say whether a group of twenty services fits into a large cluster that is nearly full. */
import assert from "node:assert/strict";
import { place } from "../src/cluster/capacity/placement/place.ts";
import { type ClusterRoom, type NodeRoom, openRoom } from "../src/cluster/capacity/placement/room.ts";
import { claimsOf } from "../src/cluster/capacity/placement/task.ts";
import { noOvercommit } from "../src/market/fit.ts";
import type { ResourceUnit } from "../src/market/group-spec.ts";
import type { Random } from "../src/runtime/random.ts";
import {
  cluster,
  gi,
  gpuCount,
  type SampleUnit,
  sampleNode,
  sampleUnit,
  volume,
} from "../test/support/samples/placement-samples.ts";
import { createSeededRandom } from "../test/support/seeded-random.ts";
import { cpuMs, percentile, report, round, size } from "./report.ts";

const services = 20;
const groups = size(1_000, 40);
const warmUp = size(200, 10);
const nodeCounts = size([1_000, 10_000], [50, 500]);
/** There is no baseline for the time, so its bar is absolute. */
const bars = { p99Ms: ["≤", 20], growth: ["≤", 12] } as const;
const models = ["a100", "h100", "rtx4090", "t4"];

/** A tenth of each resource is free on average, and each node is short of another one: that is what makes it fragmented. */
function nearlyFull(random: Random, count: number): ClusterRoom {
  const share = (whole: bigint) => (whole * BigInt(random.int(200))) / 1_000n;
  const nodes = Array.from({ length: count }, (_, at): NodeRoom => {
    const hasGpus = random.int(5) === 0;
    return sampleNode(`node-${String(at).padStart(6, "0")}`, {
      cpuMilli: share(96_000n),
      memoryBytes: share(512n * gi),
      ephemeralBytes: share(4_096n * gi),
      gpuCounts: hasGpus ? [gpuCount(models[random.int(models.length)] ?? "", 8n)] : [],
      takenGpus: hasGpus ? BigInt(8 - random.int(3)) : 0n,
      volumes: BigInt(random.int(20)),
      storageClasses: random.int(3) > 0 ? ["beta3"] : [],
    });
  });
  return cluster(nodes, { beta3: BigInt(count) * 100n * gi });
}

function service(random: Random, id: number): SampleUnit {
  const gpu = random.int(10) === 0 && { gpus: 1n, models: [`nvidia/model/${random.int(2) === 0 ? "*" : "a100"}`] };
  return {
    id,
    count: 1 + random.int(3),
    cpuMilli: BigInt(500 * (1 + random.int(12))),
    memoryBytes: BigInt(1 + random.int(24)) * gi,
    ephemeralBytes: BigInt(1 + random.int(100)) * gi,
    ...gpu,
    volumes: random.int(5) === 0 ? [volume("beta3", 10n * gi)] : [],
  };
}

const plain: SampleUnit = { gpus: 0n, models: [], volumes: [] };

/** Each way of not fitting: too large for any node, a GPU that is nowhere, more than all nodes together, too many pieces. */
const spoilers: ((units: SampleUnit[], nodes: number) => SampleUnit[])[] = [
  ([first, ...others]) => [
    { ...first, cpuMilli: 18_000n, memoryBytes: 100n * gi, ephemeralBytes: 800n * gi },
    ...others,
  ],
  ([first, ...others]) => [...others, { ...first, gpus: 4n, models: ["nvidia/model/h100"] }],
  (units, nodes) => units.map((unit) => ({ ...unit, ...plain, memoryBytes: 60n * gi, count: Math.ceil(nodes / 30) })),
  (units, nodes) =>
    units.map((unit) => ({ ...unit, ...plain, cpuMilli: 10_000n, memoryBytes: gi, count: Math.ceil(nodes / 38) })),
];

function groupOf(random: Random, at: number, nodes: number): ResourceUnit[] {
  const units = Array.from({ length: services }, (_, index) => service(random, index + 1));
  const spoil = at % 2 === 0 ? undefined : spoilers[((at - 1) / 2) % spoilers.length];
  return (spoil ? spoil(units, nodes) : units).map(sampleUnit);
}

type Measured = ReturnType<typeof measure>;

function measure(nodes: number) {
  const random = createSeededRandom(7);
  const room = openRoom(nearlyFull(random, nodes));
  const times: number[] = [];
  let fitting = 0;
  for (let at = 0; at < warmUp + groups; at += 1) {
    const units = groupOf(random, at, nodes);
    const beganMs = cpuMs(process.threadCpuUsage());
    const fit = place(room, units);
    const claims = fit.fits ? claimsOf(fit, noOvercommit) : [];
    for (const claim of claims) room.take(claim);
    if (at >= warmUp) times.push(cpuMs(process.threadCpuUsage()) - beganMs);
    if (at >= warmUp && fit.fits) fitting += 1;
    // The next group meets a cluster that has changed, and as full as before.
    for (const claim of claims) room.giveBack(claim);
  }
  assert(fitting > 0 && fitting < groups, `${fitting} of ${groups} groups fit into ${nodes} nodes`);
  const meanMs = times.reduce((sum, each) => sum + each, 0) / times.length;
  return { nodes, groups, fitting, meanMs, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) };
}

export async function bench(): Promise<void> {
  const [small, large] = nodeCounts.map(measure) as [Measured, Measured];
  const rows = [small, large].map(({ meanMs, p50Ms, p99Ms, ...row }) => {
    return { ...row, "mean ms": round(meanMs), "p50 ms": round(p50Ms), "p99 ms": round(p99Ms) };
  });
  const growth = large.meanMs / small.meanMs;
  const line = { bench: "placement", nodes: small.nodes, p99Ms: round(small.p99Ms), growth: round(growth) };
  report(`placement: ${services} services, and the growth with ten times the nodes`, rows, line, bars);
}
