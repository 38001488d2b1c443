import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeededRandom } from "../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { condition } from "./condition.ts";
import type { Service } from "./lifecycle.ts";
import { silentLog } from "./log.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { createProcess } from "./process.ts";
import { createQueue } from "./queue.ts";

const deps = { clock: createVirtualClock(), random: createSeededRandom(1), log: silentLog };

function measured(name: string, start: Service["start"]): Service {
  return {
    name,
    start,
    measure: (metrics) => metrics.read({ name: `akash_provider_${name}`, help: name, kind: "gauge" }, () => 1),
  };
}

async function isServed(metrics: Metrics, name: string): Promise<boolean> {
  return new RegExp(`^akash_provider_${name} 1$`, "m").test(await metrics.text());
}

test("a service is measured once it has started, and one that waits does not hold back those before it", async () => {
  const metrics = createMetrics();
  const gate = Promise.withResolvers<void>();
  const services = [measured("first", () => undefined), measured("second", () => gate.promise)];
  const process = createProcess({ services, metrics, ...deps });
  const stopping = new AbortController();
  const running = process.run(stopping.signal);
  await deps.clock.settle();
  assert.deepEqual([await isServed(metrics, "first"), await isServed(metrics, "second")], [true, false]);
  gate.resolve();
  await deps.clock.settle();
  assert.equal(await isServed(metrics, "second"), true);
  stopping.abort();
  await running;
});

test("a service that cannot start is not measured", async () => {
  const metrics = createMetrics();
  const services = [measured("broken", () => Promise.reject(new Error("no port")))];
  const process = createProcess({ services, metrics, ...deps });
  await assert.rejects(process.run(new AbortController().signal), /no port/);
  assert.equal(await isServed(metrics, "broken"), false);
});

test("a queue that comes with the start is in the status and the metrics from then on", async () => {
  const metrics = createMetrics();
  const queue = createQueue({ name: "late", work: () => Promise.reject(new Error("not run here")), ...deps });
  let started = false;
  const service: Service = {
    name: "late",
    start: () => {
      started = true;
    },
    get queues() {
      return started ? [queue] : [];
    },
    status: () => (started ? { size: queue.size } : undefined),
  };
  const process = createProcess({ services: [service], metrics, ...deps });
  assert.deepEqual([process.status().queues, process.status().statuses], [[], { late: undefined }]);
  const stopping = new AbortController();
  const running = process.run(stopping.signal);
  await deps.clock.settle();
  assert.deepEqual(
    process.status().queues.map(({ name }) => name),
    ["late"],
  );
  assert.deepEqual(process.status().statuses, { late: { size: 0 } });
  assert.match(await metrics.text(), /^akash_provider_queue_keys\{queue="late",state="ready"\} 0$/m);
  stopping.abort();
  await running;
});

test("a service's silence about its conditions counts from when it runs until anything stops", async () => {
  const gate = Promise.withResolvers<void>();
  const low = condition("WalletLow", "low");
  const first: Service = { name: "first", start: () => undefined, conditions: () => [low] };
  const second: Service = { name: "second", start: () => gate.promise };
  const process = createProcess({ services: [first, second], metrics: createMetrics(), ...deps });
  const stopping = new AbortController();
  const running = process.run(stopping.signal);
  const conditions = [{ ...low, service: "first" }];
  await deps.clock.settle();
  assert.deepEqual(process.conditions(), { conditions, running: new Set(["first"]), isComplete: false });
  gate.resolve();
  await deps.clock.settle();
  assert.deepEqual(process.conditions(), { conditions, running: new Set(["first", "second"]), isComplete: true });
  stopping.abort();
  await running;
  assert.deepEqual(process.conditions(), { conditions: [], running: new Set(), isComplete: false });
});
