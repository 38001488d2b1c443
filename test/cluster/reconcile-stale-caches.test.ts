/** What we believe of chain and cluster, and is not so: caches that lie, a mirror that has missed something. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { driftConditions } from "../../src/cluster/conditions.ts";
import { reconcileUnderWayMs } from "../../src/cluster/leases/reconcile/drift.ts";
import type { Report } from "../../src/cluster/leases/reconcile/reconciler.ts";
import { reconcileConfirmMs, reconcileEveryMs } from "../../src/cluster/leases/reconcile/reconciler.ts";
import { reconcileListMs } from "../../src/cluster/leases/reconcile/snapshot.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { memoryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import { leaseStage, shop } from "../support/stages/lease-keeper-stage.ts";
import { openReconciler } from "../support/stages/reconcile-stage.ts";

const sdl = shop({ persistent: false });

async function openStage(owner: Owner) {
  const stage = await leaseStage(owner, { dir: memoryFolder(owner) });
  const life = await stage.start();
  const { clock } = stage;
  return {
    ...{ stage, life, clock },
    async deployed(dseq: number): Promise<LeaseId> {
      const lease = stage.won(dseq, sdl);
      await life.send(lease, sdl.manifest);
      await stage.until("it runs", () => stage.pods(lease).length === 2);
      await clock.advance(reconcileUnderWayMs);
      return lease;
    },
    /** With the time that it takes. */
    async report({ reconcile }: ReturnType<typeof openReconciler>): Promise<Report> {
      const asked = reconcile({ dryRun: false }, new AbortController().signal);
      const [report] = await Promise.all([asked, clock.advance(2 * reconcileConfirmMs)]);
      return report;
    },
  };
}

const kindsOf = ({ drifts }: Report) => drifts.map(({ kind }) => kind).sort();

test("a deaf cache is listed again, and what is missing is made", async (t) => {
  const { stage, life, deployed, report } = await openStage(t);
  const lease = await deployed(1);
  const { server, faults } = stage.cluster;
  const at = { name: leaseNamespace(lease) };
  faults.silenceWatches();
  server.delete(kinds.namespace, at);
  await stage.clock.advance(1_000);
  assert.equal(server.get(kinds.namespace, at), undefined);
  const reconciler = openReconciler(stage, life);
  assert.deepEqual(kindsOf(await report(reconciler)), ["cache-differs", "namespace-missing"]);
  await stage.until("it is made again", () => stage.pods(lease).length === 2, 2 * reconcileConfirmMs);
  assert.deepEqual(kindsOf(await report(reconciler)), []);
});

test("a server that went back and is past our versions by the time we listen again is found out by reconcile", async (t) => {
  const { stage, life, deployed, report, clock } = await openStage(t);
  const { server, faults } = stage.cluster;
  const version = () => {
    server.delete(kinds.configMap, { name: "version", namespace: "lease" });
    const made = server.create(kinds.configMap, { metadata: { name: "version", namespace: "lease" } }, "test");
    return Number(made.metadata.resourceVersion);
  };
  const kept = await deployed(1);
  const snapshot = version();
  const lost = await deployed(2);
  const now = version();
  faults.goBack(now - snapshot);
  while (version() <= now);
  await clock.advance(1_000);
  assert.ok(life.keeper.live.namespace(leaseNamespace(lost)), "the cache has not noticed");
  const reconciler = openReconciler(stage, life);
  assert.deepEqual(kindsOf(await report(reconciler)), ["cache-differs", "cache-differs", "namespace-missing"]);
  await stage.until("it is made again", () => stage.pods(lost).length === 2);
  assert.deepEqual(kindsOf(await report(reconciler)), []);
  assert.equal(stage.pods(kept).length, 2);
});

test("a lease that the mirror has missed is found, and deployed once the mirror was built anew", async (t) => {
  const { stage, life, clock, report } = await openStage(t);
  const lease = stage.won(1, sdl);
  await life.send(lease, sdl.manifest);
  const key = formatLeaseId(lease);
  const missed = stage.world.leases.get(key) ?? assert.fail();
  stage.becomes(lease, undefined);
  await clock.advance(reconcileUnderWayMs);
  const reconciler = openReconciler(stage, life, [missed]);
  assert.deepEqual(kindsOf(await report(reconciler)), ["mirror-differs", "namespace-missing"]);
  await stage.until("it runs", () => stage.pods(lease).length === 2);
  assert.deepEqual(kindsOf(await report(reconciler)), []);
});

test("while the cluster does not answer nothing is compared; that is reported, and made up for afterwards", async (t) => {
  const { stage, life, deployed, clock } = await openStage(t);
  const lease = await deployed(1);
  const { faults } = stage.cluster;
  const reconciler = openReconciler(stage, life);
  const stopping = new AbortController();
  const running = reconciler.run(stopping.signal);
  await clock.advance(reconcileEveryMs);
  assert.deepEqual(reconciler.last?.drifts, []);
  faults.reject({ status: 503, verb: "list", times: Number.POSITIVE_INFINITY });
  await clock.advance(reconcileEveryMs + reconcileListMs);
  assert.deepEqual(
    driftConditions(reconciler).map(({ type }) => type),
    ["ReconcileSkipped"],
  );
  assert.equal(stage.pods(lease).length, 2);
  faults.clear();
  await clock.advance(reconcileEveryMs);
  assert.deepEqual(driftConditions(reconciler), []);
  stopping.abort();
  await running;
});
