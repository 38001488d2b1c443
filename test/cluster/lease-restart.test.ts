/** What a provider that comes back finds, with its journal, without it, or with an old one. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { formatLeaseId, formatOrderId } from "../../src/market/ids.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { snapshotOf } from "../support/cluster-snapshot.ts";
import { createCountingBoundary } from "../support/counting-boundary.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant, type Tenant } from "../support/lease-tenant.ts";
import { runs } from "../support/runs.ts";
import { cell, images, shop } from "../support/samples/lease-sdl.ts";
import { type LeaseStage, onLeaseStage } from "../support/stages/lease-stage.ts";
import { counts } from "../support/thorough.ts";

/** Long enough for every loop to have looked several times. */
const aWhileMs = runs(3, 60) * 60_000;
const aWeekMs = 7 * 24 * 3_600_000;
const leases = runs(6, 20);

test("a restart with nothing to do writes no object, whatever state its leases are in", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t) }, async (stage) => {
    const life = stage.start();
    const [updated, withdrawn, waiting] = [7n, 8n, 9n].map((dseq) => createTenant(stage, dseq)) as Tenants;
    await updated.deploy(shop({ extras: true }));
    await updated.update(shop({ page: images.newPage, extras: true }));
    await withdrawn.deploy(shop({ host: "other.example.com", extras: true }));
    await life.open?.manifests.withdraw(withdrawn.id);
    await stage.until("withdrawn", async () => (await withdrawn.pods()).length === 0);
    await waiting.post(cell());
    await waiting.takeBid();
    await stage.atRest();
    await life.stop();
    const boundary = createCountingBoundary();
    const versions = versionsOf(stage);
    const second = stage.start({ boundary });
    await stage.atRest();
    // Not so long that the watchdog closes the lease that still waits.
    await sleep(stage.clock, 60_000);
    await stage.atRest();
    assert.deepEqual(
      boundary.crossings.filter((crossing) => crossing.startsWith("kube")),
      [],
    );
    assert.deepEqual(versionsOf(stage), versions);
    await second.stop();
  });
});

type Tenants = [Tenant, Tenant, Tenant];

for (const { name, lose } of [
  { name: "with its journal deleted", lose: (dir: string) => rmSync(dir, { recursive: true }) },
  {
    name: "with a week-old backup of its journal",
    lose: (dir: string, backup: string) => {
      rmSync(dir, { recursive: true });
      cpSync(backup, dir, { recursive: true });
    },
  },
].slice(0, counts(1, 2))) {
  test(`${name} and ${leases} leases running, no pod is touched and nothing is sent twice`, async (t) => {
    const folder = memoryFolder(t);
    const [dir, backup] = [join(folder, "data"), join(folder, "backup")];
    const options = { dir, manifestTimeoutMs: 2 * aWeekMs };
    await onLeaseStage(
      options,
      async (stage) => {
        const first = stage.start();
        const tenants = Array.from({ length: leases }, (_, n) => createTenant(stage, BigInt(100 + n)));
        const [early, late] = [tenants.slice(0, leases / 2), tenants.slice(leases / 2)];
        await Promise.all(early.map((tenant) => tenant.deploy(cell())));
        await stage.atRest();
        await first.stop();
        mkdirSync(backup);
        cpSync(dir, backup, { recursive: true });
        await stage.meanwhile(aWeekMs);

        const second = stage.start();
        await Promise.all(late.map((tenant) => tenant.deploy(cell())));
        // What the backup knows of it is not the newest any more.
        await early[0]?.update(cell(images.newPage));
        await early[1]?.close();
        await early[1]?.isGone();
        const silent = createTenant(stage, 200n);
        await silent.post(cell());
        await silent.takeBid();
        await stage.atRest();
        const before = { pods: podsOf(stage), sent: stage.sent, cluster: versionsOf(stage) };
        await second.stop();
        lose(dir, backup);

        const third = stage.start();
        await stage.atRest();
        await sleep(stage.clock, aWhileMs);
        await stage.atRest();
        const { journal, chain } = await third.services;
        assert.deepEqual(podsOf(stage), before.pods);
        assert.deepEqual(versionsOf(stage), before.cluster, "no object was written");
        assert.equal(stage.sent, before.sent, "no transaction was sent");
        const running = tenants.filter((tenant) => tenant !== early[1]);
        const keys = running.map(({ lease }) => formatLeaseId(lease));
        assert.deepEqual(journal.read.manifests.leaseIds().sort(), [...keys].sort());
        const reserved = journal.read.reservations.all().map(({ orderId }) => orderId);
        assert.deepEqual(reserved.sort(), [...running, silent].map(({ lease }) => formatOrderId(lease)).sort());
        assert.ok(journal.read.deadlines.get("manifest", formatLeaseId(silent.lease)), "it is still waited for");
        assert.equal(journal.read.manifests.get(keys[0] ?? "")?.body.includes(images.newPage), true, "the newest");
        assert.equal(chain.outbox.counts.owed, 0);

        // And it goes on.
        await late[0]?.update(cell(images.newPage));
        await late[1]?.close();
        await late[1]?.isGone();
        await silent.sendManifest(cell());
        await silent.runs(cell());
        await stage.atRest();
        await third.stop();
      },
      3 * aWeekMs,
    );
  });
}

test("leases that were closed while we were down are torn down within a minute of the start", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t) }, async (stage) => {
    const before = snapshotOf(stage.cluster);
    const first = stage.start();
    const tenants = [1n, 2n, 3n].map((dseq) => createTenant(stage, dseq));
    await Promise.all(tenants.map((tenant) => tenant.deploy(shop({ host: `shop-${tenant.id.dseq}.example.com` }))));
    await stage.atRest();
    await first.stop();
    for (const tenant of tenants) await tenant.close();
    await stage.meanwhile(3_600_000);
    const startedMs = stage.clock.now();
    stage.start();
    for (const tenant of tenants) await tenant.isGone();
    assert.ok(stage.clock.now() - startedMs <= 60_000, `${stage.clock.now() - startedMs} ms`);
    await stage.atRest();
    assert.deepEqual(snapshotOf(stage.cluster), before);
  });
});

test("a lease that was won before a restart takes its manifest afterwards, and runs it", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t), manifestTimeoutMs: 3_600_000 }, async (stage) => {
    const first = stage.start();
    const tenant = createTenant(stage, 7n);
    await tenant.post(shop());
    await tenant.takeBid();
    await stage.atRest();
    await first.stop();
    await sleep(stage.clock, 600_000);
    stage.start();
    await tenant.sendManifest(shop());
    await tenant.runs(shop());
  });
});

test("a lease whose money has run dry in a block of its own is torn down", async (t) => {
  const options = { dir: memoryFolder(t), closeDryLeasesInEndBlock: true, price: "5000uact" };
  await onLeaseStage(options, async (stage) => {
    const before = snapshotOf(stage.cluster);
    stage.start();
    const tenant = createTenant(stage, 7n);
    // Enough for a hundred blocks.
    await tenant.post(shop(), "500000uact");
    await tenant.takeBid();
    await tenant.sendManifest(shop());
    await tenant.runs(shop());
    await tenant.isGone();
    await stage.atRest();
    assert.equal((await stage.queries.lease(tenant.lease)).value?.state, "insufficient_funds");
    assert.deepEqual(snapshotOf(stage.cluster), before);
  });
});

/** Every pod there is, and how often it was started. */
function podsOf({ cluster }: LeaseStage): string[] {
  return cluster.server
    .list(kinds.pod)
    .map(({ metadata, status }) => {
      const { containerStatuses = [] } = (status ?? {}) as { containerStatuses?: { restartCount?: number }[] };
      return `${metadata.uid} ${containerStatuses.map(({ restartCount }) => restartCount).join()}`;
    })
    .sort();
}

/** What every write changes. */
function versionsOf({ cluster }: LeaseStage): string[] {
  return (
    Object.values(kinds)
      .filter(({ kind }) => !["Node", "NodeMetrics", "PodMetrics", "Event"].includes(kind))
      // Nobody has brought their definitions.
      .filter(({ group }) => !["gateway.networking.k8s.io", "metallb.io"].includes(group))
      .flatMap((kind) => cluster.server.list(kind).map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`))
      .sort()
  );
}
