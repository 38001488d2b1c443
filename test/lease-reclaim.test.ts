/** Leases that are reclaimed: their tenants are told, they run on, and once the agreed time has passed they are closed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { closeReasons } from "../src/chain/tx/closing.ts";
import type { Intent } from "../src/journal/intents.ts";
import { openToRead } from "../src/journal/read-only.ts";
import { formatLeaseId } from "../src/market/ids.ts";
import { nsToMs } from "../src/runtime/clock.ts";
import { memoryFolder } from "./folder.ts";
import { cell, images } from "./lease-sdl.ts";
import { type LeaseStage, type LivedHouse, onLeaseStage } from "./lease-stage.ts";
import { createTenant, type Tenant } from "./lease-tenant.ts";
import type { Owner } from "./owner.ts";

const hourMs = 3_600_000;
const windowNs = BigInt(hourMs) * 1_000_000n;
const never = new AbortController().signal;

/** Plays with a tenant who wants to be told an hour before. */
function play(t: Owner, story: (stage: LeaseStage, tenant: Tenant) => Promise<void>): Promise<void> {
  const options = { dir: memoryFolder(t), manifestTimeoutMs: 10 * hourMs, blockMs: 2_000 };
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

async function houseOf({ life }: LeaseStage): Promise<LivedHouse> {
  assert.ok(life);
  return life.house;
}

async function isClosed({ queries }: LeaseStage, { lease }: Tenant): Promise<boolean> {
  return (await queries.lease(lease)).value?.state === "closed";
}

/** Its block came neither before the deadline nor long after it, and it was filed once. */
async function closedInTime(stage: LeaseStage, tenant: Tenant, dueMs: number, patienceMs = 30_000): Promise<void> {
  await stage.until("it is closed", () => isClosed(stage, tenant));
  const { value: lease } = await stage.queries.lease(tenant.lease);
  assert.ok(lease);
  const closedMs = nsToMs(await stage.queries.blockTimeNs(lease.closedOn));
  assert.ok(closedMs >= dueMs && closedMs <= dueMs + patienceMs, `${closedMs - dueMs} ms after its time`);
  assert.equal(lease.reason, closeReasons.unstable, "for the reason that its tenant was told");
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
    const { cluster, journal } = await houseOf(stage);
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
    await stage.meanwhile(dueMs - stage.clock.now() - 20_000);
    assert.deepEqual([await isClosed(stage, tenant), (await tenant.pods()).length], [false, 1]);
    await closedInTime(stage, tenant, dueMs);
    await tenant.isGone();
    const lines = journal.read.history.about(id, 20).map(({ line }) => line);
    assert.ok(lines.includes("closeBid filed: its reclamation window has passed, reason unstable"), lines.join("\n"));
  });
});

test("a lease whose tenant closes it before its time is left alone then", async (t) => {
  await play(t, async (stage, tenant) => {
    stage.start();
    const dueMs = await reclaimed(stage, tenant);
    await stage.meanwhile(hourMs / 2);
    await tenant.close();
    await stage.meanwhile(dueMs + 300_000 - stage.clock.now());
    assert.equal(await isClosed(stage, tenant), true);
    assert.deepEqual(endingsOf(stage, tenant), ["startReclaim done"]);
  });
});
