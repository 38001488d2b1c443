/**
 * Leases at work, with the box in another process and the provider in a third: how soon after a manifest was accepted its
 * objects are in the cluster, beside a bare loop of the same writes on the same real API server; what a restart with many
 * leases takes and writes; and what the cluster is asked while nothing happens.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { controlPlaneMissing, startControlPlane } from "../lab/own-control-plane.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { openKube } from "../test/lab/open-kube.ts";
import { prepareKube } from "../test/lease-stage.ts";
import { createOwner } from "../test/owner.ts";
import { bareLeases } from "./bare-leases.ts";
import { startMarket, startProvider } from "./leases-market.ts";
import { percentile } from "./percentile.ts";
import { type Row, report, round } from "./report.ts";

const bars = { applyP99Ms: 1_000, overBare: 1.5, restartS: 3, rssMb: 250 };
/** Manifests at a time, and how often. */
const [atOnce, rounds] = [10, 12];
const [fewLeases, manyLeases] = [50, 500];
const restMs = 60_000;

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const folder = mkdtempSync(join(tmpdir(), "akash-provider-bench-"));
  owner.after(() => rmSync(folder, { recursive: true }));
  const rows: Row[] = [];
  const applied = await measureApply(join(folder, "apply"), rows);
  const atRest = await measureRest(join(folder, "rest"), rows);
  report(
    `leases: applied ≤ ${bars.applyP99Ms} ms and ≤ ${bars.overBare} × a bare loop, restart ≤ ${bars.restartS} s and 0 writes, ≤ ${bars.rssMb} MB`,
    rows,
    { bench: "leases", ...applied, ...atRest },
  );
}

/** Events are told at a pace of their own, sixty a minute: those of hundreds of new leases take longer than this. */
function isNoEvent(request: string): boolean {
  return !request.includes("/apis/events.k8s.io/");
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
    // Pods come up, and what they change is told.
    await sleep(realClock, 15_000);
    await market.requests();
    await sleep(realClock, restMs);
    const requests = (await market.requests()).filter(isNoEvent).length;
    perMinute.push(round((requests * 60_000) / restMs, 1));
    rows.push({ what: `requests a minute at rest, ${count} leases`, value: perMinute.at(-1) ?? 0 });
  }
  await first.stop();
  await market.requests();
  const second = await startProvider(rpcUrl, kubeconfig, dataDir);
  await sleep(realClock, 10_000);
  const requests = (await market.requests()).filter(isNoEvent);
  const writes = requests.filter((request) => !request.startsWith("GET "));
  const rssMb = await second.memory();
  await second.stop();
  const { leases, readyS, lookedS, cpuS } = second.start;
  if (leases !== manyLeases) throw new Error(`it came back with ${leases} leases`);
  if (writes.length > 0) throw new Error(`a restart wrote ${writes.slice(0, 5).join(", ")}`);
  const [few = 0, many = 0] = perMinute;
  if (many > few * 1.5 + 5) throw new Error(`requests at rest grow with leases: ${few} and ${many} a minute`);
  const restartS = round(readyS);
  rows.push(
    { what: `restart with ${manyLeases} leases, seconds until all services run`, value: restartS },
    { what: "seconds until every lease was looked at", value: round(lookedS) },
    { what: "of which the process was at work", value: round(cpuS) },
  );
  rows.push({ what: "requests of a restart", value: requests.length }, { what: "memory, MB", value: rssMb });
  return { restartS, restartWrites: writes.length, rssMb, idleRequestsPerMin: many };
}

/** On a real API server, where there is one. */
async function measureApply(dataDir: string, rows: Row[]): Promise<Row> {
  const missing = controlPlaneMissing();
  if (missing) {
    console.log(`no apply on a real API server: ${missing}`);
    return {};
  }
  await using owner = createOwner();
  const market = await startMarket(owner);
  const plane = await startControlPlane(owner);
  await prepareKube(openKube(owner, plane.kubeconfig));
  const provider = await startProvider(market.rpcUrl, plane.kubeconfig, dataDir);
  const groups = Array.from({ length: rounds + 1 }, (_, group) =>
    Array.from({ length: atOnce }, (_, n) => 5_000 + group * atOnce + n),
  );
  await market.lease(groups.flat());
  const bare = bareLeases(plane);
  owner.after(() => bare.close());
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (const [group, dseqs] of groups.entries()) {
    // In turn, so that a busy machine slows both alike.
    const ms = await provider.submit(dseqs);
    const bareMs = await bare.apply(dseqs.map((dseq) => dseq + 10_000));
    // The first ones warm both up.
    if (group === 0) continue;
    ours.push(...ms);
    theirs.push(...bareMs);
  }
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
