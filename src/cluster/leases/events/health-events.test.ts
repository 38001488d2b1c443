import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { memoryFolder } from "../../../../test/support/folder.ts";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { openJournal } from "../../../journal/open.ts";
import { silentLog } from "../../../runtime/log.ts";
import { type HealthReason, type HealthView, healthStartingMs, type LeaseHealth } from "../../health/lease-health.ts";
import { createHealthEvents, problemOverMs } from "./health-events.ts";
import { eventRowsOfLease } from "./lease-history.ts";

const lease = "lease-1";
const second = 1_000;
const minute = 60 * second;

/** Health as a test says it is, and processes that judge by it, one after the other on one journal. */
function healthEventStage(t: TestContext) {
  const clock = createVirtualClock();
  const dir = memoryFolder(t);
  let now: LeaseHealth | undefined;
  let listeners: Parameters<HealthView["onChange"]>[0][] = [];
  const recorded: string[] = [];

  function becomes(health: LeaseHealth | undefined): void {
    const before = now;
    now = health;
    for (const listener of listeners) listener(lease, now, before);
  }

  async function start() {
    listeners = [];
    const { journal } = await openJournal({ dir, clock, log: silentLog });
    const { queue } = createHealthEvents({
      ...{ journal, clock, random: createSeededRandom(1), log: silentLog },
      health: { get: () => now, onChange: (listener) => void listeners.push(listener) },
      recordEvent: (_, { type, reason, service, note }) => void recorded.push(`${type} ${reason} ${service}: ${note}`),
      onRow: () => undefined,
    });
    const stopping = new AbortController();
    const running = queue.run(stopping.signal);
    // As a health keeper does when it has looked at everything for the first time.
    if (now) becomes(now);
    await clock.advance(second);
    return {
      rows: () => journal.read.occurrences.about(lease, 1_000).map(({ reason, count }) => `${reason} ${count}`),
      async stop() {
        stopping.abort();
        await Promise.all([running, clock.advance(second)]);
        await Promise.all([journal.close(), clock.settle()]);
      },
    };
  }

  const ill = (reason: HealthReason = "CrashLoop"): LeaseHealth => ({
    state: "unhealthy",
    services: [{ name: "web", wanted: 1, ready: 0, unobserved: 0 }],
    troubles: [{ service: "web", reason, message: "it ends again and again", replicas: 1, sinceMs: clock.now() }],
  });
  return { clock, start, becomes, recorded, ill };
}

const well: LeaseHealth = { state: "healthy", services: [], troubles: [] };
const unknown: LeaseHealth = { state: "unknown", services: [], troubles: [] };
const [begun, over] = ["Warning CrashLoop web: it ends again and again", "Normal Recovered web: CrashLoop is over"];

test("a lasting error is recorded once, and its recovery once that lasts too", async (t) => {
  const { clock, start, becomes, recorded, ill } = healthEventStage(t);
  const life = await start();
  becomes(ill());
  await clock.advance(5 * second);
  becomes(well);
  await clock.advance(10 * minute);
  assert.deepEqual([recorded, life.rows()], [[], []], "a short problem is not recorded");
  // In a crash loop it runs for a moment now and then.
  for (let crash = 0; crash < 10; crash += 1) {
    becomes(ill());
    await clock.advance(minute);
    becomes(well);
    await clock.advance(30 * second);
  }
  assert.deepEqual([recorded, life.rows()], [[begun], ["CrashLoop 1"]]);
  await clock.advance(problemOverMs);
  assert.deepEqual(
    [recorded, life.rows().sort()],
    [
      [begun, over],
      ["CrashLoop 1", "Recovered 1"],
    ],
  );
  becomes(ill());
  await clock.advance(minute);
  assert.deepEqual([recorded.length, life.rows().sort()], [3, ["CrashLoop 2", "Recovered 1"]]);
  await life.stop();
});

test("more failing services than rows of a lease → each is recorded once, and its recovery too", async (t) => {
  const { clock, start, becomes, recorded } = healthEventStage(t);
  const life = await start();
  const services = eventRowsOfLease + 50;
  const sinceMs = clock.now();
  const troubles = Array.from({ length: services }, (_, at) => {
    return { service: `web-${at}`, reason: "CrashLoop" as const, message: "it ends", replicas: 1, sinceMs };
  });
  for (let change = 0; change < 5; change += 1) {
    becomes({ state: "unhealthy", services: [], troubles });
    await clock.advance(minute);
  }
  assert.equal(recorded.length, services);
  becomes(well);
  await clock.advance(10 * minute);
  assert.equal(recorded.length, 2 * services);
  assert.equal(life.rows().length, eventRowsOfLease);
  await life.stop();
});

test("a restart records nothing again, and what ended meanwhile is over then", async (t) => {
  const { clock, start, becomes, recorded, ill } = healthEventStage(t);
  let life = await start();
  becomes(ill());
  await clock.advance(minute);
  await life.stop();
  life = await start();
  await clock.advance(10 * minute);
  assert.deepEqual([recorded, life.rows()], [[begun], ["CrashLoop 1"]]);
  await life.stop();
  becomes(well);
  life = await start();
  await clock.advance(problemOverMs);
  assert.deepEqual(
    [recorded, life.rows().sort()],
    [
      [begun, over],
      ["CrashLoop 1", "Recovered 1"],
    ],
  );
  await life.stop();
});

test("unknown health begins and ends nothing; what is not to run any more does not recover", async (t) => {
  const { clock, start, becomes, recorded, ill } = healthEventStage(t);
  const life = await start();
  becomes(ill());
  await clock.advance(minute);
  becomes(unknown);
  await clock.advance(10 * minute);
  assert.deepEqual(recorded, [begun]);
  becomes(undefined);
  await clock.advance(minute);
  assert.deepEqual([recorded, life.rows()], [[begun], ["CrashLoop 1"]]);
  becomes(well);
  await clock.advance(10 * minute);
  assert.deepEqual(recorded, [begun]);
  await life.stop();
});

test("a starting workload is reported as not ready after a grace period only", async (t) => {
  const { clock, start, becomes, recorded, ill } = healthEventStage(t);
  const life = await start();
  becomes(ill("NotReady"));
  await clock.advance(healthStartingMs - second);
  assert.deepEqual(recorded, []);
  await clock.advance(2 * second);
  assert.equal(recorded.length, 1);
  await life.stop();
});
