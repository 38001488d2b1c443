/** What happens to leases in a cluster, and whether it brings them nearer to being closed for their health. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Behaviour } from "../../src/box/cluster/components/kubelet/behaviour.ts";
import { unhealthyLimitMs } from "../../src/cluster/health/monitoring.ts";
import { leaseDefaults } from "../../src/cluster/leases/lease-options.ts";
import { isFailing } from "../../src/cluster/leases/lease-states.ts";
import { restoredRow } from "../../src/journal/manifests.ts";
import { apiError } from "../../src/kube/client/api-errors.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { readManifestResource } from "../../src/kube/objects/read-manifest-resource.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { memoryFolder } from "../support/folder.ts";
import { asRecorded } from "../support/go-provider-objects.ts";
import type { Owner } from "../support/owner.ts";
import { plant } from "../support/stages/adoption-stage.ts";
import { type LeaseStage, type Life, leaseStage, shop } from "../support/stages/lease-keeper-stage.ts";
import { person } from "../support/stages/market-stage.ts";
import { thorough } from "../support/thorough.ts";

const hour = 3_600_000;
/** Far below the default: what counted would be closed within minutes. */
const monitor = { maxRetries: 4, retryPeriodMs: 10_000, retryJitterMs: 10_000 };
const limitMs = unhealthyLimitMs(monitor);
const closings = ({ journal }: Life, lease: LeaseId) =>
  journal.read.intents.about(formatLeaseId(lease)).map(({ what, why }) => `${what}: ${why}`);
const observedMs = ({ health }: Life, lease: LeaseId) => health?.unhealthy(formatLeaseId(lease))?.observedMs ?? 0;
const stateOf = ({ health }: Life, lease: LeaseId) => health?.get(formatLeaseId(lease))?.state;

/** A lease with a page and a store, whose container does what `store` says. */
async function start(owner: Owner, { sdl = shop(), store = {} as Behaviour, leases = {} } = {}) {
  const does = { store };
  const behaviour = (image: string) => (image.startsWith("store") ? does.store : undefined);
  const stage = await leaseStage(owner, { dir: memoryFolder(owner), behaviour });
  const lease = stage.won(1, sdl);
  const life = await stage.start({ monitor, leases });
  await life.send(lease, sdl.manifest);
  return { stage, lease, life, does };
}
type Stage = Awaited<ReturnType<typeof start>>;

function removePods({ stage, lease }: Pick<Stage, "stage" | "lease">, prefix = ""): void {
  for (const { metadata } of stage.pods(lease)) {
    if (metadata.name.startsWith(prefix)) stage.cluster.server.delete(kinds.pod, metadata);
  }
}

const taint = { key: "node.kubernetes.io/disk-pressure", effect: "NoSchedule" };

/** What the cluster does to a lease that has worked, and for how long at the longest. */
const faults: Readonly<Record<string, readonly [forMs: number, act: (stage: Stage) => unknown]>> = {
  "its volume does not mount": [
    hour / 2,
    (stage) => {
      stage.does.store = { startMs: hour };
      removePods(stage, "store");
    },
  ],
  "its node is tainted": [
    hour / 2,
    async (stage) => {
      const { observer, clock } = stage.stage;
      const patching = observer.patch(kinds.node, { name: "one" }, [
        { op: "add", path: "/spec/taints", value: [taint] },
      ]);
      await Promise.all([patching, clock.advance(1_000)]);
      removePods(stage);
    },
  ],
  "its node is drained": [1.2 * hour, ({ stage }) => stage.cluster.nodes.drain("one")],
  "its node is not ready": [1.2 * hour, ({ stage }) => stage.cluster.nodes.notReady("one")],
};

// Which causes count is a table in tenants-fault.test.ts; one here shows that the whole provider goes by it.
for (const [what, [forMs, act]] of Object.entries(faults).slice(0, thorough ? undefined : 1)) {
  test(`a lease that worked is not closed while ${what}`, async (t) => {
    const stage = await start(t);
    const { stage: cluster, life, lease } = stage;
    await cluster.until("it works", () => stateOf(life, lease) === "healthy");
    await act(stage);
    await cluster.clock.advance(forMs);
    assert.equal(stateOf(life, lease), "unhealthy");
    assert.deepEqual([closings(life, lease), observedMs(life, lease)], [[], 0]);
  });
}

test("a lease whose image takes a quarter of an hour to arrive is not closed", async (t) => {
  const { stage, life, lease } = await start(t, { store: { pullMs: hour / 4 } });
  await stage.clock.advance(hour / 4 - 60_000);
  assert.deepEqual([stateOf(life, lease), closings(life, lease), observedMs(life, lease)], ["unhealthy", [], 0]);
  await stage.until("it works", () => stateOf(life, lease) === "healthy");
});

test("a lease whose container ends with exit code 0 is not closed", async (t) => {
  const { stage, life, lease } = await start(t, { store: { exitAfterMs: 2_000, exitCode: 0 } });
  await stage.clock.advance(hour / 2);
  assert.match(life.health?.get(formatLeaseId(lease))?.troubles[0]?.message ?? "", /exit code 0/);
  assert.deepEqual([closings(life, lease), observedMs(life, lease)], [[], 0]);
});

test("a lease whose pods the API server does not admit is not closed", async (t) => {
  const { stage, life, lease } = await start(t, { leases: { runtimeClass: "nowhere" } });
  await stage.clock.advance(hour / 2);
  assert.equal(life.health?.get(formatLeaseId(lease))?.troubles[0]?.reason, "NotCreated");
  assert.deepEqual([closings(life, lease), observedMs(life, lease)], [[], 0]);
});

test("a lease whose page crashes because the API server does not admit the next pod of its store is not closed", async (t) => {
  const does: Behaviour = { exitAfterMs: 60_000, exitCode: 1 };
  const behaviour = (image: string) => (image.startsWith("page") ? does : undefined);
  const stage = await leaseStage(t, { dir: memoryFolder(t), behaviour });
  const runtimeClass = { metadata: { name: "gvisor" }, handler: "runsc" };
  stage.cluster.server.create(kinds.runtimeClass, runtimeClass, "operator");
  const lease = stage.won(1);
  const life = await stage.start({ monitor, leases: { runtimeClass: "gvisor" } });
  await life.send(lease, shop().manifest);
  await stage.until("it works", () => stateOf(life, lease) === "healthy");
  stage.cluster.server.delete(kinds.runtimeClass, runtimeClass.metadata);
  removePods({ stage, lease }, "store");
  Object.assign(does, { exitAfterMs: 1_000 });
  await stage.clock.advance(hour / 4);
  const reasons = life.health?.get(formatLeaseId(lease))?.troubles.map(({ reason }) => reason);
  assert.deepEqual(reasons, ["CrashLoop", "NotReady"]);
  assert.deepEqual([closings(life, lease), observedMs(life, lease)], [[], 0]);
});

test("a crash loop in a lease taken over counts from the take-over, and by default ends the lease after a day", async (t) => {
  const behaviour = (image: string) => (image.startsWith("store") ? { exitAfterMs: 1_000, exitCode: 1 } : undefined);
  const stage = await leaseStage(t, { dir: memoryFolder(t), behaviour });
  const lease = stage.won(1);
  const [group] = shop().manifest;
  assert.ok(group);
  const planting = plant(stage.cluster.connect("provider-services"), asRecorded({ lease, group, offer: [] }));
  let isPlanted = false;
  planting.then(() => (isPlanted = true), t.diagnostic);
  await stage.until("its objects are there", () => isPlanted);
  await stage.clock.advance(hour);
  const life = await stage.start({ monitor: leaseDefaults.monitor });
  const [resource] = stage.cluster.server.list(kinds.manifest, { namespace: "lease" });
  const recorded = resource && readManifestResource(resource);
  assert.ok(recorded);
  const key = formatLeaseId(lease);
  const writing = life.journal.durable("restored", ({ manifests }) => manifests.restore(restoredRow(key, recorded)));
  await Promise.all([writing, stage.clock.settle()]);
  life.keeper.wake(key);
  await stage.clock.advance(hour / 2);
  assert.deepEqual(closings(life, lease), []);
  assert.ok(observedMs(life, lease) > 0 && observedMs(life, lease) <= hour / 2);
  assert.equal(life.health?.unhealthy(key)?.limitMs, 24 * hour);
});

test("a lease whose first manifest the API server rejects is closed, and has all the time again after the next manifest", async (t) => {
  const { stage, life, lease } = await start(t, { sdl: shop({ broken: true }) });
  const { clock } = stage;
  await clock.advance(limitMs - 20_000);
  assert.equal(life.state(lease), "refused");
  assert.ok(observedMs(life, lease) > 0);
  await life.send(lease, shop({ broken: true, page: "page:2" }).manifest);
  await clock.advance(limitMs - 20_000);
  assert.deepEqual(closings(life, lease), []);
  await clock.advance(60_000);
  assert.match(closings(life, lease).join(), /^closeBid: unhealthy for \d+ s$/);
  assert.match(life.journal.read.history.about(formatLeaseId(lease), 1)[0]?.line ?? "", /rejected by the cluster/);
});

/** What the API server answers to an apply of a stateful set with this image, once there is a status. */
function rejecting(image: string) {
  const answer = { status: 0, message: "" };
  const plant = (sound: Kube): Kube => ({
    ...sound,
    apply(kind, object, options) {
      const isRejected = kind === kinds.statefulSet && JSON.stringify(object).includes(image);
      if (!isRejected || answer.status === 0) return sound.apply(kind, object, options);
      const refusal = { status: answer.status, body: JSON.stringify({ message: answer.message }) };
      const peer = { server: new URL("https://10.0.0.1:6443"), path: "kubeconfig" };
      throw apiError(refusal, { verb: "apply", resource: "statefulsets.apps store" }, peer);
    },
  });
  return { answer, plant };
}

const typedPatch = "failed to create typed patch object (ns/store; apps/v1, Kind=StatefulSet): .spec.new: ";

for (const [status, message] of [
  [403, "not allowed"],
  [500, "internal error"],
  [400, "not an answer of an API server"],
  [415, "body in an unknown format"],
  [500, `${typedPatch}field not declared in schema`],
] as const) {
  test(`a lease that cannot be deployed because the API server answers us ${status} (${message.split(": ").at(-1)}) is never closed, and is reported`, async (t) => {
    const { answer, plant } = rejecting("store:1");
    Object.assign(answer, { status, message });
    const stage = await leaseStage(t, { dir: memoryFolder(t) });
    const lease = stage.won(1);
    const life = await stage.start({ monitor, plant });
    await life.send(lease, shop().manifest);
    await stage.clock.advance(hour / 4);
    assert.deepEqual([closings(life, lease), observedMs(life, lease)], [[], 0]);
    const state = life.keeper.states.get(formatLeaseId(lease));
    assert.ok(state && isFailing(state));
  });
}

const invalid = [422, "spec.template is invalid"] as const;
const denied = [403, 'admission webhook "policy.example.com" denied the request: no'] as const;

for (const [what, [status, message], image, isClosed] of [
  ["the API server rejects its next manifest", invalid, "store:2", true],
  ["a webhook rejects its next manifest", denied, "store:2", false],
  ["a webhook rejects what runs", denied, "store:1", false],
  ["the API server rejects what runs", invalid, "store:1", false],
] as const) {
  test(`a lease in a crash loop is ${isClosed ? "" : "not "}closed while ${what}`, async (t) => {
    const behaviour = (given: string) => (given === "store:1" ? { exitAfterMs: 1_000, exitCode: 1 } : undefined);
    const { answer, plant } = rejecting(image);
    const stage = await leaseStage(t, { dir: memoryFolder(t), behaviour });
    const lease = stage.won(1);
    const life = await stage.start({ monitor, plant });
    await life.send(lease, shop().manifest);
    await stage.until("deployed", () => life.state(lease) === "deployed");
    Object.assign(answer, { status, message });
    if (image === "store:1") life.keeper.wake(formatLeaseId(lease));
    else await life.send(lease, shop({ store: image }).manifest);
    await stage.until("rejected", () => life.state(lease) === "refused");
    await stage.clock.advance(hour / 4);
    assert.equal(closings(life, lease).length > 0, isClosed);
  });
}

/** Leases of so many owners; those of the first few crash. */
async function owners(owner: Owner, all: number, crashing: number) {
  let isMended = false;
  const behaviour = (image: string) =>
    image === "sick:1" && !isMended ? { exitAfterMs: 1_000, exitCode: 1 } : undefined;
  const stage: LeaseStage = await leaseStage(owner, { dir: memoryFolder(owner), behaviour });
  const sdls = Array.from({ length: all }, (_, at) =>
    shop({ persistent: false, host: `s${at}.example.com`, ...(at < crashing && { page: "sick:1" }) }),
  );
  const leases = sdls.map((sdl, at) => stage.won(at + 1, sdl, person(20 + at)));
  const life = await stage.start({ monitor });
  for (const [at, lease] of leases.entries()) await life.send(lease, sdls[at]?.manifest ?? []);
  return { stage, life, leases, mend: () => (isMended = true) };
}

test("while leases of three of six owners are unhealthy at once none is closed; of two, each is", async (t) => {
  for (const [crashing, isHeld] of [
    [3, true],
    [2, false],
  ] as const) {
    const { stage, life, leases } = await owners(t, 6, crashing);
    await stage.clock.advance(400_000);
    const closed = leases.filter((lease) => closings(life, lease).length > 0).length;
    assert.deepEqual([closed, life.health?.circuitBreaker() !== undefined], [isHeld ? 0 : crashing, isHeld]);
  }
});

test("leases whose time was counted until there were too many unhealthy ones are shown with that reason", async (t) => {
  const { stage, life, leases } = await owners(t, 6, 2);
  await stage.clock.advance(30_000);
  const [one, , third] = leases;
  assert.ok(one && third);
  await life.send(third, shop({ persistent: false, host: "s2.example.com", page: "sick:1" }).manifest);
  await stage.until("the circuit breaker", () => life.health?.circuitBreaker() !== undefined);
  assert.match(
    life.health?.unhealthy(formatLeaseId(one))?.heldBy ?? "",
    /leases of 3 of 6 owners are unhealthy at once/,
  );
});

test("what is still unhealthy when the cause has gone is not closed for the time before", async (t) => {
  const { stage, life, leases, mend } = await owners(t, 6, 3);
  await stage.clock.advance(400_000);
  assert.match(life.health?.circuitBreaker() ?? "", /leases of 3 of 6 owners are unhealthy at once/);
  mend();
  await stage.until("the circuit breaker is closed", () => life.health?.circuitBreaker() === undefined, hour);
  assert.ok(leases.every((lease) => observedMs(life, lease) < limitMs / 2));
  assert.deepEqual(
    leases.flatMap((lease) => closings(life, lease)),
    [],
  );
});
