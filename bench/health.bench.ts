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
const restMs = 20_000;
/** Pods deleted one after the other; each is missed once and comes back once. */
const deleted = 60;
const everyMs = 100;
/** Of other leases, at the same time, while the machine is busy with them. */
const others = 3;

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const folder = mkdtempSync(join(tmpdir(), "akash-provider-bench-"));
  owner.after(() => rmSync(folder, { recursive: true }));
  const market = await startMarket(owner);
  const provider = await startProvider(market.rpcUrl, market.kubeconfig, join(folder, "data"));
  const few = await measureRest(market, provider, 0, fewLeases);
  const many = await measureRest(market, provider, fewLeases, leases);
  const quiet = await measureChanges(market, provider, 0);
  const busy = await measureChanges(market, provider, others);
  // What has just changed is settled.
  await sleep(realClock, 3_000);
  const reconciled = await provider.reconcile();
  await provider.stop();
  const changeP99Ms = round(Math.max(percentile(quiet, 0.99), percentile(busy, 0.99)), 0);
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
async function measureRest(market: Market, provider: BenchedProvider, from: number, to: number): Promise<number> {
  const dseqs = Array.from({ length: to - from }, (_, n) => dseqOf(from + n));
  await market.lease(dseqs);
  await provider.submit(dseqs);
  const healthy = new Set<string>();
  while (healthy.size < dseqs.length) {
    await sleep(realClock, 500);
    for (const { namespace, isHealthy } of await provider.healths()) {
      if (isHealthy) healthy.add(namespace);
    }
  }
  // What came up last is told and written down.
  await sleep(realClock, 5_000);
  await market.requests();
  await sleep(realClock, restMs);
  return round(((await market.requests()).length * 60_000) / restMs, 1);
}

/** How long each change took to show, in milliseconds. */
async function measureChanges(market: Market, provider: BenchedProvider, others: number): Promise<number[]> {
  await Promise.all([market.changes(), provider.healths()]);
  for (let n = 0; n < deleted; n++) {
    market.deletePods(Array.from({ length: 1 + others }, (_, other) => dseqOf(other * deleted + n)));
    await sleep(realClock, everyMs);
  }
  // The last ones come back.
  await sleep(realClock, 5_000);
  return delays(await market.changes(), await provider.healths());
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

function rowsOf(what: string, ms: readonly number[]): Row[] {
  return [0.5, 0.99].map((share) => ({ what: `${what}, p${share * 100} ms`, value: round(percentile(ms, share), 1) }));
}
