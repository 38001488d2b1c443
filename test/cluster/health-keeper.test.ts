/** How leases are seen to do, on a cluster where things happen to their pods and nodes, and what a whole provider makes of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Behaviour } from "../../src/box/cluster/components/kubelet/behaviour.ts";
import { closeReasons } from "../../src/chain/closing.ts";
import { healthStartingMs, type LeaseHealth } from "../../src/cluster/health/lease-health.ts";
import { leaseDefaults } from "../../src/cluster/leases/lease-options.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant } from "../support/lease-tenant.ts";
import type { Owner } from "../support/owner.ts";
import { cell } from "../support/samples/lease-sdl.ts";
import { leaseStage, shop } from "../support/stages/lease-keeper-stage.ts";
import { onLeaseStage } from "../support/stages/lease-stage.ts";

const { monitor } = leaseDefaults;

interface Options {
  /** What the page does. */
  readonly page?: Behaviour;
  readonly runtimeClass?: string;
}

async function start(owner: Owner, { page, runtimeClass }: Options = {}) {
  const behaviour = (image: string) => (image.startsWith("page") ? page : undefined);
  const stage = await leaseStage(owner, { dir: memoryFolder(owner), behaviour });
  const lease = stage.won(1);
  const key = formatLeaseId(lease);
  const life = await stage.start({ monitor, ...(runtimeClass !== undefined && { leases: { runtimeClass } }) });
  const told: (LeaseHealth["state"] | undefined)[] = [];
  life.health?.onChange((_, now, before) => {
    if (now?.state !== before?.state) told.push(now?.state);
  });
  await life.send(lease, shop().manifest);
  const troubles = () => life.health?.get(key)?.troubles.map(({ service, reason }) => `${service} ${reason}`) ?? [];
  const state = () => life.health?.get(key)?.state;
  return { stage, lease, key, life, told, troubles, state };
}

test("start, lost cluster, recovery and end of a lease are each reported once", async (t) => {
  const { stage, lease, life, told, state } = await start(t);
  await stage.until("healthy", () => state() === "healthy");
  stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
  stage.cluster.faults.cutWatches();
  await stage.until("unknown", () => state() === "unknown");
  stage.cluster.faults.clear();
  await stage.until("healthy again", () => state() === "healthy");
  await life.withdraw(lease);
  await stage.until("nothing to run", () => state() === undefined);
  assert.deepEqual(told, ["unhealthy", "healthy", "unknown", "healthy", undefined]);
});

test("crashes, out of memory and rejected pods have their own reasons", async (t) => {
  const alarms: number[] = [];
  const reasonOf = async (options: Options) => {
    const { stage, life, troubles } = await start(t, options);
    await stage.clock.advance(40_000);
    alarms.push([...(life.health?.alarms() ?? [])].length);
    return troubles().find((each) => each.startsWith("page"));
  };
  assert.equal(await reasonOf({ page: { exitAfterMs: 10, exitCode: 2 } }), "page CrashLoop");
  assert.equal(await reasonOf({ page: { exitAfterMs: 10, oom: true } }), "page OutOfMemory");
  assert.equal(await reasonOf({ page: { pullMs: 60_000 } }), "page NotReady");
  assert.equal(await reasonOf({ runtimeClass: "nowhere" }), "page NotCreated");
  assert.deepEqual(alarms, [1, 1, 0, 1], "what merely starts alarms nobody");
});

test("what alarms goes on alarming while the cluster is away, and nothing begins to", async (t) => {
  for (const [page, alarming] of [
    [{ exitAfterMs: 10, exitCode: 2 }, 1],
    [{ pullMs: 3_600_000 }, 0],
  ] as const) {
    const { stage, life, state } = await start(t, { page });
    await stage.clock.advance(20_000);
    const alarms = () => [...(life.health?.alarms() ?? [])].length;
    assert.equal(alarms(), alarming);
    stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
    stage.cluster.faults.cutWatches();
    await stage.until("unknown", () => state() === "unknown");
    await stage.clock.advance(2 * healthStartingMs);
    assert.deepEqual([state(), alarms()], ["unknown", alarming]);
    stage.cluster.faults.clear();
    await stage.until("known", () => state() === "unhealthy");
    assert.equal(alarms(), 1);
  }
});

test("a node that falls silent, is drained or comes back: the reason is right, no time is held against the lease, and it stays", async (t) => {
  const { stage, key, life, troubles, state } = await start(t);
  const { nodes } = stage.cluster;
  await stage.until("healthy", () => state() === "healthy");
  nodes.notReady("one");
  await stage.until("both are lost", () => troubles().length === 2);
  assert.deepEqual(troubles(), ["page NodeLost", "store NodeLost"]);
  nodes.ready("one");
  await stage.until("healthy again", () => state() === "healthy", 400_000);
  nodes.drain("one");
  await stage.until("both wait", () => troubles().includes("page Unschedulable"));
  assert.deepEqual(troubles(), ["page Unschedulable", "store VolumeNotBound"]);
  const { services = [] } = life.health?.get(key) ?? {};
  assert.deepEqual(
    services.map(({ name, unobserved }) => `${name} ${unobserved}`),
    ["page 1", "store 1"],
  );
  nodes.uncordon("one");
  await stage.until("it is as it was", () => state() === "healthy");
  assert.deepEqual(life.journal.read.intents.about(key), []);
});

test("a lease whose image is not there is closed on chain as unstable and torn down, one that works goes on", async (t) => {
  const monitor = { maxRetries: 4, retryPeriodMs: 10_000, retryJitterMs: 10_000 };
  await onLeaseStage({ dir: memoryFolder(t), monitor, blockMs: 3_000 }, async (stage) => {
    const life = stage.start();
    const { journal } = await life.services;
    const [works, starves] = [createTenant(stage, 1n), createTenant(stage, 2n)];
    const missing = cell("example.com/missing:1");
    await works.deploy(cell());
    await starves.post(missing);
    await starves.takeBid();
    await starves.sendManifest(missing);
    const key = formatLeaseId(starves.lease);
    await stage.until("its unhealthy time", () => (journal.read.unhealth.get(key)?.observedMs ?? 0) > 0);
    const { conditions = [], leaseHealth } = life.status().cluster ?? {};
    assert.deepEqual(leaseHealth, { healthy: 1, unhealthy: 1, unknown: 0 });
    assert.match(
      conditions.map(({ type, message }) => `${type} ${message}`).join("\n"),
      /^LeaseUnhealthy lease .*: cell: image "example.com\/missing:1" cannot be pulled: there is no such image or tag$/m,
    );
    await starves.isGone();
    const { value: lease } = await stage.queries.lease(starves.lease);
    assert.deepEqual([lease?.state, lease?.reason], ["closed", closeReasons.unstable]);
    assert.equal(journal.read.unhealth.get(key), undefined);
    assert.equal(journal.read.intents.about(key).filter(({ what }) => what === "closeBid").length, 1);
    assert.equal((await stage.queries.lease(works.lease)).value?.state, "active");
    assert.equal((await works.pods()).length, 1);
  });
});
