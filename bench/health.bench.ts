/**
 * Health of many leases, with the box in another process and the provider in a third: how soon after the API server wrote
 * that a pod changed the lease's health says so, also while many others change; what a reconcile of chain, cluster and
 * journal costs; and that nobody is asked more while more leases are at rest.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { createOwner } from "../test/owner.ts";
import type { PodChange } from "./leases-box.ts";
import { type BenchedProvider, type Market, startMarket, startProvider } from "./leases-market.ts";
import type { HealthChange } from "./leases-provider.ts";
import { percentile } from "./percentile.ts";
import { type Row, report, round } from "./report.ts";

const bars = { changeP99Ms: 500, reconcileCpuS: 2 };
const [fewLeases, leases] = [100, 1_000];
/** As long as the longest of watches that hear nothing: each is opened anew in it once. */
const restMs = 35_000;
/** Pods deleted one after the other. */
const deleted = 60;
/** Until the last one has come back, however busy the machine is. */
const patienceMs = 60_000;
const everyMs = 100;
/** Of other leases, each time. */
const others = 1;

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const folder = mkdtempSync(join(tmpdir(), "akash-provider-bench-"));
  owner.after(() => rmSync(folder, { recursive: true }));
  const market = await startMarket(owner);
  const start = () => startProvider(market.rpcUrl, market.kubeconfig, join(folder, "data"));
  const few = await measureRest(market, start, 0, fewLeases);
  const many = await measureRest(market, start, fewLeases, leases);
  const provider = await start();
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
  report(`health: change ≤ ${bars.changeP99Ms} ms p99, reconcile ≤ ${bars.reconcileCpuS} s of CPU`, rows, {
    ...{ bench: "health", leases, changeP99Ms, reconcileCpuS, idleRequestsPerMin: many },
  });
  if (changeP99Ms > bars.changeP99Ms) throw new Error(`a change shows after ${changeP99Ms} ms`);
  if (reconcileCpuS > bars.reconcileCpuS) throw new Error(`a reconcile takes ${reconcileCpuS} s`);
  if (reconciled.leases !== leases || reconciled.drifts > 0)
    throw new Error(`of ${reconciled.leases} leases ${reconciled.drifts} have drifted`);
  if (many > few * 1.5 + 5) throw new Error(`requests at rest grow with leases: ${few} and ${many} a minute`);
}

/** With so many leases; what the cluster is asked in a minute while nothing happens. */
async function measureRest(market: Market, start: () => Promise<BenchedProvider>, from: number, to: number) {
  const first = await start();
  const dseqs = Array.from({ length: to - from }, (_, n) => dseqOf(from + n));
  await market.lease(dseqs);
  await first.submit(dseqs);
  const healthy = new Set<string>();
  while (healthy.size < dseqs.length) {
    await sleep(realClock, 500);
    const { changes } = await first.healths();
    for (const { namespace, isHealthy } of changes) if (isHealthy) healthy.add(namespace);
  }
  // Another one has nothing left to tell of their coming up.
  await first.stop();
  const second = await start();
  await sleep(realClock, 3_000);
  await market.requests();
  await sleep(realClock, restMs);
  const perMinute = round(((await market.requests()).length * 60_000) / restMs, 1);
  await second.stop();
  return perMinute;
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
  const untilMs = realClock.monotonicMs() + patienceMs;
  for (;;) {
    await sleep(realClock, 1_000);
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
