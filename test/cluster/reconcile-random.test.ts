/** Any mixture of what chain, cluster and journal have of leases: in the end they agree, or what differs is told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { reconcileUnderWayMs } from "../../src/cluster/leases/reconcile/drift.ts";
import { reconcileConfirmMs } from "../../src/cluster/leases/reconcile/reconciler.ts";
import { kubeStaleMs } from "../../src/kube/client/list-watch.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { leaseLabels } from "../../src/kube/objects/lease-labels.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { memoryFolder } from "../support/folder.ts";
import { createOwner } from "../support/owner.ts";
import { runs } from "../support/runs.ts";
import { leaseStage, shop } from "../support/stages/lease-keeper-stage.ts";
import { openReconciler } from "../support/stages/reconcile-stage.ts";
import { tenant } from "../support/stages/reservation-stage.ts";

/** What becomes of a lease that runs in all three. */
const fate = fc.record({
  chain: fc.constantFrom("active", "closed", undefined),
  namespace: fc.boolean(),
  resource: fc.boolean(),
  row: fc.boolean(),
  /** Whether anybody is told what happened on the chain. */
  isTold: fc.boolean(),
});
type Fate = typeof fate extends fc.Arbitrary<infer T> ? T : never;

const world = fc.record({ fates: fc.array(fate, { minLength: 1, maxLength: 4 }), isDeaf: fc.boolean() });

/** Kinds of drift that nobody can do anything about, by what is there of a lease. */
function expectedDrift({ chain, namespace, resource, row }: Fate): string | undefined {
  if (chain === "closed") return undefined;
  if (chain === "active") {
    if (row) return undefined;
    // The manifest service, which is not here, takes it up.
    return resource ? "manifest-behind" : namespace ? "manifest-missing" : undefined;
  }
  return namespace ? "namespace-unknown" : resource ? "resource-unknown" : row ? "manifest-unknown" : undefined;
}

async function play(dir: string, { fates, isDeaf }: typeof world extends fc.Arbitrary<infer T> ? T : never) {
  await using owner = createOwner();
  const stage = await leaseStage(owner, { dir });
  const { clock, cluster } = stage;
  const { server } = cluster;
  const life = await stage.start();
  const sdl = (at: number) => shop({ persistent: false, host: `shop-${at}.example.com` });
  const leases = fates.map((_, at) => stage.won(at + 1, sdl(at)));
  for (const [at, lease] of leases.entries()) await life.send(lease, sdl(at).manifest);
  await stage.until("all run", () => leases.every((lease) => stage.pods(lease).length === 2));
  const others: LeaseId = { ...(leases[0] ?? assert.fail()), provider: tenant };
  const stray = { name: leaseNamespace(others), labels: leaseLabels(others) };
  server.create(kinds.namespace, { metadata: stray }, "somebody");
  await clock.advance(reconcileUnderWayMs);

  const at = (lease: LeaseId) => ({ name: leaseNamespace(lease) });
  const uidOf = (lease: LeaseId) => server.get(kinds.namespace, at(lease))?.metadata.uid;
  const uids = leases.map(uidOf);
  if (isDeaf) cluster.faults.silenceWatches();
  for (const [n, { chain, namespace, resource, row }] of fates.entries()) {
    const lease = leases[n] ?? assert.fail();
    stage.becomes(lease, chain);
    const key = formatLeaseId(lease);
    if (!row)
      await Promise.all([life.journal.durable("lost", ({ manifests }) => manifests.remove(key)), clock.settle()]);
    if (!resource) server.delete(kinds.manifest, { ...at(lease), namespace: "lease" });
    if (!namespace) server.delete(kinds.namespace, at(lease));
  }
  for (const [n, { isTold }] of fates.entries()) if (isTold) await life.step(leases[n] ?? assert.fail());

  const { reconcile } = openReconciler(stage, life);
  const { signal } = new AbortController();
  const report = async (dryRun: boolean) => {
    const [told] = await Promise.all([reconcile({ dryRun }, signal), clock.advance(2 * reconcileConfirmMs)]);
    return told.drifts.map(({ kind, subject }) => `${kind} ${subject}`).sort();
  };
  for (let times = 0; times < 3; times += 1) {
    await report(false);
    await clock.advance(kubeStaleMs);
  }
  const expected = fates.flatMap((each, n) => {
    const kind = expectedDrift(each);
    return kind === undefined ? [] : [`${kind} ${formatLeaseId(leases[n] ?? assert.fail())}`];
  });
  assert.deepEqual(await report(true), [`namespace-foreign ${stray.name}`, ...expected].sort());
  for (const [n, each] of fates.entries()) {
    const lease = leases[n] ?? assert.fail();
    const what = JSON.stringify(each);
    if (each.chain === "closed") assert.equal(uidOf(lease), undefined, what);
    else if (each.namespace) assert.equal(uidOf(lease), uids[n], `nothing proves that it may go: ${what}`);
    if (each.chain === "active" && each.row) assert.equal(stage.pods(lease).length, 2, what);
    if (each.chain === "closed") assert.equal(life.journal.read.manifests.get(formatLeaseId(lease)), undefined, what);
  }
  assert.ok(server.get(kinds.namespace, { name: stray.name }));
}

test("chain, cluster and journal agree in the end or the drift is reported; without proof nothing goes", async (t) => {
  const property = fc.asyncProperty(world, (given) => play(memoryFolder(t), given));
  await fc.assert(property, { numRuns: runs(4, 80), endOnFailure: true });
});
