import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createFakeExec, type ExecOutput } from "../../../../test/support/fake-exec.ts";
import { cephDf, gib } from "../../../../test/support/samples/storage-samples.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { silentLog } from "../../../runtime/log.ts";
import {
  createCephUsage,
  inventoryCephAnswerBytes,
  inventoryCephPauseMs,
  inventoryCephPeriodMs,
} from "./ceph-usage.ts";

const answer = (maxAvail: bigint): ExecOutput => ({ stdout: cephDf({ replicapool: [0n, maxAvail * gib] }) });

async function open(t: TestContext, says: ExecOutput, namespaces = ["rook-ceph"]) {
  const clock = createVirtualClock();
  const standIn = createFakeExec(says);
  const wanted = new Set(namespaces);
  const without = new Set<string>();
  let changes = 0;
  const usage = createCephUsage({
    kube: standIn,
    clock,
    log: silentLog,
    namespaces: () => wanted,
    toolbox(namespace) {
      if (without.has(namespace)) throw new Error("no toolbox pod is ready there");
      return { namespace, name: "tools" };
    },
    changed: () => {
      changes += 1;
    },
  });
  t.after(() => usage.close());
  await clock.settle();
  const free = () => usage.of("rook-ceph")?.df?.pools.get("replicapool")?.maxAvailBytes;
  const nextPeriod = () => clock.advance(inventoryCephPeriodMs);
  return { clock, standIn, usage, wanted, without, free, nextPeriod, changes: () => changes };
}

test("reads Ceph through its toolbox at once and then periodically", async (t) => {
  const { standIn, free, nextPeriod, changes } = await open(t, answer(5n));
  assert.deepEqual(standIn.ran, ["rook-ceph/tools rook-ceph-tools: timeout 15 ceph df --format json"]);
  assert.equal(free(), 5n * gib);
  await nextPeriod();
  assert.equal(standIn.ran.length, 2);
  assert.equal(changes(), 1, "an equal answer is no change");
  standIn.says = answer(4n);
  await nextPeriod();
  assert.equal(free(), 4n * gib);
  assert.equal(changes(), 2);
  assert.equal(standIn.open, 0, "every session is closed");
});

test("many changes cause one read after the pause", async (t) => {
  const { clock, standIn, usage } = await open(t, answer(5n));
  for (let change = 0; change < 100; change += 1) usage.wake();
  await clock.advance(inventoryCephPauseMs - 1);
  assert.equal(standIn.ran.length, 1);
  await clock.advance(1);
  assert.equal(standIn.ran.length, 2);
  await clock.advance(inventoryCephPauseMs);
  assert.equal(standIn.ran.length, 2);
});

test("after a failed read the last good answer stays, with the reason", async (t) => {
  const { clock, standIn, usage, free, nextPeriod } = await open(t, answer(5n));
  const cases: [ExecOutput, RegExp][] = [
    [{ code: 1, stderr: "[errno 13] RADOS permission denied\n" }, /ended with 1: \[errno 13\] RADOS permission denied/],
    [{ code: 124 }, /ended with 124: without output/],
    [{ stdout: "half an ans" }, /not JSON/],
    [{ stdout: "" }, /not JSON/],
    [{ stdout: "x".repeat(inventoryCephAnswerBytes + 1) }, /more than 1048576 bytes/],
  ];
  const goodMs = usage.of("rook-ceph")?.atMs;
  for (const [says, reason] of cases) {
    standIn.says = says;
    await nextPeriod();
    assert.match(usage.of("rook-ceph")?.error?.message ?? "", reason);
    assert.equal(free(), 5n * gib);
    assert.equal(usage.of("rook-ceph")?.atMs, goodMs);
  }
  assert.equal(usage.failures, cases.length);
  standIn.says = { hangs: true };
  await clock.advanceUntil(() => usage.of("rook-ceph")?.error?.message.includes("no whole answer within") === true);
  assert.equal(standIn.open, 0, "the command that hangs is cut off");
  standIn.says = answer(6n);
  await nextPeriod();
  assert.equal(usage.of("rook-ceph")?.error, undefined);
  assert.equal(free(), 6n * gib);
});

test("a toolbox that appears later is used as soon as its event arrives", async (t) => {
  const { clock, standIn, usage, wanted, without, free } = await open(t, answer(5n), []);
  without.add("rook-ceph");
  wanted.add("rook-ceph");
  usage.wake();
  await clock.settle();
  assert.match(usage.of("rook-ceph")?.error?.message ?? "", /no toolbox/);
  assert.deepEqual(standIn.ran, []);
  without.delete("rook-ceph");
  usage.wake();
  await clock.settle();
  assert.equal(free(), 5n * gib);
});

test("a failing cluster does not affect another, and a removed one is forgotten", async (t) => {
  const { clock, usage, wanted, without, nextPeriod } = await open(t, answer(5n), ["other", "rook-ceph"]);
  without.add("other");
  await nextPeriod();
  assert.ok(usage.of("other")?.error);
  assert.equal(usage.of("rook-ceph")?.error, undefined);
  wanted.delete("other");
  usage.wake();
  await clock.advance(inventoryCephPauseMs);
  assert.equal(usage.of("other"), undefined);
});

test("close ends a running read and leaves no timer", async (t) => {
  const { clock, standIn, usage } = await open(t, { hangs: true });
  assert.equal(standIn.open, 1);
  await usage.close();
  assert.equal(standIn.open, 0);
  assert.equal(clock.pendingTimers, 0);
});
