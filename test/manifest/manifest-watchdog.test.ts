/** Leases without a manifest: closed in time and by proof, over restarts, and never while chain or cluster is unknown. */
import assert from "node:assert/strict";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { closeBidMessage } from "../../src/chain/closing.ts";
import { manifestRecheckMs } from "../../src/manifest/manifest-loop.ts";
import { resendGraceMs } from "../../src/manifest/manifest-service.ts";
import { deploymentOf, formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { manifestHash } from "../../src/market/manifest.ts";
import type { Boundary } from "../../src/runtime/boundary.ts";
import { leaseCloseRetryMs } from "../../src/runtime/limits.ts";
import { SimulatedCrash } from "../support/counting-boundary.ts";
import { faultTransport } from "../support/fault-transport.ts";
import { runs } from "../support/runs.ts";
import { bodyOf, versionOf, webWish } from "../support/samples/manifest-samples.ts";
import { type ManifestStage, onManifestStage } from "../support/stages/manifest-stage.ts";
import { quickTest, thorough } from "../support/thorough.ts";

const timeoutMs = 15_000;
const wish = webWish();

async function closedBy(stage: ManifestStage, lease: LeaseId): Promise<number | undefined> {
  const { value } = await stage.queries.lease(lease);
  return value?.state === "closed" ? value.reason : undefined;
}

async function untilClosed(stage: ManifestStage, lease: LeaseId): Promise<void> {
  await stage.until("it is closed", async () => (await closedBy(stage, lease)) !== undefined);
  assert.equal(await closedBy(stage, lease), 10_003);
}

quickTest(
  "a lease whose manifest never comes is closed when its time is up, with the reason that says so; what is invalid does not count",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      const { manifests, journal, status } = await stage.running({ timeoutMs });
      const lease = await stage.leased(1n, wish);
      const key = formatLeaseId(lease);
      await assert.rejects(manifests.submit(deploymentOf(lease), "{}"), { code: "AKP_MANIFEST_UNREADABLE" });
      await assert.rejects(manifests.submit(deploymentOf(lease), bodyOf(webWish({ image: "other" }).manifest)), {
        code: "AKP_MANIFEST_OTHER_VERSION",
      });
      const createdAt = (await stage.queries.lease(lease)).value?.createdAt ?? 0n;
      await untilClosed(stage, lease);
      const { value: closed } = await stage.queries.lease(lease);
      const lived = Number((closed?.closedOn ?? 0n) - createdAt);
      assert.ok(lived >= 15 && lived <= 19, `closed after ${lived} blocks of a second`);
      await stage.until("nothing is left of it", () => status().leases === 0);
      assert.equal(journal.read.deadlines.get("manifest", key), undefined);
      assert.equal(journal.read.intents.about(key).length, 1);
    });
  },
);

quickTest("with several groups each lease has a deadline of its own, and 0 turns them off", async (t) => {
  await onManifestStage(t, async (stage) => {
    const two = webWish({ placements: ["east", "west"] });
    const { stop } = await stage.running({ timeoutMs: 0 });
    const id = await stage.post(1n, two);
    const leases = [await stage.lease(id, two, 1), await stage.lease(id, two, 2)];
    await stage.pass(20_000);
    for (const lease of leases) assert.equal(await closedBy(stage, lease), undefined);
    await stop();
    await stage.running({ timeoutMs });
    for (const lease of leases) await untilClosed(stage, lease);
  });
});

quickTest(
  "a lease won while the provider was down takes its manifest after the start, and is closed if none comes even then",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      await (await stage.running({ timeoutMs })).stop();
      const [sends, silent] = [await stage.leased(1n, wish), await stage.leased(2n, wish)];
      await stage.pass(30_000);
      const { manifests } = await stage.running({ timeoutMs });
      await stage.pass(timeoutMs - 5_000);
      assert.equal(await closedBy(stage, silent), undefined, "its tenant gets a moment");
      assert.equal((await manifests.submit(deploymentOf(sends), bodyOf(wish.manifest))).changed.length, 1);
      await untilClosed(stage, silent);
      assert.equal(await closedBy(stage, sends), undefined);
    });
  },
);

quickTest("a lease from a block that no node has any more is as old as the blocks since then", async (t) => {
  const play = async (stage: ManifestStage) => {
    const lease = await stage.leased(1n, wish);
    await stage.pass(40_000);
    await stage.running({ timeoutMs });
    const startedAtMs = stage.clock.now();
    await untilClosed(stage, lease);
    assert.ok(stage.clock.now() - startedAtMs < timeoutMs + 5_000);
  };
  await onManifestStage(t, play, { keepBlocks: 10 });
});

quickTest(
  "nothing is closed while the cluster or its host names are unknown, nor while no node answers, for however long; then it is",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      const transport = faultTransport(stage.node.transport());
      const { journal } = await stage.running({ timeoutMs, nodes: () => [transport] });
      const lease = await stage.leased(1n, wish);
      const filed = () => journal.read.intents.about(formatLeaseId(lease)).length;
      for (const unknown of ["error", "hostsError"] as const) {
        stage.cluster[unknown] = "its cache has not been filled yet";
        await stage.pass(40_000);
        assert.deepEqual([await closedBy(stage, lease), filed()], [undefined, 0]);
        stage.cluster[unknown] = undefined;
      }
      transport.hangs = () => true;
      await stage.pass(runs(60_000, 3_600_000));
      assert.equal(filed(), 0);
      transport.hangs = () => false;
      await untilClosed(stage, lease);
    });
  },
);

quickTest(
  "time in which no node answers does not count, and a lease made meanwhile has its full time-out",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      const transport = faultTransport(stage.node.transport());
      const { chain } = await stage.running({ timeoutMs, nodes: () => [transport] });
      const known = await stage.leased(1n, wish);
      await stage.until("it is known", () => chain.mirror.lease(known) !== undefined);
      const knownMs = stage.clock.now();
      transport.hangs = () => true;
      const hungMs = stage.clock.now();
      const unseen = await stage.leased(2n, wish);
      await stage.pass(runs(60_000, 600_000));
      transport.hangs = () => false;
      await stage.until("it is seen", () => chain.mirror.lease(unseen) !== undefined);
      const [backMs, watchedMs] = [stage.clock.now(), hungMs - knownMs];
      await stage.pass(timeoutMs - watchedMs - 3_000);
      assert.deepEqual([await closedBy(stage, known), await closedBy(stage, unseen)], [undefined, undefined]);
      await stage.pass(backMs + timeoutMs - 1_000 - stage.clock.now());
      assert.equal(await closedBy(stage, unseen), undefined);
      await untilClosed(stage, known);
      await untilClosed(stage, unseen);
    });
  },
);

for (const what of ["outages", "restarts"]) {
  quickTest(`${what} time and again postpone the end of a lease by their own time alone`, async (t) => {
    const [longMs, everyMs] = [3 * resendGraceMs, 40_000];
    await onManifestStage(t, async (stage) => {
      const transport = faultTransport(stage.node.transport());
      const parts = { timeoutMs: longMs, ...(what === "outages" && { nodes: () => [transport] }) };
      let { stop } = await stage.running(parts);
      const lease = await stage.leased(1n, wish);
      for (let passedMs = 0; passedMs < 2 * longMs; passedMs += everyMs) {
        await stage.pass(everyMs);
        if (what === "restarts") {
          await stop();
          ({ stop } = await stage.running(parts));
        } else {
          transport.hangs = () => true;
          await stage.pass(10_000);
          transport.hangs = () => false;
        }
      }
      assert.equal(await closedBy(stage, lease), 10_003);
    });
  });
}

quickTest("time in which no provider runs does not count, nor time in which the cluster cannot be read", async (t) => {
  const longMs = 1.5 * resendGraceMs;
  await onManifestStage(t, async (stage) => {
    const first = await stage.running({ timeoutMs: longMs });
    const lease = await stage.leased(1n, wish);
    const subject = formatLeaseId(lease);
    const dueAtMs = () => first.journal.read.deadlines.get("manifest", subject)?.dueAtMs ?? 0;
    await stage.until("it is watched", () => dueAtMs() > 0);
    const before = dueAtMs();
    await first.stop();
    await stage.pass(2 * longMs);
    const { journal, manifests } = await stage.running({ timeoutMs: longMs });
    const dueNowMs = () => (journal.read.deadlines.get("manifest", subject)?.dueAtMs ?? 0) - before;
    await stage.until("its deadline is later", () => dueNowMs() >= 2 * longMs);
    stage.cluster.error = "its API server is away";
    await assert.rejects(manifests.submit(deploymentOf(lease), bodyOf(wish.manifest)), { code: "AKP_CLUSTER_UNKNOWN" });
    await stage.pass(3 * longMs);
    stage.cluster.error = undefined;
    await stage.until("its deadline is later again", () => dueNowMs() >= 4.5 * longMs);
    await stage.pass(longMs / 2);
    assert.equal(await closedBy(stage, lease), undefined);
    await untilClosed(stage, lease);
  });
});

quickTest(
  "a tenant rejected because the cluster was unknown gets time to send the manifest again, however late that is",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      const { manifests } = await stage.running({ timeoutMs });
      const lease = await stage.leased(1n, wish);
      const send = () => manifests.submit(deploymentOf(lease), bodyOf(wish.manifest));
      // No look at a lease between its beginning and its deadline, unless its tenant sends a manifest.
      stage.cluster.error = "its API server is away";
      await assert.rejects(send, { code: "AKP_CLUSTER_UNKNOWN" });
      await stage.pass(timeoutMs - 3_000);
      stage.cluster.error = undefined;
      await stage.pass(timeoutMs - 3_000);
      assert.equal(await closedBy(stage, lease), undefined);
      assert.equal((await send()).changed.length, 1);
      await stage.pass(2 * timeoutMs);
      assert.equal(await closedBy(stage, lease), undefined);
    });
  },
);

quickTest(
  "a lease whose namespace is there is not closed, although journal and Manifest resource are lost",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      const { journal } = await stage.running({ timeoutMs });
      const lease = await stage.leased(1n, wish);
      stage.cluster.namespaces.add(formatLeaseId(lease));
      await stage.pass(2 * timeoutMs);
      assert.deepEqual([await closedBy(stage, lease), journal.read.intents.owed()], [undefined, 0]);
    });
  },
);

quickTest(
  "a journal that was lost is rebuilt from what the cluster says was sent, and one from last week brought up to date",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      const next = webWish({ image: "web:2" });
      const first = await stage.running({ timeoutMs });
      const [running, withdrawn] = [await stage.leased(1n, wish), await stage.leased(2n, wish)];
      const key = formatLeaseId(running);
      await first.manifests.submit(deploymentOf(running), bodyOf(wish.manifest));
      await first.manifests.submit(deploymentOf(withdrawn), bodyOf(wish.manifest));
      await first.stop();
      const [file, backup] = [join(stage.dir, "journal.db"), join(stage.dir, "..", "backup.db")];
      copyFileSync(file, backup);
      const second = await stage.running({ timeoutMs });
      await stage.update(deploymentOf(running), manifestHash(next.manifest));
      await second.manifests.submit(deploymentOf(running), bodyOf(next.manifest));
      await second.manifests.withdraw(deploymentOf(withdrawn));
      for (const lease of [running, withdrawn]) {
        const sent = second.manifests.manifestOf(lease);
        if (sent) stage.cluster.records.set(formatLeaseId(lease), sent);
      }
      await second.stop();
      for (const age of ["lost", "last week's"]) {
        for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
        if (age === "last week's") copyFileSync(backup, file);
        const { manifests, journal, stop } = await stage.running({ timeoutMs });
        await stage.until(`${age} is restored`, () => manifests.manifestOf(withdrawn)?.withdrawnAtMs !== undefined);
        await stage.pass(timeoutMs + 10_000);
        const row = journal.read.manifests.get(key);
        assert.equal(row?.version, versionOf(next.manifest), age);
        assert.deepEqual(row?.deployed, { version: row?.version, body: row?.body });
        assert.deepEqual([await closedBy(stage, running), await closedBy(stage, withdrawn)], [undefined, undefined]);
        assert.deepEqual([...journal.read.deadlines.subjects("manifest")], []);
        assert.equal(journal.read.intents.owed(), 0);
        await stop();
      }
    });
  },
);

quickTest(
  "a newer manifest applied to the cluster by others is adopted soon, and the lease waits for that",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      const { manifests } = await stage.running({ timeoutMs });
      const lease = await stage.leased(1n, wish);
      await manifests.submit(deploymentOf(lease), bodyOf(wish.manifest));
      const sent = manifests.manifestOf(lease);
      assert.ok(sent);
      await stage.pass(5_000);
      const receivedAtMs = sent.receivedAtMs + 3_600_000;
      stage.cluster.records.set(formatLeaseId(lease), { ...sent, receivedAtMs });
      await stage.pass(manifestRecheckMs);
      assert.equal(manifests.manifestOf(lease)?.receivedAtMs, receivedAtMs);
    });
  },
);

quickTest("what is sent before the loop has looked is not taken for older than what the cluster has", async (t) => {
  await onManifestStage(t, async (stage) => {
    const next = webWish({ image: "web:2" });
    const lease = await stage.leased(1n, wish);
    const [group] = wish.manifest;
    assert.ok(group);
    const found = { version: versionOf(wish.manifest), group, receivedAtMs: stage.clock.now() + 60_000 };
    stage.cluster.records.set(formatLeaseId(lease), found);
    await stage.update(deploymentOf(lease), manifestHash(next.manifest));
    const { manifests, journal } = await stage.running({ timeoutMs });
    await manifests.submit(deploymentOf(lease), bodyOf(next.manifest));
    await stage.pass(5_000);
    const row = journal.read.manifests.get(formatLeaseId(lease));
    assert.equal(row?.version, versionOf(next.manifest), "by the chain, whatever the clocks say");
    assert.equal(row?.deployed?.version, found.version, "and what runs is known");
  });
});

quickTest(
  "what came last is the newer one, also where the mirror is behind and where the clock was set back",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      const next = webWish({ image: "web:2" });
      const { manifests, journal, chain } = await stage.running({ timeoutMs });
      const lease = await stage.leased(1n, wish);
      const [id, key] = [deploymentOf(lease), formatLeaseId(lease)];
      const record = () => {
        const sent = manifests.manifestOf(lease);
        if (sent) stage.cluster.records.set(key, sent);
      };
      await stage.until("the mirror knows it", () => chain.mirror.lease(lease) !== undefined);
      await manifests.submit(id, bodyOf(wish.manifest));
      record();
      stage.clock.jump(-3_600_000);
      await manifests.withdraw(id);
      await stage.pass(3_000);
      assert.notEqual(manifests.manifestOf(lease)?.withdrawnAtMs, undefined);
      record();
      await stage.update(id, manifestHash(next.manifest));
      await manifests.submit(id, bodyOf(next.manifest));
      await stage.pass(3_000);
      assert.equal(journal.read.manifests.get(key)?.version, versionOf(next.manifest));
      assert.equal(journal.read.manifests.get(key)?.withdrawnAtMs, undefined);
    });
  },
);

quickTest("an attempt that came to nothing is made again after a pause", async (t) => {
  await onManifestStage(t, async (stage) => {
    const { chain, journal } = await stage.running({ timeoutMs });
    const lease = await stage.leased(1n, wish);
    const subject = formatLeaseId(lease);
    await stage.until("it is watched", () => journal.read.deadlines.get("manifest", subject) !== undefined);
    const message = closeBidMessage(lease, "manifest-timeout");
    await stage.pass(timeoutMs - 5_000);
    await journal.durable("test", ({ intents }) => {
      const id = intents.file(chain.outbox.intentOf({ subject, why: "a test", message, priority: "close" }));
      intents.settle(id, "failed");
    });
    const failedAtMs = stage.clock.now();
    await untilClosed(stage, lease);
    assert.ok(stage.clock.now() - failedAtMs >= leaseCloseRetryMs);
    assert.equal(journal.read.intents.about(subject).length, 2);
  });
});

quickTest(
  "a machine whose time of day is set hours ahead or back neither ends a tenant's time early nor keeps a lease for hours",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      let aheadMs = 0;
      const { chain, journal } = await stage.running({ timeoutMs, aheadMs: () => aheadMs });
      await stage.pass(timeoutMs);
      aheadMs = 5 * 3_600_000;
      const lease = await stage.leased(1n, wish);
      const subject = formatLeaseId(lease);
      await stage.until("it is watched", () => journal.read.deadlines.get("manifest", subject) !== undefined);
      await stage.pass(timeoutMs - 6_000);
      assert.deepEqual(journal.read.intents.about(subject), []);
      const message = closeBidMessage(lease, "manifest-timeout");
      await journal.durable("test", ({ intents }) => {
        const id = intents.file(chain.outbox.intentOf({ subject, why: "a test", message, priority: "close" }));
        intents.settle(id, "failed");
      });
      aheadMs = -5 * 3_600_000;
      await stage.pass(leaseCloseRetryMs + 30_000);
      assert.equal(await closedBy(stage, lease), 10_003);
    });
  },
);

test("a reclamation window is announced on timeout, and the reclaimer ends the lease", async (t) => {
  const windowNs = 3_600_000_000_000n;
  const play = async (stage: ManifestStage) => {
    const { journal } = await stage.running({ timeoutMs });
    const lease = await stage.lease(await stage.post(1n, wish, manifestHash(wish.manifest), windowNs), wish);
    await stage.until(
      "its tenant sees the reason",
      async () => (await stage.queries.lease(lease)).value?.state === "reclaiming",
    );
    // An hour has as many blocks and looks as all other tests here together.
    if (thorough) await stage.pass(3_700_000);
    assert.deepEqual(
      journal.read.intents.about(formatLeaseId(lease)).map(({ what }) => what),
      ["startReclaim"],
    );
  };
  await onManifestStage(t, play, { blockMs: 60_000 });
});

quickTest(
  "a manifest that came just in time spares its lease, also where the provider ended with the very write",
  async (t) => {
    await onManifestStage(t, async (stage) => {
      let isMortal = false;
      let isDead = false;
      const boundary: Boundary = {
        cross(_, point) {
          isDead ||= isMortal && point === "manifest commit:after";
          if (isDead) throw new SimulatedCrash(point);
        },
      };
      const first = await stage.running({ timeoutMs, boundary });
      const lease = await stage.leased(1n, wish);
      const subject = formatLeaseId(lease);
      await stage.until("it is watched", () => first.journal.read.deadlines.get("manifest", subject) !== undefined);
      const message = closeBidMessage(lease, "manifest-timeout");
      const why = "no manifest came in time";
      await first.journal.durable("test", ({ intents }) => {
        intents.file(first.chain.outbox.intentOf({ subject, why, message, priority: "close" }));
      });
      isMortal = true;
      await assert.rejects(first.manifests.submit(deploymentOf(lease), bodyOf(wish.manifest)), SimulatedCrash);
      await first.stop().catch(() => undefined);
      const { journal } = await stage.running({ timeoutMs });
      await stage.pass(timeoutMs);
      assert.equal(journal.read.manifests.get(subject)?.version, versionOf(wish.manifest));
      assert.equal(await closedBy(stage, lease), undefined);
      assert.equal(journal.read.intents.about(subject)[0]?.state, "cancelled");
    });
  },
);
