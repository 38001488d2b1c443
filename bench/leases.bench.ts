/**
 * Leases at work, with the box in another process and the provider in a third: how soon after a manifest was accepted its
 * objects are in the cluster, beside a bare loop of the same writes on the same real API server; what a restart with many
 * leases takes and writes; and the requests to the cluster while nothing happens.
 */
import assert from "node:assert/strict";
import { controlPlaneMissing, startControlPlane } from "../lab/own-control-plane.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { openKube } from "../test/lab/open-kube.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import { createOwner } from "../test/support/owner.ts";
import { prepareKube } from "../test/support/stages/lease-stage.ts";
import { bareLeases } from "./bare-leases.ts";
import { startMarket, startProvider } from "./leases-market.ts";
import { inTurn, percentile, type Row, report, round, size } from "./report.ts";

/** There is no baseline for a restart, so its bars are absolute. */
const bars = { overBare: ["≤", 1.5], restartS: ["≤", 3], rssMb: ["≤", 250], idleGrowth: ["≤", 1.5] } as const;
/** Manifests at a time, and how often. */
const [atOnce, rounds] = size([10, 12], [3, 1]);
const [fewLeases, manyLeases] = size([50, 500], [5, 20]);
const restMs = size(60_000, 500);
/** Long enough for a restart to write what it should not. */
const restartMs = size(10_000, 1_000);

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const rows: Row[] = [];
  const applied = await measureApply(temporaryFolder(owner), rows);
  const atRest = await measureRest(temporaryFolder(owner), rows);
  report("leases: applied, restarted, at rest", rows, { bench: "leases", ...applied, ...atRest }, bars);
}

/** On the simulated cluster, which counts its requests. */
async function measureRest(dataDir: string, rows: Row[]) {
  await using owner = createOwner();
  const market = await startMarket(owner);
  const { rpcUrl, kubeconfig } = market;
  const first = await startProvider(rpcUrl, kubeconfig, dataDir);
  const perMinute: number[] = [];
  let leased = 0;
  for (const count of [fewLeases, manyLeases]) {
    const dseqs = Array.from({ length: count - leased }, (_, n) => 1_000 + leased + n);
    await market.lease(dseqs);
    await first.submit(dseqs);
    leased = count;
    await first.untilHealthy(dseqs);
    await market.quiet();
    await sleep(realClock, restMs);
    perMinute.push(round(((await market.requests()).length * 60_000) / restMs, 1));
    rows.push({ what: `requests a minute at rest, ${count} leases`, value: perMinute.at(-1) ?? 0 });
  }
  await first.stop();
  await market.requests();
  const second = await startProvider(rpcUrl, kubeconfig, dataDir);
  await sleep(realClock, restartMs);
  const requests = await market.requests();
  const writes = requests.filter((request) => !request.startsWith("GET "));
  const rssMb = await second.memory();
  await second.stop();
  const { leases, readyS, lookedS, cpuS } = second.start;
  assert.equal(leases, manyLeases, "leases after a restart");
  assert.deepEqual(writes, [], "writes of a restart");
  const [few = 0, many = 0] = perMinute;
  const restartS = round(readyS);
  rows.push(
    { what: `restart with ${manyLeases} leases, seconds until all services run`, value: restartS },
    { what: "seconds until every lease was looked at", value: round(lookedS) },
    { what: "of which the process was at work", value: round(cpuS) },
  );
  rows.push({ what: "requests of a restart", value: requests.length }, { what: "memory, MB", value: rssMb });
  const idleGrowth = round(many / few);
  return { restartS, restartWrites: writes.length, rssMb, idleRequestsPerMin: many, idleGrowth };
}

/** On a real API server, where there is one. */
async function measureApply(dataDir: string, rows: Row[]): Promise<{ applyP99Ms?: number; overBare?: number }> {
  const missing = controlPlaneMissing();
  if (missing) {
    console.log(`no apply on a real API server: ${missing}`);
    return {};
  }
  await using owner = createOwner();
  const [market, plane] = await Promise.all([startMarket(owner), startControlPlane(owner)]);
  await prepareKube(openKube(owner, plane.kubeconfig));
  const provider = await startProvider(market.rpcUrl, plane.kubeconfig, dataDir);
  const dseqs = Array.from({ length: (rounds + 1) * atOnce }, (_, n) => 5_000 + n);
  await market.lease(dseqs);
  const bare = bareLeases(plane);
  owner.after(() => bare.close());
  const others = dseqs.map((dseq) => dseq + 10_000);
  const pairs = await inTurn(
    rounds,
    () => provider.submit(dseqs.splice(0, atOnce)),
    () => bare.apply(others.splice(0, atOnce)),
  );
  const ours = pairs.flatMap((pair) => pair.ours);
  const theirs = pairs.flatMap((pair) => pair.baseline);
  await provider.stop();
  for (const [what, ms] of [
    ["applied", ours],
    ["bare loop", theirs],
  ] as const) {
    for (const share of [0.5, 0.99]) {
      rows.push({ what: `${what}, ${atOnce} at once, p${share * 100} ms`, value: round(percentile(ms, share), 0) });
    }
  }
  const applyP99Ms = round(percentile(ours, 0.99), 0);
  return { applyP99Ms, overBare: round(percentile(ours, 0.99) / percentile(theirs, 0.99)) };
}
