/** When a lease that does not work is closed, and when it is not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Behaviour } from "../../src/box/cluster/components/kubelet/behaviour.ts";
import { healthCheckMs } from "../../src/cluster/health/circuit-breaker.ts";
import { healthMirrorMs } from "../../src/cluster/health/health-keeper.ts";
import { healthConfirmMs, healthSaveMs, steadyMs, unhealthyLimitMs } from "../../src/cluster/health/monitoring.ts";
import { leaseDefaults } from "../../src/cluster/leases/lease-options.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import type { Boundary } from "../../src/runtime/boundary.ts";
import { leaseCloseRetryMs } from "../../src/runtime/limits.ts";
import { createCountingBoundary } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import { memoryFolder } from "../support/folder.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { runs } from "../support/runs.ts";
import { type Life, leaseStage, shop } from "../support/stages/lease-keeper-stage.ts";
import { quickTest } from "../support/thorough.ts";

/** Shorter than the network's, so that less time has to pass: 60 s. */
const monitor = { maxRetries: 4, retryPeriodMs: 10_000, retryJitterMs: 10_000 };
const limitMs = unhealthyLimitMs(monitor);
/** Longer than that by far, and half an hour where there is time for it. */
const longMs = runs(2, 30) * 60_000;
const sick = shop({ page: "sick:1" });

/** A lease whose page never comes up, or does what `cure` says, and whose store works. */
async function start(owner: Owner, { dir = memoryFolder(owner), sdl = sick } = {}) {
  const ills: { page: Behaviour } = { page: { missing: true } };
  const behaviour = (image: string) => (image.startsWith("sick") ? ills.page : undefined);
  const stage = await leaseStage(owner, { dir, behaviour });
  const lease = stage.won(1, sdl);
  const life = await stage.start({ monitor });
  await life.send(lease, sdl.manifest);
  await stage.until("its store runs", () => stage.pods(lease).length >= 1);
  return { ...acts(stage.clock, lease), stage, lease, life, ills };
}

type Clock = Awaited<ReturnType<typeof leaseStage>>["clock"];

function acts({ advance }: Clock, lease: LeaseId) {
  const key = formatLeaseId(lease);
  return {
    key,
    pass: (ms: number) => advance(ms),
    endings: ({ journal }: Life) => journal.read.intents.about(key).map(({ what, why }) => `${what}: ${why}`),
    observedMs: ({ journal }: Life) => journal.read.unhealth.get(key)?.observedMs,
    stateOf: ({ health }: Life) => health?.get(key)?.state,
    reasons: ({ health }: Life) => health?.get(key)?.troubles.map(({ service, reason }) => `${service} ${reason}`),
  };
}

quickTest("the defaults are those of the network's chart: 2,304 × (30 s + half of 15 s), a day", () => {
  assert.equal(unhealthyLimitMs(leaseDefaults.monitor), 86_400_000);
  assert.equal(unhealthyLimitMs({ ...monitor, maxRetries: 0 }), Number.POSITIVE_INFINITY);
});

quickTest(
  "a lease that never works is closed once, when that was seen for long enough, with the reason in its history",
  async (t) => {
    const { life, key, pass, endings, reasons } = await start(t);
    assert.deepEqual(reasons(life), ["page ImageError"]);
    await pass(limitMs - 20_000);
    assert.deepEqual(endings(life), []);
    await pass(20_000 + healthSaveMs);
    assert.match(endings(life).join(), /^closeBid: unhealthy for 6\d s$/);
    const [line] = life.journal.read.history.about(key, 1);
    assert.match(
      line?.line ?? "",
      /^closeBid filed: unhealthy for .* s: page: ImageError: image "sick:1" cannot be pulled: /,
    );
    await pass(limitMs / 2);
    assert.equal(endings(life).length, 1);
  },
);

quickTest("a close that failed is tried again after a pause", async (t) => {
  const { life, key, pass, endings } = await start(t);
  await pass(limitMs + healthSaveMs);
  const [first] = life.journal.read.intents.about(key);
  assert.ok(first);
  await Promise.all([
    life.journal.durable("settled", ({ intents }) => intents.settle(first.id, "failed")),
    pass(leaseCloseRetryMs - 30_000),
  ]);
  assert.equal(endings(life).length, 1);
  await pass(2 * leaseCloseRetryMs);
  assert.equal(endings(life).length, 2);
});

quickTest("once it has worked for a while, all is forgotten", async (t) => {
  const { life, stage, key, ills, pass, observedMs, stateOf } = await start(t);
  await pass(limitMs / 2);
  assert.ok((observedMs(life) ?? 0) >= limitMs / 2 - healthSaveMs);
  // It comes up when it is next pulled, and goes down again some time later.
  ills.page = { exitAfterMs: 30_000, exitCode: 1 };
  await stage.until("it is well", () => stateOf(life) === "healthy", 400_000);
  await pass(steadyMs(monitor) + healthCheckMs);
  assert.equal(life.journal.read.unhealth.get(key), undefined);
  await stage.until("it is unhealthy again", () => stateOf(life) === "unhealthy");
  assert.ok((life.health?.unhealthy(key)?.observedMs ?? limitMs) <= 1_000);
});

quickTest("what is up for a second between two crashes does not work, and is closed", async (t) => {
  const { life, ills, key, pass, endings } = await start(t);
  ills.page = { exitAfterMs: 1_000, exitCode: 1 };
  await pass(400_000);
  assert.equal(endings(life).length, 1);
  assert.match(
    life.journal.read.history.about(key, 1)[0]?.line ?? "",
    /page: CrashLoop: it ends by itself, with exit code 1, /,
  );
});

quickTest("what its tenant has put right gets as much time as it had at first", async (t) => {
  const { life, stage, lease, ills, pass, endings, stateOf } = await start(t);
  await pass(limitMs - 15_000);
  ills.page = { pullMs: 45_000 };
  await life.send(lease, shop({ page: "sick:2" }).manifest);
  await stage.until("it is well", () => stateOf(life) === "healthy");
  assert.deepEqual(endings(life), []);
});

quickTest("what starts or is replaced one by one takes its time, and a lease that gets on is not closed", async (t) => {
  const behaviour = (image: string) => (image.startsWith("store") ? { startMs: 25_000 } : undefined);
  const stage = await leaseStage(t, { dir: memoryFolder(t), behaviour });
  const lease = stage.won(1, shop({ stores: 4 }));
  const { endings, stateOf } = acts(stage.clock, lease);
  const life = await stage.start({ monitor });
  for (const store of ["store:1", "store:2"]) {
    await life.send(lease, shop({ store, stores: 4 }).manifest);
    await stage.until("it is not well", () => stateOf(life) === "unhealthy");
    await stage.until("it is well", () => stateOf(life) === "healthy", 4 * limitMs);
  }
  assert.deepEqual(endings(life), []);
});

quickTest("one that gets on now and then is closed for another that never does", async (t) => {
  const behaviour = (image: string) =>
    image.startsWith("store") ? { missing: true } : { exitAfterMs: 20_000, exitCode: 1 };
  const stage = await leaseStage(t, { dir: memoryFolder(t), behaviour });
  const lease = stage.won(1);
  const { endings, pass } = acts(stage.clock, lease);
  const life = await stage.start({ monitor });
  await life.send(lease, shop().manifest);
  await pass(3 * limitMs);
  assert.equal(endings(life).length, 1);
});

quickTest(
  "what nobody could see is not held against a lease: without a server, a chain or its node, and while we are away",
  async (t) => {
    const { life, stage, key, pass, endings, reasons } = await start(t);
    const { faults, nodes } = stage.cluster;
    await pass(limitMs / 2);
    const seenMs = () => life.health?.unhealthy(key)?.observedMs ?? Number.NaN;
    async function without(what: string, begin: () => void, end: () => void): Promise<void> {
      const before = seenMs();
      begin();
      await pass(longMs);
      assert.ok(seenMs() - before <= healthCheckMs, `${what}: ${seenMs() - before} ms`);
      end();
      await pass(5_000);
      assert.deepEqual(endings(life), [], what);
    }
    const refuseAll = () => {
      faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
      faults.cutWatches();
    };
    await without("no server", refuseAll, faults.clear);
    await without(
      "an old mirror",
      () => Object.assign(stage, { mirrorAgeMs: 2 * healthMirrorMs }),
      () => Object.assign(stage, { mirrorAgeMs: 0 }),
    );
    await without(
      "no node",
      () => nodes.notReady("one"),
      () => nodes.ready("one"),
    );
    const before = seenMs();
    await life.stop();
    await pass(longMs);
    const next = await stage.start({ monitor });
    await pass(10_000);
    assert.deepEqual(reasons(next), ["page ImageError"]);
    const afterMs = (next.health?.unhealthy(key)?.observedMs ?? 0) - before;
    assert.ok(afterMs > 0 && afterMs <= 10_000, `${afterMs} ms`);
  },
);

quickTest("watches that turn out to be dead take back what was counted by them", async (t) => {
  const { life, stage, key, pass } = await start(t);
  await pass(60_000);
  const before = life.health?.unhealthy(key)?.observedMs ?? 0;
  stage.cluster.faults.silenceWatches();
  stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
  await pass(longMs);
  assert.ok((life.health?.unhealthy(key)?.observedMs ?? 0) - before <= healthCheckMs);
});

quickTest(
  "a cluster that takes no writes shows what was: nothing is closed by it, nor as soon as it takes some again",
  async (t) => {
    const { life, stage, pass, endings } = await start(t);
    for (const verb of ["create", "patch", "update", "delete"] as const) {
      stage.cluster.faults.reject({ status: 500, verb, times: Number.POSITIVE_INFINITY });
    }
    await pass(longMs);
    assert.deepEqual(endings(life), []);
    stage.cluster.faults.clear();
    await pass(healthConfirmMs - 10_000);
    assert.deepEqual(endings(life), []);
    // The last try that failed had its own patience.
    await pass(5 * healthConfirmMs);
    assert.equal(endings(life).length, 1);
  },
);

quickTest("the tenant of a lease with a reclamation window is told, and it is not closed at once", async (t) => {
  const { life, stage, key, pass, endings } = await start(t);
  const lease = stage.world.leases.get(key);
  assert.ok(lease);
  stage.world.leases.set(key, { ...lease, reclamation: { windowNs: 10n ** 12n } as never });
  await pass(limitMs + healthSaveMs);
  assert.match(endings(life).join(), /^startReclaim: unhealthy for 6\d s$/);
});

quickTest(
  "a lease that is being reclaimed, is withdrawn, or waits for its manifest is not closed for its health",
  async (t) => {
    const { life, stage, lease, pass, endings, stateOf } = await start(t);
    await pass(limitMs / 2);
    stage.becomes(lease, "reclaiming");
    await life.step(lease);
    await pass(limitMs);
    stage.becomes(lease, "active");
    await life.withdraw(lease);
    await pass(limitMs);
    assert.equal(stateOf(life), undefined);
    assert.equal(life.journal.read.unhealth.get(formatLeaseId(lease)), undefined);
    assert.deepEqual(endings(life), []);
  },
);

quickTest("by what the server itself says it is well: it is not closed, whatever the caches show", async (t) => {
  const { life, stage, lease, ills, pass, endings } = await start(t);
  await pass(limitMs / 3);
  // Watches tell what was an hour ago; a list tells what is.
  stage.cluster.faults.lagWatches(3_600_000);
  ills.page = {};
  const pods = stage.cluster.server.list(kinds.pod, { namespace: leaseNamespace(lease) });
  for (const { metadata } of pods) {
    if (metadata.name.startsWith("page")) stage.cluster.server.delete(kinds.pod, metadata, { graceSeconds: 0 });
  }
  await pass(2 * limitMs);
  assert.deepEqual(endings(life), []);
});

quickTest("what its tenant sends while his lease is looked at for the last time is tried first", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t), behaviour: () => ({ missing: true }) });
  const lease = stage.won(1);
  const { key, endings, pass } = acts(stage.clock, lease);
  const send = async (version: string) => {
    const [group] = shop({ page: `page:${version}` }).manifest;
    const body = JSON.stringify([group]);
    await life.journal.durable("manifest", ({ manifests }) => manifests.put({ leaseId: key, version, body }));
  };
  let looks = 0;
  const plant = (sound: Kube): Kube => ({
    ...sound,
    async list(kind, options) {
      const found = await sound.list(kind, options);
      if (kind === kinds.pod && looks++ === 0) await send("bb");
      return found;
    },
  });
  const life = await stage.start({ monitor, plant });
  await life.send(lease, shop().manifest);
  await pass(limitMs + 2 * healthSaveMs);
  assert.ok(looks > 0);
  assert.deepEqual(endings(life), []);
});

quickTest(
  "a provider that is ended every minute closes a lease that never works all the same, after what it saw",
  async (t) => {
    const dir = memoryFolder(t);
    const { life: first, stage, pass, endings, observedMs } = await start(t, { dir });
    let life = first;
    let [lives, seenMs] = [1, 0];
    for (; lives <= 5 && endings(life).length === 0; lives++) {
      await pass(55_000);
      seenMs = observedMs(life) ?? 0;
      if (endings(life).length > 0) break;
      await life.stop();
      await pass(60_000);
      life = await stage.start({ monitor });
    }
    assert.equal(endings(life).length, 1);
    assert.ok(seenMs >= limitMs - healthSaveMs && seenMs < limitMs + 60_000, `${seenMs} ms in ${lives} lives`);
  },
);

test("a crash at any write around the close closes once", async (t) => {
  async function tell(crashAt: number) {
    await using owner = createOwner();
    const dir = memoryFolder(owner);
    const { stage, life: before, pass, endings } = await start(owner, { dir });
    await pass(limitMs - healthConfirmMs - 20_000);
    await before.stop();
    const counting = createCountingBoundary(crashAt);
    let isOpen = false;
    const boundary: Boundary = { cross: (kind, point) => isOpen && counting.cross(kind, point) };
    const life = await stage.start({ monitor, boundary });
    isOpen = true;
    await pass(2 * healthConfirmMs);
    await life.stop();
    const next = await stage.start({ monitor });
    await pass(3 * healthConfirmMs);
    return { crossings: counting.crossings, crashed: counting.crashed, closed: endings(next).length };
  }
  await playCrashes(t, "health-monitoring", {
    sample: { every: 11 },
    async whole() {
      const whole = await tell(0);
      assert.equal(whole.closed, 1);
      return whole;
    },
    async crash({ crashAt }) {
      const { crashed, closed } = await tell(crashAt);
      assert.ok(crashed);
      assert.equal(closed, 1);
    },
  });
});
