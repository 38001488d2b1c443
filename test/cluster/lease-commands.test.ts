/** What an operator asks about leases, and how one is ended: by commands, which are real processes. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bidOn, formatLeaseId, type LeaseId, parseOrderId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { createControlService } from "../../src/runtime/control/control-service.ts";
import type { Service } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { createProcess } from "../../src/runtime/process.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { type LiveProvider, runCommand, startLiveProvider } from "../support/live-provider.ts";
import type { Owner } from "../support/owner.ts";
import { smallGroup } from "../support/stages/bid-stage.ts";

const endings: (() => void | Promise<void>)[] = [];
const owner: Owner = { after: (end) => void endings.unshift(end) };
after(async () => {
  for (const end of endings) await end();
});

describe("a provider with a lease", { concurrency: false }, () => {
  let provider: LiveProvider;
  let lease: LeaseId;
  let leaseId: string;
  const at = () => ["--data-dir", provider.dataDir];
  const close = (id: string, ...options: string[]) =>
    runCommand("lease", "close", id, "--reason", "unstable", ...options, ...at());

  before(async () => {
    provider = await startLiveProvider(owner);
    const [order] = await provider.post(1n, smallGroup);
    lease = bidOn(parseOrderId(order ?? ""), provider.running.chain.provider);
    leaseId = formatLeaseId(lease);
    await eventually("the bid", () => provider.running.chain.mirror.bid(lease)?.state === "open");
    await provider.accept(lease);
    await eventually("the lease", () => provider.running.chain.mirror.lease(lease)?.state === "active");
  });

  test("leases shows it with its state, age and namespace, for people and for programs", async () => {
    const { stdout, stderr } = await eventually("it is listed", async () => {
      const given = await runCommand("leases", ...at());
      return given.stdout.includes("waiting for manifest") && given;
    });
    const [heading, row] = stdout.trimEnd().split("\n");
    assert.match(heading ?? "", /^LEASE +AGE +STATE +READY +CPU +MEMORY +STORAGE +NAMESPACE +HOSTS +ADDRESSES$/);
    assert.ok(row?.startsWith(`${leaseId} `), row);
    assert.ok(row?.includes(leaseNamespace(lease)), row);
    assert.equal(stderr, "usage not known: no metrics API\n");
    const {
      lease: named,
      state,
      hosts,
      leased,
      usage,
    } = JSON.parse((await runCommand("leases", "--json", ...at())).stdout);
    assert.deepEqual([named, state, hosts], [leaseId, "waiting for manifest", []]);
    assert.deepEqual(usage, { unknown: "no metrics API" });
    assert.deepEqual(leased, { cpuMilli: "100", memoryBytes: "67108864", storageBytes: "67108864" });
  });

  test("a dry run says what would be lost, and nothing is sent", async () => {
    const { code, stdout } = await close(leaseId, "--dry-run");
    assert.equal(code, 0);
    assert.match(stdout, /^dry run: the lease would be closed \(reason: unstable\)\n/);
    assert.match(stdout, /income {5}10uact per block/);
    assert.ok(stdout.includes(leaseNamespace(lease)));
    assert.deepEqual(provider.running.journal.read.intents.about(leaseId), []);
  });

  test("a refresh names one lease or all of them, and says what it replaces", async () => {
    for (const wrong of [[], [leaseId, "--all"]]) {
      const { code, stderr } = await runCommand("lease", "refresh", ...wrong, ...at());
      assert.deepEqual([code, stderr], [2, "error: name one lease, or give --all\n"]);
    }
    const one = await runCommand("lease", "refresh", leaseId, ...at());
    assert.deepEqual([one.code, one.stdout], [0, `${leaseId}: has our newest pod templates\n`]);
    const all = await runCommand("lease", "refresh", "--all", ...at());
    assert.deepEqual([all.code, all.stderr], [0, "no lease has an older pod template\n"]);
    const unknown = await runCommand("lease", "refresh", leaseId.replace(/\/\d+\/1\/1\//, "/99/1/1/"), ...at());
    assert.match(unknown.stderr, /AKP_LEASE_UNKNOWN/);
  });

  test("reconcile says that chain, cluster and journal agree, and how much it has compared", async () => {
    const { code, stdout } = await runCommand("reconcile", ...at());
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^chain, cluster and journal agree: 1 leases at height \d+, 0 namespaces, /);
    const { drifts, compared, dryRun } = JSON.parse(
      (await runCommand("reconcile", "--dry-run", "--json", ...at())).stdout,
    );
    assert.deepEqual([drifts, compared.leases, dryRun], [[], 1, true]);
  });

  test("a lease that is not ours, or that nobody has, is rejected in words", async () => {
    const others = leaseId.replace(/[^/]+$/, provider.tenant);
    assert.match((await close(others)).stderr, /AKP_LEASE_NOT_OURS/);
    const unknown = await close(leaseId.replace("/1/1/1/", "/99/1/1/"));
    assert.deepEqual([unknown.code, /AKP_LEASE_UNKNOWN/.test(unknown.stderr)], [1, true]);
    assert.match((await close("nonsense")).stderr, /AKP_VALUE_MALFORMED/);
    const reclaimed = await runCommand("lease", "reclaim", leaseId, "--reason", "unstable", "--dry-run", ...at());
    assert.match(reclaimed.stderr, /lease close` ends it at once\.\n.*AKP_LEASE_NOT_RECLAIMABLE/);
    const wrong = await runCommand("lease", "close", leaseId, "--reason", "boredom", ...at());
    assert.match(wrong.stderr, /Allowed choices are unstable, decommission, unspecified/);
  });

  test("it is closed once, and then is over", async () => {
    const order = leaseId.split("/").slice(0, 4).join("/");
    assert.match((await close(order)).stdout, /^the lease is closed \(reason: unstable\)\n/);
    const { chain, journal } = provider.running;
    const closed = await eventually("the chain says so", async () => {
      const { value } = await chain.queries.lease(lease);
      return value?.state === "closed" && value;
    });
    assert.equal(closed.reason, 10_000);
    await eventually("the mirror too", () => chain.mirror.lease(lease)?.state !== "active");
    const again = await close(leaseId);
    assert.match(again.stderr, /AKP_LEASE_OVER/);
    const sent = journal.read.intents.about(leaseId).map(({ what, why }) => [what, why]);
    assert.deepEqual(sent, [["closeBid", "closed by the operator, reason unstable"]]);
    const [line] = journal.read.history.about(leaseId, 9).filter(({ line }) => line.includes("operator"));
    assert.match(line?.line ?? "", /closeBid filed: closed by the operator, reason unstable/);
  });

  test("without a provider leases are told from the journal, and none is closed", async () => {
    await provider.stop();
    const { code, stderr } = await runCommand("leases", ...at());
    assert.equal(code, 0);
    assert.match(stderr, /this is from its journal/);
    assert.match((await close(leaseId)).stderr, /AKP_PROVIDER_NOT_RUNNING/);
  });
});

test("reconcile ends with a code of its own where there is drift, so that scripts can tell", async () => {
  const dataDir = temporaryFolder(owner);
  const compared = { leases: 1, namespaces: 0, resources: 0, manifests: 1, reservations: 1 };
  const drift = { kind: "namespace-missing", subject: "a/1/1/1/p", evidence: "e", remedy: "r", sinceMs: 1 };
  const report = { atMs: 1, height: 42n, compared, drifts: [drift], more: 0, unasked: 0 };
  const deps = { clock: realClock, log: silentLog };
  const told: Service = {
    name: "told",
    start: () => undefined,
    controlHandlers: { reconcile: (asked) => ({ ...report, ...asked }) },
  };
  const control = createControlService({ dataDir, control: (...asked) => running.control(...asked), ...deps });
  const running = createProcess({ services: [control, told], metrics: createMetrics(), ...deps });
  const stopping = new AbortController();
  const ended = running.run(stopping.signal);
  owner.after(() => {
    stopping.abort();
    return ended;
  });
  await eventually("it runs", () => running.status().services.every(({ state }) => state === "running"));
  const { code, stdout } = await runCommand("reconcile", "--dry-run", "--data-dir", dataDir);
  assert.equal(code, 4);
  assert.match(
    stdout,
    /^DRIFT .*\nnamespace-missing .*\n {2}e\n {2}r\ndry run, nobody was woken: 1 differences among 1 leases/,
  );
});
