/** When a report is made and what is in it, on answers that a test gives. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bidOf, orderKey, provider } from "../../../../test/support/stages/reservation-stage.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { leaseLabels } from "../../../kube/objects/lease-labels.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { silentLog } from "../../../runtime/log.ts";
import { reconcileUnderWayMs } from "./drift.ts";
import { createReconciler, reconcileConfirmMs, reconcileEveryMs } from "./reconciler.ts";

function namespaceOf(dseq: number): KubeObject {
  const lease = bidOf(orderKey(dseq));
  return { metadata: { name: leaseNamespace(lease), uid: `${dseq}`, labels: leaseLabels(lease) } };
}

/** No lease runs; `isSilent`: the chain does not answer. */
function open() {
  const clock = createVirtualClock();
  const world = {
    isSilent: false,
    isBuilt: true,
    running: [] as object[],
    isMirrorSilent: false,
    restored: (): void => undefined,
    looks: 0,
    relists: 0,
    listed: (): KubeObject[] => [],
    cached: (): KubeObject[] => [],
    mirrored: [] as { id: ReturnType<typeof bidOf>; state: string }[],
  };
  const answer = <T>(value: T, isSilent = world.isSilent) => {
    if (isSilent) throw new Error("no answer");
    return { value, items: [], height: 10n, node: "test", steady: true };
  };
  const reconciler = createReconciler({
    chain: {
      ...{ provider, status: { blockTimeMs: 6_000 } },
      mirror: {
        get ready() {
          return world.isBuilt;
        },
        height: 10n,
        leases: () => world.mirrored.values(),
        lease: () => undefined,
        bid: () => undefined,
        deployment: () => undefined,
      },
      queries: {
        leases: async ({ state }: { state: string }) => ({
          ...answer(undefined),
          items: state === "active" ? world.running : [],
        }),
        lease: async () => answer(undefined),
      },
      compareMirror: async () => answer(undefined, world.isMirrorSilent),
    },
    journal: {
      read: {
        manifests: { heads: () => [] },
        deadlines: { subjects: () => [] },
        reservations: { orderIds: () => [] },
        intents: { about: () => [] },
      },
      relaxed: async () => undefined,
    },
    kube: {
      async list(kind: unknown) {
        if (kind !== kinds.namespace) return [];
        world.looks += 1;
        return world.listed();
      },
    },
    leases: {
      live: {
        namespaces: () => world.cached().map(({ metadata }) => metadata),
        manifests: () => [],
        onRestored: (listener: () => void) => {
          world.restored = listener;
        },
        relist: () => {
          world.relists += 1;
        },
      },
      wake: () => undefined,
      error: undefined,
    },
    capacity: { book: { all: () => [] }, wake: () => undefined },
    ...{ manifestNamespace: "lease", clock, log: silentLog, onChange: () => undefined },
  } as unknown as Parameters<typeof createReconciler>[0]);
  return { clock, world, reconciler, driftKinds: () => reconciler.last?.drifts.map(({ kind }) => kind) };
}

test("a restored cluster is reported once, when the chain answers", async () => {
  const { clock, world, reconciler, driftKinds } = open();
  const stop = new AbortController();
  const running = reconciler.run(stop.signal);
  await clock.settle();
  world.isSilent = true;
  world.restored();
  await clock.advance(2 * reconcileUnderWayMs);
  assert.equal(driftKinds(), undefined);
  world.isSilent = false;
  await clock.advance(2 * reconcileConfirmMs);
  assert.deepEqual(driftKinds(), ["cluster-restored"]);
  world.looks = 0;
  await clock.advance(2 * reconcileEveryMs);
  assert.ok(world.looks <= 3, `${world.looks} looks`);
  assert.deepEqual(driftKinds(), []);
  stop.abort();
  await running;
});

test("a cache is not said to be wrong because something else was made at each look", async () => {
  const { clock, world, reconciler } = open();
  let made = 0;
  // Of a namespace that is made after the server has listed them, the cache hears before it is read.
  const namespaces = () => Array.from({ length: made }, (_, at) => namespaceOf(at + 1));
  world.listed = () => {
    const listed = namespaces();
    made += 1;
    return listed;
  };
  world.cached = namespaces;
  const reconciling = reconciler.reconcile({ dryRun: false }, new AbortController().signal);
  await clock.advance(reconcileConfirmMs);
  const { drifts } = await reconciling;
  assert.deepEqual(
    drifts.filter(({ kind }) => kind === "cache-differs"),
    [],
  );
  assert.equal(world.relists, 0);
});

test("a mirror that cannot be compared now makes no report undone", async () => {
  const { clock, world, reconciler, driftKinds } = open();
  world.mirrored = [{ id: bidOf(orderKey(1)), state: "active" }];
  world.isMirrorSilent = true;
  const stop = new AbortController();
  const running = reconciler.run(stop.signal);
  await clock.advance(reconcileEveryMs + reconcileConfirmMs);
  assert.deepEqual(driftKinds(), ["mirror-differs"]);
  assert.equal(reconciler.skipped, undefined);
  stop.abort();
  await running;
});

test("a mirror that is not built yet → AKP_CLUSTER_UNKNOWN", async () => {
  const { world, clock, reconciler } = open();
  world.isBuilt = false;
  world.running = [{ id: bidOf(orderKey(1)), state: "active", createdAt: -1_000n }];
  const reconciling = reconciler.reconcile({ dryRun: false }, new AbortController().signal);
  const rejected = assert.rejects(reconciling, { code: "AKP_CLUSTER_UNKNOWN" });
  await clock.advance(reconcileConfirmMs);
  await rejected;
});
