import assert from "node:assert/strict";
import { test } from "node:test";
import { advanceUntilSettled } from "../../test/support/advance-until-settled.ts";
import type { Owner } from "../../test/support/owner.ts";
import { createSeededRandom } from "../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { createSimulatedCluster } from "../box/cluster/simulated-kube.ts";
import type { Clock } from "../runtime/clock.ts";
import { untilAborted } from "../runtime/lifecycle.ts";
import { silentLog } from "../runtime/log.ts";
import { kinds } from "./kinds.ts";
import { Leadership, leaderDurationMs, leaderGiveUpMs, leaderRenewMs, leaderRetryMs } from "./leadership.ts";

const at = { namespace: "akash-services", name: "operator-ip" };

function openStage(t: Owner) {
  const stageClock = createVirtualClock();
  const deps = { clock: stageClock, random: createSeededRandom(1), log: silentLog };
  const cluster = createSimulatedCluster({ nodes: [] }, deps);
  t.after(() => cluster.close());
  cluster.server.create(kinds.namespace, { metadata: { name: at.namespace } }, "test");
  // As a leader that stopped in order leaves it.
  cluster.server.create(kinds.lease, { metadata: at, spec: { holderIdentity: "" } }, "test");
  const leaders = new Set<string>();
  let most = 0;

  function start(identity: string, clock: Clock = stageClock) {
    const kube = cluster.connect(identity);
    const leadership = new Leadership({ ...at, identity }, { kube, clock, log: silentLog });
    const stopping = new AbortController();
    const running = leadership.run(stopping.signal, async (signal) => {
      leaders.add(identity);
      most = Math.max(most, leaders.size);
      await untilAborted(signal);
      leaders.delete(identity);
    });
    const stop = async () => {
      stopping.abort();
      await advanceUntilSettled(stageClock, running);
    };
    t.after(stop);
    return { leadership, stop };
  }
  return { clock: stageClock, cluster, leaders, start, most: () => most };
}

test("one of two instances leads, and the other follows at once when it stops", async (t) => {
  const { clock, leaders, start, most } = openStage(t);
  const one = start("one");
  await clock.advance(1_000);
  const two = start("two");
  await clock.advance(60_000);
  assert.deepEqual([...leaders], ["one"]);
  assert.deepEqual([one.leadership.waitingFor, two.leadership.waitingFor], [undefined, "one leads"]);
  await one.stop();
  await clock.advance(leaderRetryMs);
  assert.deepEqual([...leaders], ["two"]);
  assert.equal(most(), 1);
});

test("a leader that cannot renew stops before another begins, and leads again when it can", async (t) => {
  const { clock, cluster, leaders, start, most } = openStage(t);
  start("one");
  await clock.advance(1_000);
  start("two");
  await clock.advance(1_000);
  const { faults } = cluster;
  faults.forbid("update", kinds.lease);
  await clock.advance(leaderGiveUpMs + leaderRenewMs);
  assert.deepEqual([...leaders], []);
  faults.clear();
  await clock.advance(leaderDurationMs + leaderRetryMs);
  assert.equal(leaders.size, 1);
  assert.equal(most(), 1);
});

test("a leader whose process was suspended too long does not lead when it resumes, before any timer fires", async (t) => {
  const { clock, start } = openStage(t);
  let stoppedMs = 0;
  const { leadership } = start("one", { ...clock, monotonicMs: () => clock.monotonicMs() + stoppedMs });
  await clock.advance(1_000);
  assert.equal(leadership.leading, true);
  stoppedMs = leaderGiveUpMs;
  assert.deepEqual([leadership.leading, leadership.waitingFor], [false, "the Lease was not renewed in time"]);
  await clock.advance(leaderRenewMs);
  assert.equal(leadership.leading, true);
});

test("one whose Lease another client gave to another stops, and one whose Lease was deleted makes it again", async (t) => {
  const { clock, cluster, leaders, start } = openStage(t);
  const one = start("one");
  await clock.advance(1_000);
  const live = cluster.server.get(kinds.lease, at);
  assert.ok(live);
  const spec = { ...(live["spec"] as object), holderIdentity: "another instance" };
  cluster.server.update(kinds.lease, { ...live, spec }, "test");
  await clock.advance(leaderRenewMs);
  assert.deepEqual([...leaders], []);
  assert.equal(one.leadership.waitingFor, "another instance leads");
  // It never says anything again.
  await clock.advance(leaderDurationMs + leaderRetryMs);
  assert.deepEqual([...leaders], ["one"]);
  cluster.server.delete(kinds.lease, at);
  await clock.advance(leaderRenewMs);
  assert.deepEqual([...leaders], ["one"]);
  assert.ok(cluster.server.get(kinds.lease, at));
});

test("no second copy leads when the Lease is deleted, whenever that is, and the leader makes it again", async (t) => {
  const { clock, cluster, leaders, start, most } = openStage(t);
  start("one");
  await clock.advance(1_000);
  start("two");
  await clock.advance(leaderRetryMs);
  // At all points of the time between two renewals.
  for (let round = 0; round < 20; round++) {
    await clock.advance(leaderRenewMs * 3 + 263);
    cluster.server.delete(kinds.lease, at);
    await clock.advance(leaderRenewMs);
    assert.ok(cluster.server.get(kinds.lease, at));
    assert.deepEqual([[...leaders], most()], [["one"], 1]);
  }
});

test("a copy that starts while the Lease is deleted does not lead beside the leader, and says that it waits", async (t) => {
  const { clock, cluster, leaders, start, most } = openStage(t);
  start("one");
  await clock.advance(1_000);
  for (const [round, name] of ["two", "three", "four", "five"].entries()) {
    await clock.advance(leaderRenewMs + 1_200 * round);
    cluster.server.delete(kinds.lease, at);
    const { leadership } = start(name);
    await clock.advance(1);
    assert.match(leadership.waitingFor ?? "", /the Lease is missing/);
    await clock.advance(leaderDurationMs);
    assert.deepEqual([[...leaders], most(), leadership.waitingFor], [["one"], 1, "one leads"]);
  }
});

test("without any Lease the first copy leads once no other can, and with a released one at once", async (t) => {
  const { clock, cluster, leaders, start } = openStage(t);
  cluster.server.delete(kinds.lease, at);
  const { stop } = start("one");
  await clock.advance(leaderDurationMs);
  assert.deepEqual([...leaders], []);
  await clock.advance(leaderRetryMs);
  assert.deepEqual([...leaders], ["one"]);
  await stop();
  start("two");
  await clock.advance(1);
  assert.deepEqual([...leaders], ["two"]);
});

test("a leader whose Lease was deleted and made anew by another stops at its next renewal", async (t) => {
  const { clock, cluster, leaders, start } = openStage(t);
  const { leadership } = start("one");
  await clock.advance(1_000);
  const live = cluster.server.get(kinds.lease, at);
  assert.ok(live);
  cluster.server.delete(kinds.lease, at);
  const spec = { ...(live["spec"] as object), holderIdentity: "another instance" };
  cluster.server.create(kinds.lease, { metadata: at, spec }, "test");
  await clock.advance(leaderRenewMs);
  assert.deepEqual([[...leaders], leadership.waitingFor], [[], "another instance leads"]);
});

test("when the leader dies and its Lease is deleted, another leads once that one must have stopped", async (t) => {
  const { clock, cluster, leaders, start, most } = openStage(t);
  start("one");
  await clock.advance(1_000);
  start("two");
  await clock.advance(leaderRetryMs);
  for (const verb of ["update", "create"] as const) cluster.faults.forbid(verb, kinds.lease);
  cluster.server.delete(kinds.lease, at);
  await clock.advance(leaderGiveUpMs);
  assert.deepEqual([...leaders], []);
  cluster.faults.clear();
  await clock.advance(leaderDurationMs);
  assert.deepEqual([leaders.size, most()], [1, 1]);
});

for (const answerMs of [1_500, 2_600, 3_000]) {
  test(`an API server that takes ${answerMs} ms for each answer costs no one the lead`, async (t) => {
    const { clock, cluster, leaders, start, most } = openStage(t);
    cluster.faults.slow(answerMs);
    start("one");
    await clock.advance(2 * answerMs);
    assert.deepEqual([...leaders], ["one"]);
    start("two");
    for (let seconds = 0; seconds < 600; seconds++) {
      await clock.advance(1_000);
      assert.deepEqual([...leaders], ["one"]);
    }
    assert.equal(most(), 1);
  });
}

test("the lease duration counts from when a slow first write was sent", async (t) => {
  const { clock, cluster, leaders, start } = openStage(t);
  const answerMs = 4_000;
  cluster.faults.slow(answerMs);
  start("one");
  await clock.advance(2 * answerMs);
  assert.deepEqual([...leaders], ["one"]);
  cluster.faults.forbid("update", kinds.lease);
  await clock.advance(leaderGiveUpMs - answerMs);
  assert.deepEqual([...leaders], []);
});

test("a renewal is one write", async (t) => {
  const { clock, cluster, start } = openStage(t);
  start("one");
  await clock.advance(1_000);
  const before = cluster.counts.requests;
  await clock.advance(10 * leaderRenewMs);
  assert.equal(cluster.counts.requests - before, 10);
});

test("a word whose answer was lost, or that another client wrote beside, costs no one the lead", async (t) => {
  const { clock, cluster, leaders, start, most } = openStage(t);
  start("one");
  await clock.advance(1_000);
  start("two");
  for (let round = 0; round < 20; round++) {
    cluster.faults.loseAnswer({ verb: "update", kind: kinds.lease });
    await clock.advance(leaderRenewMs);
    assert.deepEqual([...leaders], ["one"]);
    const live = cluster.server.get(kinds.lease, at);
    assert.ok(live);
    const metadata = { ...live.metadata, annotations: { round: `${round}` } };
    cluster.server.update(kinds.lease, { ...live, metadata }, "kubectl");
    await clock.advance(leaderRenewMs);
    assert.deepEqual([...leaders], ["one"]);
  }
  assert.equal(most(), 1);
});

test("whatever the API server does to three copies, no two of them lead at once", async (t) => {
  for (let seed = 1; seed <= 4; seed++) {
    const random = createSeededRandom(seed);
    const { clock, cluster, leaders, start, most } = openStage(t);
    const copies = ["one", "two", "three"].map((identity) => start(identity));
    for (let round = 0; round < 100; round++) {
      cluster.faults.clear();
      const kind = kinds.lease;
      const errors = [
        () => cluster.faults.slow(random.int(7_000)),
        () => cluster.faults.forbid("update", kind),
        () => cluster.faults.loseAnswer({ kind, times: 3 }),
        () => cluster.faults.reject({ status: 503, kind, times: 3 }),
        () => cluster.server.get(kind, at) && cluster.server.delete(kind, at),
        () => undefined,
      ];
      errors[random.int(errors.length)]?.();
      await clock.advance(random.int(20_000));
      assert.ok(most() <= 1, `seed ${seed}, round ${round}`);
    }
    cluster.faults.clear();
    await clock.advance(2 * leaderDurationMs);
    assert.equal(leaders.size, 1);
    for (const { stop } of copies) await stop();
  }
});

test("one without the namespace of its Lease says so, and leads when there is one", async (t) => {
  const { clock, cluster, leaders, start } = openStage(t);
  cluster.server.delete(kinds.namespace, { name: at.namespace });
  await clock.advance(10_000);
  const { leadership } = start("one");
  await clock.advance(leaderDurationMs + leaderRetryMs);
  assert.match(leadership.waitingFor ?? "", /akash-services/);
  cluster.server.create(kinds.namespace, { metadata: { name: at.namespace } }, "test");
  await clock.advance(leaderRetryMs);
  assert.deepEqual([...leaders], ["one"]);
});
