/** Leases that are reclaimed: their tenants are told, they run on, and once the agreed time has passed they are closed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CloseReason, closeBidMessage, closeReasons } from "../../src/chain/closing.ts";
import type { Intent } from "../../src/journal/intents.ts";
import { openToRead } from "../../src/journal/read-only.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { nsToMs, sleep } from "../../src/runtime/clock.ts";
import { leaseCloseRetryMs } from "../../src/runtime/limits.ts";
import { createCountingBoundary, SimulatedCrash } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import { faultTransport } from "../support/fault-transport.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant, type Tenant } from "../support/lease-tenant.ts";
import type { Owner } from "../support/owner.ts";
import { cell, images } from "../support/samples/lease-sdl.ts";
import {
  type LeaseStage,
  type Life,
  type LifeOptions,
  type LiveServices,
  onLeaseStage,
} from "../support/stages/lease-stage.ts";
import { quickTest, thorough } from "../support/thorough.ts";

const hourMs = 3_600_000;
const blockMs = 6_000;
const windowNs = BigInt(hourMs) * 1_000_000n;
const never = new AbortController().signal;

/** Plays with a tenant who wants to be told an hour before. */
function play(
  t: Owner,
  story: (stage: LeaseStage, tenant: Tenant) => Promise<void>,
  manifestTimeoutMs = 10 * hourMs,
): Promise<void> {
  const options = { dir: memoryFolder(t), manifestTimeoutMs, blockMs };
  return onLeaseStage(options, (stage) => story(stage, createTenant(stage, 7n)), 12 * hourMs);
}

/** A lease without a manifest, whose tenant is told by the operator; what it runs does not matter to its end. */
async function reclaimed(stage: LeaseStage, { post, takeBid, lease }: Tenant): Promise<number> {
  await post(cell(), undefined, windowNs);
  await takeBid();
  const { cluster, chain } = await houseOf(stage);
  await stage.until("the mirror has the lease", () => chain.mirror.lease(lease) !== undefined);
  await cluster.reclaimLease({ id: formatLeaseId(lease), reason: "unstable", dryRun: false }, never);
  return deadlineMs(stage, lease);
}

async function deadlineMs(stage: LeaseStage, lease: Tenant["lease"]): Promise<number> {
  const stateOf = async () => (await stage.queries.lease(lease)).value;
  await stage.until("its tenant is told", async () => (await stateOf())?.state === "reclaiming");
  return Number((await stateOf())?.reclamation?.deadline) * 1_000;
}

/** The provider is away for most of the hour, which nobody plays then, and back so long before that time. */
async function backBefore(stage: LeaseStage, atMs: number, ms: number, options: LifeOptions = {}): Promise<Life> {
  await stage.life?.stop();
  await stage.halted(atMs - ms - stage.clock.now());
  const life = stage.start(options);
  await life.services;
  return life;
}

async function houseOf({ life }: LeaseStage): Promise<LiveServices> {
  assert.ok(life);
  return life.services;
}

async function isClosed({ queries }: LeaseStage, { lease }: Tenant): Promise<boolean> {
  return (await queries.lease(lease)).value?.state === "closed";
}

/** Its block came neither before the deadline nor long after it, and it was filed once. */
async function closedInTime(
  stage: LeaseStage,
  tenant: Tenant,
  dueMs: number,
  patienceMs = 60_000,
  reason: CloseReason = "unstable",
): Promise<void> {
  await stage.until("it is closed", () => isClosed(stage, tenant));
  const { value: lease } = await stage.queries.lease(tenant.lease);
  assert.ok(lease);
  const closedMs = nsToMs(await stage.queries.blockTimeNs(lease.closedOn));
  assert.ok(closedMs >= dueMs && closedMs <= dueMs + patienceMs, `${closedMs - dueMs} ms after its time`);
  assert.equal(lease.reason, closeReasons[reason], "for the reason that its tenant was told");
  assert.deepEqual(endingsOf(stage, tenant), ["closeBid done", "startReclaim done"]);
}

function endingsOf({ dir, clock }: LeaseStage, { lease }: Tenant): string[] {
  const { atOnce, close } = openToRead(dir, clock);
  try {
    const show = ({ what, state }: Intent) => `${what} ${state}`;
    return atOnce(({ intents }) => intents.about(formatLeaseId(lease)).map(show));
  } finally {
    close();
  }
}

test("a lease that is reclaimed runs on and takes manifests; when its time has passed it is closed and taken away", async (t) => {
  await play(t, async (stage, tenant) => {
    stage.start();
    const id = formatLeaseId(tenant.lease);
    const { cluster } = await houseOf(stage);
    await tenant.post(cell(), undefined, windowNs);
    await tenant.takeBid();
    await tenant.sendManifest(cell());
    await tenant.runs(cell());
    const request = { id, reason: "unstable", dryRun: false } as const;
    const told = await cluster.reclaimLease(request, never);
    assert.equal(told.message, "startReclaim");
    const dueMs = await deadlineMs(stage, tenant.lease);
    assert.ok(Math.abs((told.closesAtMs ?? 0) - dueMs) < 30_000);
    await assert.rejects(cluster.reclaimLease(request, never), { code: "AKP_LEASE_RECLAIMED_LATER" });
    await stage.atRest();
    assert.equal(cluster.leases()[0]?.reclaimedAtMs, dueMs);
    await tenant.update(cell(images.newPage));
    if (thorough) await stage.meanwhile(dueMs - 40_000 - stage.clock.now());
    else await backBefore(stage, dueMs, 20_000);
    assert.deepEqual([await isClosed(stage, tenant), (await tenant.pods()).length], [false, 1]);
    await closedInTime(stage, tenant, dueMs);
    await tenant.isGone();
    const { journal } = await houseOf(stage);
    const lines = journal.read.history.about(id, 20).map(({ line }) => line);
    assert.ok(lines.includes("closeBid filed: its reclamation window has passed, reason unstable"), lines.join("\n"));
  });
});

quickTest("a lease whose tenant closes it before its time is left alone then", async (t) => {
  await play(t, async (stage, tenant) => {
    stage.start();
    const dueMs = await reclaimed(stage, tenant);
    await tenant.close();
    await backBefore(stage, dueMs, 0);
    await sleep(stage.clock, 5 * blockMs);
    assert.equal(await isClosed(stage, tenant), true);
    assert.deepEqual(endingsOf(stage, tenant), ["startReclaim done"]);
  });
});

quickTest(
  "a chain that makes no blocks over the deadline delays the close, and no earlier block is mistaken for a later one",
  async (t) => {
    await play(t, async (stage, tenant) => {
      stage.start();
      const dueMs = await reclaimed(stage, tenant);
      await backBefore(stage, dueMs, 10_000);
      await stage.halted(120_000);
      assert.deepEqual(endingsOf(stage, tenant), ["startReclaim done"], "by our clock its time has passed long ago");
      await closedInTime(stage, tenant, dueMs, 180_000);
    });
  },
);

quickTest("nodes that cannot be reached over the deadline delay it as well", async (t) => {
  await play(t, async (stage, tenant) => {
    const transport = faultTransport(stage.node.transport());
    stage.start();
    const dueMs = await reclaimed(stage, tenant);
    await backBefore(stage, dueMs, 20_000, { nodes: () => [transport] });
    transport.hangs = () => true;
    await sleep(stage.clock, 60_000);
    assert.deepEqual(endingsOf(stage, tenant), ["startReclaim done"]);
    transport.hangs = () => false;
    await closedInTime(stage, tenant, dueMs, 120_000);
  });
});

quickTest(
  "a provider that is away over the deadline closes it when it is back; one that comes back before waits",
  async (t) => {
    for (const backMs of [-15_000, 15_000]) {
      await play(t, async (stage, tenant) => {
        stage.start();
        const dueMs = await reclaimed(stage, tenant);
        await backBefore(stage, dueMs, -backMs);
        await closedInTime(stage, tenant, dueMs);
      });
    }
  },
);

quickTest("a lease that waits in vain for a manifest is closed once, for that reason", async (t) => {
  const story = async (stage: LeaseStage, tenant: Tenant) => {
    stage.start();
    await tenant.post(cell(), undefined, windowNs);
    await tenant.takeBid();
    const dueMs = await deadlineMs(stage, tenant.lease);
    await backBefore(stage, dueMs, 10_000);
    await closedInTime(stage, tenant, dueMs, 60_000, "manifest-timeout");
    await sleep(stage.clock, leaseCloseRetryMs);
    assert.equal(endingsOf(stage, tenant).length, 2);
  };
  await play(t, story, 30_000);
});

quickTest("a close that was filed too early waits, and one that failed is made again after a pause", async (t) => {
  await play(t, async (stage, tenant) => {
    stage.start();
    const dueMs = await reclaimed(stage, tenant);
    await backBefore(stage, dueMs, 40_000);
    const { chain, journal } = await houseOf(stage);
    const subject = formatLeaseId(tenant.lease);
    const intent = {
      subject,
      why: "a test",
      message: closeBidMessage(tenant.lease, "unstable"),
      priority: "close",
    } as const;
    const early = await chain.outbox.file(intent);
    await sleep(stage.clock, 20_000);
    assert.equal(journal.read.intents.get(early)?.state, "filed", "the chain would refuse it now, and is not asked");
    await chain.outbox.cancel(early, "a test");
    await sleep(stage.clock, dueMs - stage.clock.now() - blockMs);
    await journal.durable("test", ({ intents }) => {
      intents.settle(intents.file(chain.outbox.intentOf(intent)), "failed");
    });
    const failedMs = stage.clock.now();
    await stage.until("it is closed", () => isClosed(stage, tenant));
    const { filedAtMs = 0 } = journal.read.intents.about(subject)[0] ?? {};
    const pauseMs = filedAtMs - failedMs;
    assert.ok(pauseMs >= leaseCloseRetryMs && pauseMs < 2 * leaseCloseRetryMs, `${pauseMs} ms`);
    assert.deepEqual(endingsOf(stage, tenant).slice(0, 2), ["closeBid done", "closeBid failed"]);
  });
});

test("after a crash at any boundary of the close the lease is closed once", async (t) => {
  /** Comes back just before the deadline, ends at this boundary, and comes back again. */
  async function ending(crashAt: number) {
    let crossings: readonly string[] = [];
    const crash = Promise.withResolvers<void>();
    const boundary = createCountingBoundary(crashAt, (at) => {
      crash.resolve();
      throw new SimulatedCrash(at);
    });
    await play(t, async (stage, tenant) => {
      stage.start();
      const dueMs = await reclaimed(stage, tenant);
      await stage.life?.stop();
      await stage.halted(dueMs - 10_000 - stage.clock.now());
      const second = stage.start({ boundary });
      await Promise.race([crash.promise, stage.until("it is closed", () => isClosed(stage, tenant))]);
      crossings = [...boundary.crossings];
      if (boundary.crashed) {
        await second.stop().catch(() => undefined);
        stage.start();
      }
      await stage.until("its end is settled", () => endingsOf(stage, tenant)[0] === "closeBid done");
      await closedInTime(stage, tenant, dueMs);
      await stage.atRest();
      assert.deepEqual(endingsOf(stage, tenant), ["closeBid done", "startReclaim done"]);
    });
    return { crossings, crashed: boundary.crashed };
  }
  await playCrashes(t, "lease-reclaim", {
    sample: { every: 1, about: /broadcast/ },
    whole: () => ending(0),
    crash: async ({ crashAt }) => assert.ok((await ending(crashAt)).crashed),
  });
});
