import assert from "node:assert/strict";
import { test } from "node:test";
import type { Owner } from "../../../../test/support/owner.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { createUsageReadings, inventoryUsagePeriodMs, measuredUsage } from "./usage-readings.ts";

const missing = new ProviderError("AKP_KUBE_KIND_MISSING", {
  verb: "list",
  resource: "nodes.metrics.k8s.io",
  status: 404,
  reason: "404 page not found",
});

/** `answer`: what the metrics API says, which may be that it is not there. */
function stage(t: Owner, answer: () => KubeObject[]) {
  const clock = createVirtualClock();
  const changed: string[] = [];
  const kube = { list: async () => answer() };
  const usage = createUsageReadings({ kube, clock, onChange: (node) => changed.push(node) });
  const stop = new AbortController();
  const running = usage.run(stop.signal).catch((thrown: unknown) => {
    if (!stop.signal.aborted) throw thrown;
  });
  t.after(async () => {
    stop.abort();
    await running;
  });
  return { usage, changed, nextReading: () => clock.advance(inventoryUsagePeriodMs) };
}

function metrics(name: string, cpu: string, memory = "1Gi"): KubeObject {
  return { metadata: { name }, usage: { cpu, memory } };
}

test("use is reported while the cluster has a metrics API", async (t) => {
  let now: KubeObject[] | undefined;
  const { usage, changed, nextReading } = stage(t, () => {
    if (!now) throw missing;
    return now;
  });
  await nextReading();
  assert.equal(usage.of("one"), undefined);
  assert.deepEqual(changed, []);
  now = [metrics("one", "250m")];
  await nextReading();
  assert.deepEqual(usage.of("one"), { cpuMilli: 250n, memoryBytes: 2n ** 30n });
  assert.deepEqual(changed.splice(0), ["one"]);
  now = undefined;
  await nextReading();
  assert.equal(usage.of("one"), undefined);
  assert.deepEqual(changed, ["one"]);
});

test("only nodes whose use has changed are reported", async (t) => {
  let now = [metrics("one", "1"), metrics("two", "2"), metrics("three", "3")];
  const { usage, changed, nextReading } = stage(t, () => now);
  await nextReading();
  assert.deepEqual(changed.splice(0), ["one", "two", "three"]);
  now = [metrics("one", "1"), metrics("two", "2500m")];
  await nextReading();
  assert.deepEqual(changed.toSorted(), ["three", "two"]);
  assert.equal(usage.of("two")?.cpuMilli, 2_500n);
  assert.equal(usage.of("three"), undefined);
});

test("a measurement that makes no sense is none, and the others count", async (t) => {
  const { usage, nextReading } = stage(t, () => [metrics("one", "many"), metrics("two", "2")]);
  await nextReading();
  assert.equal(usage.of("one"), undefined);
  assert.equal(usage.of("two")?.cpuMilli, 2_000n);
});

const metadata = { name: "a" };

test("measured use is read in the units of the metrics API", () => {
  const usage = { cpu: "1250000001n", memory: "2097152Ki" };
  assert.deepEqual(measuredUsage({ metadata, usage }), { cpuMilli: 1_251n, memoryBytes: 2n ** 31n });
});

test("a measurement that is incomplete or makes no sense is none", () => {
  const bad = [undefined, {}, { cpu: "1" }, { cpu: "much", memory: "1Ki" }, { cpu: "-1", memory: "1Ki" }];
  for (const usage of bad) assert.equal(measuredUsage({ metadata, usage }), undefined);
});
