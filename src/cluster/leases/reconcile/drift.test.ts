import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bidOf, orderKey, provider, tenant } from "../../../../test/support/stages/reservation-stage.ts";
import type { Lease } from "../../../chain/records.ts";
import type { ManifestHead } from "../../../journal/manifests.ts";
import { formatLeaseId, type LeaseId } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { compare, reconcileStuckMs, reconcileUnderWayMs } from "./drift.ts";
import { leasesToAsk, type ReconcileSnapshot } from "./snapshot.ts";

type ListedNamespace = ReconcileSnapshot["namespaces"][number];
type RecordedNote = NonNullable<ReconcileSnapshot["resources"][number]["note"]>;
type Booked = NonNullable<ReturnType<ReconcileSnapshot["book"]["get"]>>;

const [nowMs, blockTimeMs, height] = [1_000_000_000, 6_000, 1_000n];
const order = orderKey(1);
const lease: LeaseId = bidOf(order);
const key = formatLeaseId(lease);
const name = leaseNamespace(lease);
const longAgoMs = nowMs - reconcileUnderWayMs;
const justNowMs = nowMs - 1_000;

/** What there is of one lease, by each of the three and by what we believe. */
interface World {
  readonly chain?: Pick<Lease, "state"> & Partial<Lease>;
  /** The chain was not queried for a lease that does not run. */
  readonly unasked?: boolean;
  readonly namespace?: Partial<ListedNamespace>;
  readonly resource?: Partial<RecordedNote> | "unreadable";
  readonly manifest?: Partial<ManifestHead>;
  readonly deadline?: boolean;
  readonly booked?: Partial<Booked>;
  readonly written?: boolean;
  readonly mirrored?: boolean;
  readonly cachedNamespace?: string | undefined;
  readonly isRestored?: boolean;
}

const runs: World = {
  chain: { state: "active" },
  namespace: {},
  resource: {},
  manifest: {},
  booked: {},
  written: true,
  mirrored: true,
};
const closed: World = { chain: { state: "closed", closedOn: 1n } };

function worldOf(world: World): ReconcileSnapshot {
  const { chain, unasked = false, namespace, resource, manifest, booked, isRestored = false } = world;
  const full = chain && ({ id: lease, createdAt: 1n, closedOn: 0n, ...chain } as Lease);
  const isRunning = chain?.state === "active" || chain?.state === "reclaiming";
  const uid = "a";
  const listed = namespace && { name, uid, lease, deletingSinceMs: undefined, heldBy: [], ...namespace };
  const note = { lease, version: "1", receivedAtMs: longAgoMs, ...(typeof resource === "object" && resource) };
  const found = resource && { name, uid, note: resource === "unreadable" ? undefined : note };
  const cached = "cachedNamespace" in world ? world.cachedNamespace : listed?.uid;
  const head = { leaseId: key, version: "1", receivedAtMs: longAgoMs, isRefused: false, deployedVersion: "1" };
  return {
    ...{ provider, nowMs, blockTimeMs, height, isRestored },
    running: new Map(full && isRunning ? [[key, full]] : []),
    queried: new Map(isRunning || unasked ? [] : [[key, full]]),
    namespaces: listed ? [listed] : [],
    resources: found ? [found] : [],
    manifests: new Map(manifest ? [[key, { ...head, ...manifest }]] : []),
    deadlines: new Set(world.deadline ? [key] : []),
    reservations: new Set(world.written ? [order] : []),
    mirrored: new Set(world.mirrored ? [key] : []),
    hashes: new Map(),
    caches: {
      namespaces: new Map(cached === undefined ? [] : [[listed?.name ?? name, cached]]),
      resources: new Map(found ? [[name, uid]] : []),
    },
    book: new Map(booked ? [[order, { expiredForMs: 0, isNeeded: isRunning, ...booked }]] : []),
  };
}

const without = ({ ...world }: World, ...parts: (keyof World)[]): World =>
  Object.fromEntries(Object.entries(world).filter(([part]) => !parts.includes(part as keyof World)));

const foreign = { ...lease, provider: tenant };

const cases: readonly [string, World, readonly string[]][] = [
  ["all three agree", runs, []],
  ["unknown everywhere", {}, []],
  ["being reclaimed is running", { ...runs, chain: { state: "reclaiming" } }, []],
  ["it waits for its manifest", without(runs, "namespace", "resource", "manifest"), []],
  // A lease that runs, without something
  ["without namespace", without(runs, "namespace"), ["namespace-missing"]],
  ["without namespace and resource", without(runs, "namespace", "resource"), ["namespace-missing"]],
  [
    "without namespace, and young",
    { ...without(runs, "namespace", "resource"), chain: { state: "active", createdAt: height - 3n } },
    [],
  ],
  [
    "without namespace, manifest just came",
    { ...without(runs, "namespace"), manifest: { receivedAtMs: justNowMs } },
    [],
  ],
  ["its namespace is being deleted", { ...without(runs, "resource"), namespace: { deletingSinceMs: justNowMs } }, []],
  [
    "its namespace has been deleted for long",
    { ...runs, namespace: { deletingSinceMs: nowMs - reconcileStuckMs } },
    ["namespace-stuck"],
  ],
  ["without resource", without(runs, "resource"), ["resource-missing"]],
  [
    "without resource, and rejected before anything ran",
    { ...without(runs, "resource"), manifest: { isRefused: true, deployedVersion: undefined } },
    [],
  ],
  ["resource of an older manifest", { ...runs, resource: { version: "0", receivedAtMs: 1 } }, ["resource-outdated"]],
  ["resource not withdrawn yet", { ...runs, manifest: { withdrawnAtMs: longAgoMs } }, ["resource-outdated"]],
  ["withdrawn just now", { ...runs, manifest: { withdrawnAtMs: justNowMs } }, []],
  [
    "rejected, and the deployed version goes on",
    { ...runs, resource: { version: "0", receivedAtMs: 1 }, manifest: { isRefused: true, deployedVersion: "0" } },
    [],
  ],
  ["resource of the provider before us", { ...runs, resource: { version: "", receivedAtMs: 1 } }, []],
  [
    "resource newer than the journal",
    { ...runs, resource: { version: "2", receivedAtMs: justNowMs } },
    ["manifest-behind"],
  ],
  ["journal lost", without(runs, "manifest"), ["manifest-behind"]],
  ["without manifest", without(runs, "manifest", "resource"), ["manifest-missing"]],
  ["without reservation", without(runs, "booked", "written"), ["reservation-missing"]],
  ["reservation in memory alone", without(runs, "written"), ["reservation-unwritten"]],
  ["the mirror has it not", without(runs, "mirrored"), ["mirror-differs"]],
  // A lease that is over
  ["closed, and nothing is left", closed, []],
  ["closed, namespace left", { ...closed, namespace: {}, resource: {}, manifest: {} }, ["namespace-left"]],
  [
    "closed just now",
    { chain: { state: "closed", closedOn: height - 3n }, namespace: {}, manifest: {}, deadline: true },
    [],
  ],
  ["closed, namespace goes", { ...closed, namespace: { deletingSinceMs: justNowMs }, resource: {} }, []],
  ["closed, resource left", { ...closed, resource: {}, manifest: {} }, ["resource-left"]],
  ["closed, manifest left", { ...closed, manifest: {} }, ["manifest-left"]],
  [
    "out of money is over too",
    { chain: { state: "insufficient_funds", closedOn: 1n }, manifest: {} },
    ["manifest-left"],
  ],
  ["closed, still waited for", { ...closed, deadline: true }, ["deadline-left"]],
  ["closed, and the mirror has it running", { ...closed, mirrored: true }, ["mirror-differs"]],
  ["closed, reservation left", { ...closed, booked: { expiredForMs: nowMs }, written: true }, ["reservation-left"]],
  ["a reservation whose time is not over", { booked: {}, written: true }, []],
  ["a reservation that a bid needs", { booked: { expiredForMs: nowMs, isNeeded: true }, written: true }, []],
  ["a reservation without an order", { booked: { expiredForMs: nowMs }, written: true }, ["reservation-left"]],
  ["a reservation in the journal alone", { written: true }, ["reservation-left"]],
  // A lease that the chain does not have
  ["no such lease, namespace", { namespace: {}, resource: {} }, ["namespace-unknown"]],
  ["no such lease, resource", { resource: {} }, ["resource-unknown"]],
  ["no such lease, manifest", { manifest: {} }, ["manifest-unknown"]],
  ["not queried this time", { unasked: true, namespace: {}, resource: {}, manifest: {}, deadline: true }, []],
  // Not ours
  [
    "another provider's",
    { namespace: { lease: foreign }, resource: { lease: foreign } },
    ["namespace-foreign", "resource-foreign"],
  ],
  [
    "whose, it does not say",
    { namespace: { lease: undefined }, resource: "unreadable" },
    ["namespace-mislabelled", "resource-mislabelled"],
  ],
  ["another name", { ...runs, namespace: { name: "other" } }, ["namespace-mislabelled", "namespace-missing"]],
  // What we believe
  ["a cache without it", { ...runs, cachedNamespace: undefined }, ["cache-differs"]],
  ["a cache that shows another by its name", { ...runs, cachedNamespace: "b" }, ["cache-differs"]],
  ["a cache that shows what is gone", { cachedNamespace: "a" }, ["cache-differs"]],
  ["the cluster was restored", { ...runs, isRestored: true }, ["cluster-restored"]],
];

describe("what chain, cluster and journal say of a lease", () => {
  for (const [what, world, expected] of cases) {
    test(what, () => {
      const drifts = compare(worldOf(world));
      assert.deepEqual(drifts.map(({ kind }) => kind).sort(), [...expected].sort());
      for (const { subject, evidence } of drifts) assert.ok(subject !== "" && evidence.length < 500, evidence);
    });
  }
});

test("caches that say themselves that they may be old, and a mirror of another height, are not compared", () => {
  const snapshot = worldOf({ ...runs, cachedNamespace: undefined, mirrored: false });
  assert.deepEqual(compare({ ...snapshot, caches: undefined, mirrored: undefined }), []);
});

test("the chain is queried once for each lease of ours that its list does not have", () => {
  const queried = (world: World) => leasesToAsk(worldOf(world)).map(formatLeaseId);
  assert.deepEqual(queried(runs), []);
  assert.deepEqual(queried({ namespace: {}, resource: {}, manifest: {}, deadline: true, mirrored: true }), [key]);
  for (const alone of [{ namespace: {} }, { resource: {} }, { manifest: {} }, { deadline: true }, { mirrored: true }]) {
    assert.deepEqual(queried(alone), [key]);
  }
  assert.deepEqual(queried({ namespace: { lease: foreign }, resource: "unreadable" }), []);
});
