import assert from "node:assert/strict";
import { test } from "node:test";
import type { Owner } from "../../test/support/owner.ts";
import { createSeededRandom } from "../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { createSimulatedCluster } from "../box/cluster/simulated-kube.ts";
import { silentLog } from "../runtime/log.ts";
import { createEventRecorder, type EventToRecord, eventsKept, eventsPerMinute } from "./event-recorder.ts";
import { kinds } from "./kinds.ts";
import type { KubeObject } from "./kube.ts";

const missing: EventToRecord = {
  regarding: { apiVersion: "v1", kind: "Node", name: "one", uid: "u-1" },
  type: "Warning",
  reason: "DiscoveryMissing",
  action: "Look",
  note: "its discovery pod does not answer",
};

interface Reported {
  readonly metadata: { readonly namespace: string };
  readonly note: string;
  readonly eventTime: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

function start(owner: Owner) {
  const clock = createVirtualClock();
  const deps = { clock, random: createSeededRandom(1), log: silentLog };
  const cluster = createSimulatedCluster({ nodes: [] }, deps);
  const kube = cluster.connect("test");
  const recorder = createEventRecorder({ controller: "akash.network/test", instance: "test-1" }, { ...deps, kube });
  const stopping = new AbortController();
  const running = recorder.run(stopping.signal);
  owner.after(async () => {
    stopping.abort();
    await running;
    await cluster.close();
  });
  const events = (): readonly Reported[] => cluster.server.list(kinds.event) as readonly (KubeObject & Reported)[];
  const written = (count: number) => clock.advanceUntil(() => recorder.counts.written === count, 3_600_000);
  return { clock, cluster, recorder, events, written };
}

test("error is reported as an Event of the object that has it", async (t) => {
  const { recorder, events, written } = start(t);
  recorder.record(missing);
  await written(1);
  assert.partialDeepStrictEqual(events(), [
    {
      ...missing,
      metadata: { namespace: "default" },
      reportingController: "akash.network/test",
      reportingInstance: "test-1",
    },
  ]);
  assert.match(events()[0]?.eventTime ?? "", /\.\d{6}Z$/);
});

test("error that goes on is counted in the one Event, now and then", async (t) => {
  const { clock, recorder, events } = start(t);
  for (let minute = 0; minute <= 21; minute++) {
    recorder.record(missing);
    await clock.advance(60_000);
  }
  assert.equal(recorder.counts.written, 3);
  const [event, ...others] = events();
  assert.deepEqual(others, []);
  assert.equal(event?.series?.count, 21);
  assert.ok(event.series.lastObservedTime > event.eventTime);
});

test("an Event whose words change is followed by another, but not each time", async (t) => {
  const { clock, recorder, events } = start(t);
  for (let second = 0; second < 600; second += 10) {
    recorder.record({ ...missing, note: `${second} s without an answer` });
    await clock.advance(10_000);
  }
  assert.deepEqual(
    events()
      .map(({ note }) => note)
      .sort(),
    ["0 s without an answer", "300 s without an answer"],
  );
});

test("many errors are reported at a pace, and each in the end", async (t) => {
  const { clock, recorder, events } = start(t);
  const many = eventsPerMinute * 3;
  for (let index = 0; index < many; index++) {
    recorder.record({ ...missing, regarding: { ...missing.regarding, name: `n${index}` } });
  }
  await clock.advance(1_000);
  assert.ok(events().length <= eventsPerMinute + 1, `${events().length}`);
  await clock.advance(60_000);
  assert.ok(events().length <= 2 * eventsPerMinute + 2, `${events().length}`);
  await clock.advance(120_000);
  assert.equal(events().length, many);
});

test("the number of series is bounded", async (t) => {
  const { recorder } = start(t);
  for (let index = 0; index < 3 * eventsKept; index++) {
    recorder.record({ ...missing, regarding: { ...missing.regarding, name: `n${index}` } });
  }
  assert.ok(recorder.queue.size <= eventsKept);
});

test("a long note is cut where the API server would reject it, between two characters", async (t) => {
  const { recorder, events, written } = start(t);
  recorder.record({ ...missing, note: "ä".repeat(1_000) });
  await written(1);
  assert.equal(events()[0]?.note, `${"ä".repeat(510)}…`);
});

test("an Event that could not be written is written when it is recorded again", async (t) => {
  const { clock, cluster, recorder, events, written } = start(t);
  cluster.faults.forbid("patch", kinds.event);
  recorder.record(missing);
  await clock.advanceUntil(() => recorder.counts.failed === 1, 3_600_000);
  assert.equal(events().length, 0);
  cluster.faults.allow("patch", kinds.event);
  recorder.record(missing);
  await written(1);
  assert.equal(events().length, 1);
});
