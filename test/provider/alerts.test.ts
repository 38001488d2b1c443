/**
 * deploy/alerts.yaml on what a running provider serves: before some problem is made, and after. Each rule is quiet on the one
 * and fires on the other, by Prometheus' own evaluation.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parse } from "yaml";
import { createBidMessage } from "../../src/bidengine/bidding.ts";
import { feedOldMs } from "../../src/cluster/capacity/inventory/feed.ts";
import { measureHealth } from "../../src/cluster/cluster-metrics.ts";
import type { HostHealth, HostnameFeed } from "../../src/cluster/leases/declarations/hostname-feed.ts";
import { leaseDefaults } from "../../src/cluster/leases/lease-options.ts";
import { reconcileEveryMs } from "../../src/cluster/leases/reconcile/reconciler.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { leaseLabels } from "../../src/kube/objects/lease-labels.ts";
import { providerHost } from "../../src/kube/objects/provider-host.ts";
import { amountOf, parseCoin, parseCoins, parseDecCoin } from "../../src/market/coin.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { measureHostnameOperator } from "../../src/operators/hostname/hostname-service.ts";
import { measureIp } from "../../src/operators/ip/ip-service.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { type FaultTransport, faultTransport } from "../support/fault-transport.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant } from "../support/lease-tenant.ts";
import { cell, shop } from "../support/samples/lease-sdl.ts";
import { snapshotFeed } from "../support/stages/bid-stage.ts";
import { openHostnameStage } from "../support/stages/hostname-stage.ts";
import { openIpStage } from "../support/stages/ip-stage.ts";
import { leaseStage } from "../support/stages/lease-keeper-stage.ts";
import { initialCoins, type LeaseStage, machine, onLeaseStage } from "../support/stages/lease-stage.ts";
import { person } from "../support/stages/market-stage.ts";
import { thorough } from "../support/thorough.ts";
import { certificateFiles, day, publicHost } from "./certificate-files.ts";
import { checkFiring, promtool, promtoolMissing } from "./promtool.ts";

const rules = join(import.meta.dirname, "../../deploy/alerts.yaml");

interface Rule {
  readonly alert: string;
  readonly expr: string;
}

function allRules(): Rule[] {
  const { groups } = parse(readFileSync(rules, "utf8")) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

/** Its declaration of shop.example.com becomes one of another owner, as if a second provider wrote it. */
function takeHostName(stage: LeaseStage, lease: LeaseId): void {
  const owned = { host: "shop.example.com", service: "page", externalPort: 80 };
  const { object } = providerHost({ ...owned, lease: { ...lease, owner: person(31) } }, { manifestNamespace: "lease" });
  stage.cluster.server.delete(kinds.providerHost, object.metadata);
  stage.cluster.server.create(kinds.providerHost, object, "other");
}

/** What was served when all was well, and then after each problem, by the alert that it should set off. */
async function playTroubles(t: TestContext): Promise<{ well: string; troubled: Map<string, string> }> {
  const troubled = new Map<string, string>();
  let well = "";
  const unhealthy: HostHealth[] = [];
  const hostnames: HostnameFeed = {
    ...{ of: () => undefined, all: () => unhealthy, unhealthy: () => unhealthy, isConnected: true, error: undefined },
    ...{ unserved: () => [], missing: undefined },
    run: untilAborted,
  };
  await onLeaseStage({ dir: memoryFolder(t), blockMs: 6_000 }, async (stage) => {
    const files = certificateFiles(t, stage);
    files.write(300 * day);
    const feed = snapshotFeed(stage.clock, machine.cpuMilli, [], ["beta3"]);
    let node: FaultTransport | undefined;
    // A deposit of a bid is more than what is left above the threshold.
    const warn = amountOf(initialCoins, "uakt") - 300_000n;
    const balance = { minimumBalance: [], warnBalance: parseCoins(`${warn}uakt`), threshold: [], fee: undefined };
    const begin = () =>
      stage.start({
        nodes() {
          node = faultTransport(stage.node.transport());
          return [node];
        },
        market: { inventory: () => feed, hostnameFeed: () => hostnames },
        more: {
          balance: { ...balance, intervalMs: 600_000, periodMs: 0 },
          gateway: {
            ...{ listen: { host: "127.0.0.1", port: 0 }, publicHost, version: "test" },
            certificate: { keptIn: { path: join(files.folder, "own.pem") }, files: files.paths },
          },
        },
      });
    let life = begin();
    await life.services;
    await stage.atRest();
    await sleep(stage.clock, reconcileEveryMs + 60_000);
    well = await life.metrics();
    const serves = async (alert: string, line: RegExp) => {
      await stage.until(alert, async () => line.test(await life.metrics()));
      troubled.set(alert, await life.metrics());
    };

    const first = createTenant(stage, 1n);
    await first.deploy(shop());
    await serves("AkashProviderWalletLow", /^akash_provider_balance_wallet_low\{.*threshold="warn"\} 1$/m);
    // Nobody gives the address that it leases.
    await serves("AkashProviderAddressPending", /^akash_provider_leases_without_address 1$/m);
    const second = createTenant(stage, 2n);
    await second.deploy(shop({ page: "example.com/crashing:1" }));
    await life.stop();
    takeHostName(stage, first.lease);
    life = begin();
    await life.services;
    await serves("AkashProviderHostnameWithheld", /^akash_provider_leases_withheld [1-9]/m);
    await serves("AkashProviderLeaseUnhealthy", /^akash_provider_lease_health\{state="unhealthy"\} 1$/m);
    unhealthy.push({ host: "shop.example.com", lease: "", health: "unhealthy", why: "NoEndpoints" });
    await serves("AkashProviderHostnameUnwell", /^akash_provider_hostnames_unwell 1$/m);
    files.write(10 * day);
    await serves(
      "AkashProviderCertificateExpiring",
      /^akash_provider_certificate_expiry_seconds\{source="files"\} \d{6}(\.|$)/m,
    );
    files.spoil();
    await serves("AkashProviderCertificateTrouble", /^akash_provider_certificate_troubles 1$/m);
    const unknown = { ...first.lease, dseq: 99n };
    const metadata = { name: leaseNamespace(unknown), labels: { ...leaseLabels(unknown) } };
    stage.cluster.server.create(kinds.namespace, { metadata }, "somebody");
    await stage.meanwhile(reconcileEveryMs);
    await serves("AkashProviderDrift", /^akash_provider_drift\{kind="namespace-unknown"\} 1$/m);

    stage.cluster.faults.reject({ status: 403, path: "/deployments/", times: Number.POSITIVE_INFINITY });
    const forbidden = createTenant(stage, 4n);
    await forbidden.post(cell());
    await forbidden.takeBid();
    await forbidden.sendManifest(cell());
    await serves("AkashProviderLeaseFailing", /^akash_provider_leases_failing 1$/m);
    stage.cluster.faults.clear();
    feed.silence();
    await sleep(stage.clock, feedOldMs + 10_000);
    await serves("AkashProviderInventoryOld", /^akash_provider_inventory_feed_usable 0$/m);
    await createTenant(stage, 3n).post(shop());
    await stage.sendAsProvider(bidOnShop(stage, 3n));
    await serves("AkashProviderKeyUsedElsewhere", /^akash_provider_key_used_elsewhere 1$/m);
    await createTenant(stage, 5n).post(shop());
    await serves("AkashProviderNoBids", /^akash_provider_bidengine_matching_orders 1$/m);
    stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
    stage.cluster.faults.cutWatches();
    await serves("AkashProviderLeasesUnknown", /^akash_provider_leases_known 0$/m);
    if (node) node.hangs = (method) => method.startsWith("broadcast");
    const { cluster } = await life.services;
    const closing = { id: formatLeaseId(first.lease), reason: "unspecified", dryRun: false } as const;
    cluster.closeLease(closing, new AbortController().signal).catch(() => undefined);
    await stage.until("something is owed", () => (life.status().chain?.owed ?? 0) > 0);
    if (node) node.hangs = () => true;
    await sleep(stage.clock, 1_900_000);
    await serves("AkashProviderChainOld", /^akash_provider_chain_mirror_age_seconds \d{3,}/m);
    await serves("AkashProviderNotReconciled", /^akash_provider_reconcile_age_seconds \d{4,}/m);
    await serves("AkashProviderTransactionsHeld", /^akash_provider_outbox_silent 1$/m);
    await life.stop();
  });
  troubled.set("AkashProviderDown", "");
  troubled.set("AkashProviderManyLeasesUnhealthy", await healthMetrics(t));
  troubled.set("AkashProviderHostnamesNotLed", `${well}${await hostnameMetrics(t, false)}`);
  troubled.set("AkashProviderAddressesNotLed", `${well}${await ipMetrics(t, false)}`);
  return { well: `${well}${await hostnameMetrics(t, true)}${await ipMetrics(t, true)}`, troubled };
}

/** The bid of another provider with the same key. */
function bidOnShop({ tenant, provider }: Pick<LeaseStage, "tenant" | "provider">, dseq: bigint) {
  const [spec] = shop().groups;
  assert.ok(spec);
  const id = { owner: tenant.address, dseq, gseq: 1, oseq: 1, provider: provider.address, bseq: 0 };
  const terms = { price: parseDecCoin("10uact"), deposit: parseCoin("500000uakt"), reclamationWindowNs: undefined };
  return createBidMessage(id, { spec }, { ...terms, offer: spec.units });
}

/** What a provider serves of the health of its leases, when one of each of three owners crashes. */
async function healthMetrics(t: TestContext): Promise<string> {
  const behaviour = () => ({ exitAfterMs: 10, exitCode: 1 });
  const stage = await leaseStage(t, { dir: memoryFolder(t), behaviour });
  const life = await stage.start({ monitor: leaseDefaults.monitor });
  for (const number of [21, 22, 23]) await life.send(stage.won(number, cell(), person(number)), cell().manifest);
  const metrics = createMetrics();
  if (life.health) measureHealth(metrics, life.health);
  await stage.until("the circuit breaker", async () =>
    /^akash_provider_lease_closing_held 1$/m.test(await metrics.text()),
  );
  return metrics.text();
}

/** What one copy of the IP operator serves. */
async function ipMetrics(t: TestContext, leads: boolean): Promise<string> {
  const stage = await openIpStage(t);
  const waiting = stage.startOperator(undefined, () => ({ leading: false, run: untilAborted }));
  t.after(waiting.stop);
  await stage.settled();
  const metrics = createMetrics();
  measureIp(metrics, leads ? stage.life.operator : waiting.operator, { streams: 0 });
  return metrics.text();
}

/** What one copy of the hostname operator serves. */
function hostnameMetrics(t: TestContext, leads: boolean): Promise<string> {
  const { operator } = openHostnameStage(t).start({ leads });
  const metrics = createMetrics();
  measureHostnameOperator(metrics, operator, () => leads, { streams: 0 });
  return metrics.text();
}

test("the rules are such that Prometheus takes them, and each names metrics that are on the page", {
  skip: promtoolMissing,
}, () => {
  assert.match(promtool("check", "rules", rules), /SUCCESS/);
  const page = readFileSync(join(import.meta.dirname, "../../docs/metrics.md"), "utf8");
  for (const { alert, expr } of allRules()) {
    const named = [...expr.matchAll(/(?:akash_)?provider_\w+/g)].map(([name]) => name);
    assert.ok(named.length > 0, alert);
    for (const name of named) assert.ok(page.includes(`| \`${name}\` |`), `${alert}: ${name}`);
  }
});

// Promtool runs for each rule.
if (thorough)
  test("each rule is quiet on what a well provider serves, and fires on what it serves failing", {
    skip: promtoolMissing,
  }, async (t) => {
    const { well, troubled } = await playTroubles(t);
    assert.deepEqual(
      [...troubled.keys()].sort(),
      allRules()
        .map(({ alert }) => alert)
        .sort(),
      "each rule has its trouble",
    );
    // The longest look back and the longest patience of a rule, together.
    const minutes = 120;
    const quiet = {
      name: "nothing is wrong",
      scrapes: [{ text: well, minutes }],
      expected: [...troubled.keys()].map((alert) => ({ minute: minutes - 1, alert, fires: false })),
    };
    const firing = [...troubled].map(([alert, text]) => ({
      name: alert,
      scrapes: [
        { text: well, minutes },
        { text, minutes },
      ],
      expected: [
        { minute: minutes - 1, alert, fires: false },
        { minute: 2 * minutes - 1, alert, fires: true },
      ],
    }));
    checkFiring(t, rules, [quiet, ...firing]);
  });
