/** Leases on a real API server whose etcd is restored from a backup while the provider runs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { controlPlaneMissing, startControlPlane } from "../../lab/own-control-plane.ts";
import { createLeaseKeeper } from "../../src/cluster/leases/lease-loop.ts";
import { leaseDefaults } from "../../src/cluster/leases/lease-options.ts";
import { openJournal } from "../../src/journal/open.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { noOvercommit } from "../../src/market/fit.ts";
import { formatDeploymentId, formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { manifestHash } from "../../src/market/manifest.ts";
import { type Clock, realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import { shop } from "../support/stages/lease-keeper-stage.ts";
import { prepareKube } from "../support/stages/lease-stage.ts";
import { openReconciler } from "../support/stages/reconcile-stage.ts";
import { bidOf, chainOf, createWorld, leaseOf, orderKey } from "../support/stages/reservation-stage.ts";
import { hastyClock, openKube } from "./open-kube.ts";

/** New manifests are old by it, and its deadlines are short. */
const clock: Clock = { ...hastyClock(5), now: () => realClock.now() + 600_000 };
const restoredWithinMs = 60_000;

async function stage(owner: Owner, kubeconfig: string) {
  const kube = openKube(owner, kubeconfig, { clock });
  await prepareKube(kube);
  const world = createWorld();
  const { chain } = chainOf(world);
  const { journal } = await openJournal({ dir: temporaryFolder(owner), clock: realClock, log: silentLog });
  owner.after(() => journal.close());
  const options = { ...leaseDefaults, overcommit: noOvercommit };
  const deps = { clock, random: realRandom, log: silentLog, onChange: () => undefined };
  const keeper = createLeaseKeeper({ chain, journal, kube, options, ...deps });
  const reconciler = openReconciler({ world, clock: clock as never }, { keeper, journal, kube } as never);
  const stopping = new AbortController();
  const tasks: Promise<void>[] = [];
  const task = (_: string, work: (signal: AbortSignal) => Promise<void>) =>
    void tasks.push(work(stopping.signal).catch(() => undefined));
  const cleanups: (() => Promise<void> | void)[] = [];
  keeper.open({ signal: stopping.signal, task, onStop: (cleanup) => void cleanups.push(cleanup) });
  task("reconcile", reconciler.run);
  owner.after(async () => {
    stopping.abort();
    await Promise.all(tasks);
    for (const cleanup of cleanups) await cleanup();
  });
  return { kube, world, journal, keeper, reconciler };
}

test("after a restore of etcd each lease converges to its desired state, and drift is reported", {
  skip: controlPlaneMissing(),
}, async (t) => {
  const plane = await startControlPlane(t, { controllers: true });
  const { kube, world, journal, keeper, reconciler } = await stage(t, plane.kubeconfig);
  async function send(lease: LeaseId, page: string): Promise<void> {
    const { groups, manifest } = shop({ persistent: false, page, host: `shop-${lease.dseq}.example.com` });
    const deployment = { groups: groups.map((spec, at) => ({ id: { ...lease, gseq: at + 1 }, spec })) };
    world.deployments.set(formatDeploymentId(lease), deployment as never);
    world.leases.set(formatLeaseId(lease), leaseOf(orderKey(Number(lease.dseq))));
    const [leaseId, version] = [formatLeaseId(lease), Buffer.from(manifestHash(manifest)).toString("hex")];
    const body = JSON.stringify([manifest[0]]);
    await journal.durable("manifest", ({ manifests }) => manifests.put({ leaseId, version, body }));
    keeper.wake(leaseId);
  }
  const pageOf = (lease: LeaseId) =>
    kube.get(kinds.deployment, { namespace: leaseNamespace(lease), name: "page" }) as Promise<Page | undefined>;
  const imageOf = async (lease: LeaseId) => (await pageOf(lease))?.spec.template.spec.containers[0]?.image;
  const isGone = async (lease: LeaseId) => !(await kube.get(kinds.namespace, { name: leaseNamespace(lease) }));
  // The controllers that take it away may not have noticed themselves; they are to be restarted after a restore.
  const isGoing = async (lease: LeaseId) => {
    const namespace = await kube.get(kinds.namespace, { name: leaseNamespace(lease) });
    return !namespace || namespace.metadata.deletionTimestamp !== undefined;
  };
  const [kept, closed, updated, opened] = [1, 2, 3, 4].map((dseq) => bidOf(orderKey(dseq)));
  assert.ok(kept && closed && updated && opened);

  for (const lease of [kept, closed, updated]) await send(lease, "page:1");
  for (const lease of [kept, closed, updated])
    await eventually("it is deployed", async () => (await imageOf(lease)) === "page:1", restoredWithinMs);
  const before = (await pageOf(kept))?.metadata;
  const restore = await plane.backUp();
  world.leases.set(formatLeaseId(closed), { ...leaseOf(orderKey(2), "closed"), closedOn: 9n });
  keeper.wake(formatLeaseId(closed));
  await send(updated, "page:2");
  await send(opened, "page:1");
  await eventually(
    "all of it came",
    async () => {
      const images = await Promise.all([updated, opened].map(imageOf));
      return images.join() === "page:2,page:1" && isGone(closed);
    },
    restoredWithinMs,
  );
  await restore();
  // Its versions may be past ours before the watches reconnect: then only the reconciler detects the restore.
  const found = await reconciler.reconcile({ dryRun: false }, new AbortController().signal);
  assert.ok(found.drifts.length > 0);
  await eventually(
    "each is what it should be",
    async () => {
      const images = await Promise.all([updated, opened].map(imageOf));
      return images.join() === "page:2,page:1" && isGoing(closed);
    },
    restoredWithinMs,
  );
  const after = (await pageOf(kept))?.metadata;
  assert.deepEqual([after?.uid, after?.generation], [before?.uid, before?.generation]);
  const lines = await eventually(
    "drift is reported",
    () => {
      const lines = journal.read.history.recent(50).filter(({ kind }) => kind === "reconcile");
      return lines.length > 0 && lines.map(({ line }) => line);
    },
    restoredWithinMs,
  );
  assert.ok(
    lines.some((line) => /cluster-restored|cache-differs/.test(line)),
    lines.join("\n"),
  );
});

interface Page {
  readonly metadata: { readonly uid?: string; readonly generation?: number };
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
}
