/** The IP operator with rejected, stuck, reverted or lost writes: other leases are unaffected, and the right one is reported. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { Leadership } from "../../src/kube/leadership.ts";
import { leasedIp } from "../../src/kube/objects/leased-ip.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { contestedWrites } from "../../src/operators/write-pace.ts";
import { type Log, silentLog } from "../../src/runtime/log.ts";
import {
  declarationOf,
  type IpStage,
  type IpStageOptions,
  leaseOf,
  manifestNamespace,
  openIpStage,
} from "../support/stages/ip-stage.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 3)];
const minute = 60_000;
const hour = 60 * minute;
const ofRange: IpStageOptions = { pool: "", ranges: ["203.0.113.8-203.0.113.11"] };

const conditionTypes = ({ operator }: IpStage) => operator.conditions.map(({ type }) => type);
/** Deployments of the leases on the list. */
const listed = ({ operator }: IpStage) => Object.keys(operator.ignored.view() ?? {}).map((id) => id.split("/")[1]);

function countErrors(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => void lines.push(message), with: () => log };
  return { log, lines };
}

const undeletable: readonly (readonly [string, Kind, IpStageOptions])[] = [
  ["a pool", kinds.ipAddressPool, ofRange],
  ["an advertisement", kinds.l2Advertisement, ofRange],
  ["a Service", kinds.service, {}],
];
for (const [what, kind, options] of undeletable) {
  test(`${what} that may not be deleted is retried with back-off, reported, and deleted once permitted`, async (t) => {
    const { log, lines } = countErrors();
    const stage = await openIpStage(t, { ...options, log });
    stage.declare(ann);
    await stage.settled();
    stage.cluster.faults.forbid("delete", kind);
    stage.withdraw(ann);
    await stage.settled(hour);
    assert.ok(lines.length <= 10, `${lines.length} lines`);
    assert.ok(conditionTypes(stage).includes("Failed"));
    stage.cluster.faults.allow("delete", kind);
    await stage.settled(5 * minute);
    assert.deepEqual([stage.shown(), stage.operator.conditions, stage.operator.ignored.size], [[], [], 0]);
  });
}

test("a Service that cannot be deleted does not block removal of others, and only its lease is listed", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann, { externalPort: 80 });
  await stage.settled();
  for (const externalPort of [443, 444]) stage.declare(annToo, { externalPort });
  await stage.settled();
  const path = leaseNamespace(ann);
  stage.cluster.faults.reject({ status: 403, kind: kinds.service, verb: "delete", path, times: 60 });
  stage.withdraw(ann, { externalPort: 80 });
  stage.withdraw(annToo, { externalPort: 443 });
  await stage.settled(minute);
  assert.deepEqual(stage.shown(), [
    "blue TCP 444 → web:8080 of 2 at 172.30.0.200",
    "blue TCP 80 → web:8080 of 1 at 172.30.0.200",
  ]);
  assert.deepEqual([conditionTypes(stage), listed(stage)], [["Failed"], ["1"]]);
  assert.equal(stage.operator.ignored.isFlagged(ann), true);
  await stage.settled(3 * hour);
  assert.deepEqual([stage.shown().length, stage.operator.conditions, stage.operator.ignored.size], [1, [], 0]);
});

test("a recovered lease leaves the ignore list while another lease of its endpoint fails", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann, { externalPort: 80 });
  stage.declare(annToo, { externalPort: 443 });
  for (const lease of [ann, annToo]) stage.cluster.server.delete(kinds.namespace, { name: leaseNamespace(lease) });
  await stage.settled(2 * minute);
  assert.deepEqual(
    [listed(stage).sort(), conditionTypes(stage)],
    [
      ["1", "2"],
      ["Failed", "Failed"],
    ],
  );
  stage.namespaceOf(annToo);
  await stage.settled(5 * minute);
  assert.deepEqual(stage.shown(), ["blue TCP 443 → web:8080 of 2 at 172.30.0.200"]);
  assert.deepEqual([listed(stage), conditionTypes(stage)], [["1"], ["Failed"]]);
});

function onlyPool({ cluster }: IpStage): KubeObject {
  const [pool] = cluster.server.list(kinds.ipAddressPool);
  assert.ok(pool);
  return pool;
}

test("while a pool hangs in deletion, it is reported, and ports are still removed and changed", async (t) => {
  const stage = await openIpStage(t, ofRange);
  stage.declare(ann);
  stage.declare(ann, { externalPort: 443 });
  await stage.settled();
  const pool = onlyPool(stage);
  const held = { ...pool, metadata: { ...pool.metadata, finalizers: ["example.com/held"] } };
  stage.cluster.server.update(kinds.ipAddressPool, held, "somebody");
  stage.cluster.server.delete(kinds.ipAddressPool, pool.metadata);
  await stage.settled(minute);
  stage.withdraw(ann, { externalPort: 443 });
  stage.declare(ann, { port: 9_999 });
  await stage.settled(minute);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:9999 of 1 at 203.0.113.8"]);
  assert.deepEqual(
    stage.operator.conditions.map(({ type, message }) => `${type}: ${message}`),
    [`PoolDeleting: ipaddresspools.metallb.io ${pool.metadata.name} is being deleted`],
  );
  const { finalizers: _, ...metadata } = onlyPool(stage).metadata;
  stage.cluster.server.update(kinds.ipAddressPool, { ...onlyPool(stage), metadata } as KubeObject, "somebody");
  await stage.settled(5 * minute);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:9999 of 1 at 203.0.113.8"]);
  assert.deepEqual([stage.operator.conditions, onlyPool(stage).metadata.deletionTimestamp], [[], undefined]);
});

test("a pool that hangs in deletion is reported until it is gone", async (t) => {
  const stage = await openIpStage(t, ofRange);
  stage.declare(ann);
  await stage.settled();
  const pool = onlyPool(stage);
  const held = { ...pool, metadata: { ...pool.metadata, finalizers: ["example.com/held"] } };
  stage.cluster.server.update(kinds.ipAddressPool, held, "somebody");
  stage.withdraw(ann);
  await stage.settled(minute);
  assert.deepEqual(conditionTypes(stage), ["PoolDeleting"]);
  const { finalizers: _, ...metadata } = onlyPool(stage).metadata;
  stage.cluster.server.update(kinds.ipAddressPool, { ...onlyPool(stage), metadata } as KubeObject, "somebody");
  await stage.settled();
  assert.deepEqual(conditionTypes(stage), []);
});

const stripped: Readonly<Record<string, (metadata: KubeObject["metadata"]) => KubeObject["metadata"]>> = {
  "one label": ({ labels = {}, ...metadata }) => {
    const { "akash.network": _, ...others } = labels;
    return { ...metadata, labels: others };
  },
  "all its labels": ({ labels: _, ...metadata }) => metadata,
  "all that is written on it": ({ labels: _, annotations: __, ...metadata }) => metadata,
};
for (const [what, strip] of Object.entries(stripped)) {
  for (const isAway of [false, true]) {
    test(`a pool of ours that loses ${what}${isAway ? " while the operator is away" : ""} is repaired, and blocks no lease`, async (t) => {
      const stage = await openIpStage(t, ofRange);
      stage.declare(ann, { externalPort: 81 });
      await stage.settled();
      // The pool keeps the name of what was the first resource.
      stage.declare(ann);
      await stage.settled();
      if (isAway) await stage.life.stop();
      const pool = onlyPool(stage);
      stage.cluster.server.update(kinds.ipAddressPool, { ...pool, metadata: strip(pool.metadata) }, "somebody");
      stage.declare(ben);
      if (isAway) await stage.restart();
      await stage.settled(minute);
      assert.deepEqual(stage.shown(), [
        "blue TCP 80 → web:8080 of 1 at 203.0.113.8",
        "blue TCP 80 → web:8080 of 3 at 203.0.113.9",
        "blue TCP 81 → web:8080 of 1 at 203.0.113.8",
      ]);
      const live = stage.cluster.server.get(kinds.ipAddressPool, pool.metadata);
      assert.deepEqual(live?.metadata.labels, pool.metadata.labels);
      assert.deepEqual(live?.metadata.annotations, pool.metadata.annotations);
      assert.deepEqual([stage.operator.conditions, stage.operator.usage.inUse], [[], 2n]);
      for (const externalPort of [80, 81]) stage.withdraw(ann, { externalPort });
      stage.withdraw(ben);
      await stage.settled();
      assert.deepEqual(stage.cluster.server.list(kinds.ipAddressPool), []);
    });
  }
}

test("a new term as leader reconciles everything", async (t) => {
  const stage = await openIpStage(t);
  stage.cluster.server.create(kinds.namespace, { metadata: { name: "akash-services" } }, "test");
  await stage.life.stop();
  const options = { namespace: "akash-services", name: "operator-ip", identity: "one" };
  stage.cluster.server.create(kinds.lease, { metadata: { name: options.name, namespace: options.namespace } }, "test");
  const life = stage.startOperator(
    undefined,
    (kube) => new Leadership(options, { kube, clock: stage.clock, log: silentLog }),
  );
  t.after(() => life.stop());
  stage.declare(ann, { sharingKey: `${ben.owner}-ip-blue` });
  await stage.settled();
  const types = () => life.operator.conditions.map(({ type }) => type);
  assert.deepEqual(types(), ["Refused"]);
  stage.cluster.faults.forbid("update", kinds.lease);
  await stage.settled(30_000);
  assert.deepEqual([life.operator.leading, types()], [false, []]);
  stage.cluster.faults.allow("update", kinds.lease);
  await stage.settled(30_000);
  assert.deepEqual([life.operator.leading, types()], [true, ["Refused"]]);
});

type Edit = (spec: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
const fights: readonly (readonly [string, Kind, IpStageOptions, Edit])[] = [
  ["a Service", kinds.service, {}, (spec) => ({ ...spec, selector: { rival: "true" } })],
  ["a pool", kinds.ipAddressPool, ofRange, (spec) => ({ ...spec, autoAssign: true })],
];
for (const [what, kind, options, edit] of fights) {
  test(`${what} reverted by another writer is overwritten a few times a minute, and reported`, async (t) => {
    const stage = await openIpStage(t, options);
    stage.declare(ann);
    await stage.settled();
    const live = () => {
      const found = stage.cluster.server.list(kind).find(({ spec }) => kind !== kinds.service || isBalancer(spec));
      assert.ok(found);
      return found;
    };
    const isRivals = (object: KubeObject) =>
      fieldsOf(fieldsOf(object["spec"])["selector"])["rival"] === "true" ||
      fieldsOf(object["spec"])["autoAssign"] === true;
    const change = () => {
      if (isRivals(live())) return;
      const object = live();
      stage.cluster.server.update(kind, { ...object, spec: edit(fieldsOf(object["spec"])) }, "rival");
    };
    let isOver = false;
    let lost = 0;
    const stop = stage.cluster.server.subscribe(({ kind: of, object, type }) => {
      if (of !== kind || type !== "modified" || isOver || isRivals(object)) return;
      lost += 1;
      stage.clock.timer(50, change);
    });
    t.after(stop);
    change();
    await stage.settled(5 * minute);
    // Each of our writes once, and MetalLB's as well.
    assert.ok(lost <= 5 * contestedWrites + contestedWrites, `${lost} times`);
    const [condition] = stage.operator.conditions;
    assert.equal(condition?.type, "Contested");
    assert.match(condition?.message ?? "", /was written 10 times within a minute/);
    // Another's, and another port of the same, get theirs meanwhile.
    stage.declare(ben);
    stage.declare(ann, { externalPort: 81 });
    await stage.settled();
    assert.equal(stage.shown().length, 3);
    assert.ok(!stage.shown().some((each) => each.endsWith("none")));
    isOver = true;
    await stage.settled(2 * minute);
    assert.equal(isRivals(live()), false);
    assert.deepEqual(stage.operator.conditions, []);
  });
}

function isBalancer(spec: unknown): boolean {
  return fieldsOf(spec)["type"] === "LoadBalancer";
}

test("the Event of a rejected resource is recorded on that resource", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  await stage.settled();
  const { object } = leasedIp(declarationOf(ann), { manifestNamespace });
  const byHand = { ...object, metadata: { ...object.metadata, name: "by-hand" } };
  stage.cluster.server.create(kinds.providerLeasedIp, byHand, "person");
  await stage.settled(minute);
  const regarded = stage.cluster.server
    .list(kinds.event)
    .filter(({ reason }) => reason === "Refused")
    .map(({ regarding }) => fieldsOf(regarding)["name"]);
  assert.deepEqual(regarded, ["by-hand"]);
});
