import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { createVirtualClock, type VirtualClock } from "../../test/support/virtual-clock.ts";
import { sleep } from "./clock.ts";
import { ProviderError } from "./errors.ts";
import { createLifecycle, type Scope, type Service, type ServiceState, untilAborted } from "./lifecycle.ts";
import { silentLog } from "./log.ts";

function setUp(start: Record<string, (scope: Scope, clock: VirtualClock) => Promise<void> | void>) {
  const clock = createVirtualClock();
  const abort = new AbortController();
  const services: Service[] = Object.entries(start).map(([name, begin]) => ({
    name,
    start: (scope) => begin(scope, clock),
  }));
  const lifecycle = createLifecycle({ services, clock, log: silentLog, startMs: 5_000, shutdownMs: 10_000 });
  const changes: string[] = [];
  lifecycle.onChange(({ name, state }) => changes.push(`${name} ${state}`));
  const states = () => lifecycle.services.map(({ state }) => state);
  return { clock, abort, lifecycle, changes, states };
}

test("services start in order and stop in the opposite order", async () => {
  const { clock, abort, lifecycle, changes } = setUp({
    journal: (scope) => scope.task("writes", untilAborted),
    bus: async (_, clock) => sleep(clock, 100),
    bidengine: (scope) => scope.task("loop", untilAborted),
  });
  const ended = lifecycle.run(abort.signal);
  await clock.advance(200);
  abort.abort();
  await ended;
  assert.deepEqual(changes, [
    ...["journal running", "bus running", "bidengine running"],
    ...["bidengine shutdown", "bidengine done", "bus shutdown", "bus done", "journal shutdown", "journal done"],
  ]);
});

test("a service that dies takes the others down in order, and the reason is told", async () => {
  const { clock, abort, lifecycle, states } = setUp({
    journal: (scope) => scope.task("writes", untilAborted),
    bus: (scope, clock) => scope.task("link", async () => sleep(clock, 1_000).then(() => assert.fail("link lost"))),
  });
  const ended = assert.rejects(lifecycle.run(abort.signal), { code: "AKP_SERVICE_DIED", message: /bus.*link lost/ });
  await clock.advance(1_000);
  await ended;
  assert.deepEqual(states(), ["done", "done"]);
  assert.equal(lifecycle.services[1]?.error?.code, "AKP_SERVICE_DIED");
});

test("a service that dies while a later one starts is noticed at once, not when that start gives up", async () => {
  const { clock, abort, lifecycle, changes } = setUp({
    chain: (scope, clock) => scope.task("follow", async () => sleep(clock, 100).then(() => assert.fail("node lost"))),
    waitsForChain: (scope) => untilAborted(scope.signal),
  });
  const ended = assert.rejects(lifecycle.run(abort.signal), { code: "AKP_SERVICE_DIED", message: /chain.*node lost/ });
  await clock.advance(200);
  await ended;
  assert.deepEqual(changes, [
    ...["chain running", "waitsForChain shutdown", "waitsForChain done", "chain shutdown", "chain done"],
  ]);
});

test("a task that ends before it was asked to is a death as well", async () => {
  const { abort, lifecycle } = setUp({ bus: (scope) => scope.task("link", async () => undefined) });
  await assert.rejects(lifecycle.run(abort.signal), { message: /its task link ended/ });
});

test("a service that cannot start stops the ones before it; the later ones are never begun", async () => {
  const { abort, lifecycle, changes } = setUp({
    journal: () => undefined,
    bus: () => {
      throw new ProviderError("AKP_DISK_FULL", { path: "/data" });
    },
    never: () => assert.fail("must not start"),
  });
  await assert.rejects(lifecycle.run(abort.signal), { code: "AKP_DISK_FULL" });
  assert.deepEqual(changes, ["journal running", "bus shutdown", "bus done", "journal shutdown", "journal done"]);
});

test("a start that hangs is given up after its limit", async () => {
  const { clock, abort, lifecycle } = setUp({ stuck: (scope) => untilAborted(scope.signal) });
  const ended = assert.rejects(lifecycle.run(abort.signal), { code: "AKP_SERVICE_START_FAILED" });
  await clock.advance(5_000);
  await ended;
});

test("what a start registers after the stop was asked for is still cleaned up", async () => {
  const cleaned: string[] = [];
  const { clock, abort, lifecycle } = setUp({
    slow: async (scope, clock) => {
      await sleep(clock, 1_000);
      scope.onStop(() => void cleaned.push("slow"));
    },
  });
  const ended = lifecycle.run(abort.signal);
  await clock.advance(10);
  abort.abort();
  await clock.advance(2_000);
  await ended;
  assert.deepEqual(cleaned, ["slow"]);
});

test("a service that will not stop is named after the deadline, and the others are stopped all the same", async () => {
  const closed: string[] = [];
  const { clock, abort, lifecycle } = setUp({
    journal: (scope) => scope.onStop(() => void closed.push("journal")),
    stubborn: (scope) => scope.task("loop", () => new Promise(() => undefined)),
  });
  const ended = assert.rejects(lifecycle.run(abort.signal), { code: "AKP_SHUTDOWN_LATE", message: /stubborn/ });
  await clock.advance(1);
  abort.abort();
  await clock.advance(10_001);
  await ended;
  assert.deepEqual(closed, ["journal"]);
});

test("cleanups run latest first, and one that throws does not keep the others from running", async () => {
  const order: number[] = [];
  const { clock, abort, lifecycle } = setUp({
    one: (scope) => {
      scope.onStop(() => void order.push(1));
      scope.onStop(() => assert.fail("disk gone"));
      scope.onStop(() => void order.push(3));
    },
  });
  const ended = assert.rejects(lifecycle.run(abort.signal), { message: /disk gone/ });
  await clock.advance(1);
  abort.abort();
  await ended;
  assert.deepEqual(order, [3, 1]);
});

type Fate = "well" | "failsToStart" | "hangsAtStart" | "dies" | "hangsAtStop";

test("whatever happens to whom, all are done or named, in order, within the deadline (model)", async () => {
  const rank: Record<ServiceState, number> = { init: 0, running: 1, shutdown: 2, done: 3 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          fate: fc.constantFrom<Fate>("well", "well", "well", "failsToStart", "hangsAtStart", "dies", "hangsAtStop"),
          startMs: fc.integer({ min: 0, max: 4_000 }),
          lifeMs: fc.integer({ min: 0, max: 20_000 }),
          // Five that hang leave the sixth a thirty-second of the deadline, 312 ms.
          stopMs: fc.integer({ min: 0, max: 300 }),
        }),
        { minLength: 1, maxLength: 6 },
      ),
      fc.integer({ min: 0, max: 30_000 }),
      async (plans, abortAtMs) => {
        const cleaned: string[] = [];
        const begun: string[] = [];
        const { clock, abort, lifecycle } = setUp(
          Object.fromEntries(
            plans.map(({ fate, startMs, lifeMs, stopMs }, index) => [
              `s${index}`,
              async (scope: Scope, clock: VirtualClock) => {
                begun.push(`s${index}`);
                scope.onStop(() => void cleaned.push(`s${index}`));
                if (fate === "hangsAtStart") return new Promise<void>(() => undefined);
                await sleep(clock, startMs);
                if (fate === "failsToStart") throw new Error("cannot start");
                scope.task("life", async (signal) => {
                  if (fate === "dies") return sleep(clock, lifeMs, signal);
                  await untilAborted(signal);
                  if (fate === "hangsAtStop") return new Promise<void>(() => undefined);
                  return sleep(clock, stopMs);
                });
              },
            ]),
          ),
        );
        const last = new Map<string, ServiceState>();
        let shutdownBegan: number | undefined;
        lifecycle.onChange(({ name, state }) => {
          assert.ok(rank[state] > rank[last.get(name) ?? "init"], `${name} went back to ${state}`);
          last.set(name, state);
          if (state === "shutdown") shutdownBegan ??= clock.monotonicMs();
        });
        let end: { error?: unknown; atMs: number } | undefined;
        void lifecycle.run(abort.signal).then(
          () => (end = { atMs: clock.monotonicMs() }),
          (error) => (end = { error, atMs: clock.monotonicMs() }),
        );
        await clock.advance(abortAtMs);
        abort.abort();
        await clock.advance(60_000);
        assert.ok(end, "it never ended");
        if (shutdownBegan !== undefined) assert.ok(end.atMs - shutdownBegan <= 10_000, "later than the deadline");
        assert.deepEqual(cleaned, [...cleaned].sort().reverse(), "stopped out of order");
        const hung = plans.flatMap(({ fate }, index) => (fate.startsWith("hangs") ? [`s${index}`] : []));
        for (const name of begun) {
          assert.ok(cleaned.includes(name) || hung.includes(name), `${name} was left running`);
        }
        assert.equal(cleaned.length, new Set(cleaned).size, "cleaned up twice");
        if (plans.every(({ fate }) => fate === "well")) assert.equal(end.error, undefined);
      },
    ),
    { numRuns: runs(150, 5_000) },
  );
});
