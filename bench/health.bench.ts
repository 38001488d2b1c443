/**
 * Health of many leases, with the box in another process and the provider in a third: how soon after the API server wrote
 * that a pod changed the lease's health says so, also while many others change; what a reconcile of chain, cluster and
 * journal costs; and that requests do not grow with the number of leases at rest.
 */
import assert from "node:assert/strict";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import { createOwner } from "../test/support/owner.ts";
import type { PodChange } from "./leases-box.ts";
import { type BenchedProvider, type Market, startMarket, startProvider } from "./leases-market.ts";
import type { HealthChange } from "./leases-provider.ts";
import { percentile, type Row, report, round, size } from "./report.ts";

/** There is no baseline for times, so their bars are absolute. */
const bars = { changeP99Ms: ["≤", 500], reconcileCpuS: ["≤", 2], idleGrowth: ["≤", 1.5] } as const;
const [fewLeases, leases] = size([100, 1_000], [5, 20]);
/** As long as the longest of watches that hear nothing: each is opened anew in it once. */
const restMs = size(35_000, 500);
/** Pods deleted one after the other. */
const deleted = size(60, 5);
/** Until the last one has come back, however busy the machine is. */
const settleWithinMs = 60_000;
const everyMs = 100;
/** Of other leases, each time. */
const others = 1;

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const market = await startMarket(owner);
  const provider = await startProvider(market.rpcUrl, market.kubeconfig, temporaryFolder(owner));
  const few = await measureRest(market, provider, 0, fewLeases);
  const many = await measureRest(market, provider, fewLeases, leases);
  const quiet = await measureChanges(market, provider, 0);
  const busy = await measureChanges(market, provider, others);
  const reconciled = await provider.reconcile();
  await provider.stop();
  const changeP99Ms = round(Math.max(percentile(quiet.delaysMs, 0.99), percentile(busy.delaysMs, 0.99)), 0);
  const reconcileCpuS = round(reconciled.cpuS);
  const rows: Row[] = [
    ...rowsOf("change of one pod", quiet),
    ...rowsOf(`the same while ${(others * 1_000) / everyMs} others a second change`, busy),
    { what: "reconcile, seconds of CPU", value: reconcileCpuS },
    { what: `requests a minute at rest, ${fewLeases} leases`, value: few },
    { what: `requests a minute at rest, ${leases} leases`, value: many },
  ];
  const figures = { leases, changeP99Ms, reconcileCpuS, idleRequestsPerMin: many, idleGrowth: round(many / few) };
  report("health of leases: changes, reconcile, at rest", rows, { bench: "health", ...figures }, bars);
  assert.deepEqual([reconciled.leases, reconciled.drifts], [leases, 0], "leases, and drifts of them");
}

/** With so many leases: requests to the cluster in a minute while nothing happens. */
async function measureRest(market: Market, provider: BenchedProvider, from: number, to: number) {
  const dseqs = Array.from({ length: to - from }, (_, n) => dseqOf(from + n));
  await market.lease(dseqs);
  await provider.submit(dseqs);
  await provider.untilHealthy(dseqs);
  await market.quiet();
  await sleep(realClock, restMs);
  return round(((await market.requests()).length * 60_000) / restMs, 1);
}

interface Measured {
  /** How long each change took to show. */
  readonly delaysMs: readonly number[];
  /** What the provider was at work for one change, its share of all that it did meanwhile. */
  readonly cpuMs: number;
}

async function measureChanges(market: Market, provider: BenchedProvider, others: number): Promise<Measured> {
  await market.changes();
  const before = await provider.healths();
  for (let n = 0; n < deleted; n++) {
    market.deletePods(Array.from({ length: 1 + others }, (_, other) => dseqOf(other * deleted + n)));
    await sleep(realClock, everyMs);
  }
  const changes: PodChange[] = [];
  const healths: HealthChange[] = [];
  const untilMs = realClock.monotonicMs() + settleWithinMs;
  for (;;) {
    await sleep(realClock, 100);
    changes.push(...(await market.changes()));
    const after = await provider.healths();
    healths.push(...after.changes);
    // Each is missed once and comes back once.
    const isOver = changes.length === 2 * deleted * (1 + others) && healths.length >= changes.length;
    if (isOver || realClock.monotonicMs() > untilMs)
      return { delaysMs: delays(changes, healths), cpuMs: (after.cpuMs - before.cpuMs) / changes.length };
  }
}

function dseqOf(n: number): number {
  return 1_000 + n;
}

/** Each lease changes to and fro, so the first that it is seen to do after a change is that change. */
function delays(changes: readonly PodChange[], healths: readonly HealthChange[]): number[] {
  const seen = Map.groupBy(healths, ({ namespace, isHealthy }) => `${namespace} ${isHealthy}`);
  return changes.map(({ namespace, isReady, atMs }) => {
    const shown = seen.get(`${namespace} ${isReady}`)?.shift();
    if (!shown) throw new Error(`that ${namespace} is ${isReady ? "" : "not "}ready has never shown`);
    return shown.atMs - atMs;
  });
}

function rowsOf(what: string, { delaysMs, cpuMs }: Measured): Row[] {
  return [
    ...[0.5, 0.99].map((share) => ({
      what: `${what}, p${share * 100} ms`,
      value: round(percentile(delaysMs, share), 1),
    })),
    { what: "of that at work, ms", value: round(cpuMs, 1) },
  ];
}
