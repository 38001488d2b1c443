import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { kinds } from "../../kube/kinds.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { silentLog } from "../../runtime/log.ts";
import { createUsageReading, usageAnswerMs, usageKeptMs, usedByNamespace } from "./lease-usage.ts";

function pod(namespace: string, ...containers: (Record<string, unknown> | string)[]): KubeObject {
  return { metadata: { name: "any", namespace }, containers: containers.map((usage) => ({ name: "c", usage })) };
}

test("all containers of all pods of a namespace are summed up exactly, and rounded once", () => {
  const used = usedByNamespace([
    pod("one", { cpu: "779964n", memory: "9788Ki" }, { cpu: "1u", memory: "512m" }),
    pod("one", { cpu: "2", memory: "512m" }),
    pod("two", { cpu: "0", memory: "1Gi", "ephemeral-storage": "3Mi", "nvidia.com/gpu": "1" }),
  ]);
  assert.deepEqual(used.get("one"), { cpuNano: 2_000_780_964n, memoryBytes: 9_788n * 1024n + 2n });
  assert.deepEqual(used.get("two"), { cpuNano: 0n, memoryBytes: 2n ** 30n, storageBytes: 3n * 2n ** 20n });
});

test("a namespace of which a figure makes no sense, or is missing, is left out as a whole", () => {
  const fine = { cpu: "1m", memory: "1Mi" };
  for (const odd of [{ cpu: "-1m", memory: "1Mi" }, { cpu: "much", memory: "1Mi" }, { cpu: "1m" }, {}, "usage"]) {
    const used = usedByNamespace([pod("odd", odd), pod("odd", fine), pod("sound", fine)]);
    assert.deepEqual([...used.keys()], ["sound"], JSON.stringify(odd));
  }
  for (const containers of [undefined, null, "two", { 0: fine }, []]) {
    const odd = { metadata: { name: "odd", namespace: "odd" }, containers };
    const used = usedByNamespace([odd, pod("odd", fine), pod("sound", fine)]);
    assert.deepEqual([...used.keys()], ["sound"], JSON.stringify(containers));
  }
});

function stage(owner: Owner, metrics: boolean) {
  const clock = createVirtualClock();
  const cluster = simulateKube(owner, { clock, ...(metrics && { metrics: { afterMs: 0 } }) });
  const read = createUsageReading(cluster.connect("akash-provider"), { clock, log: silentLog });
  /** While time passes; with how long it took. */
  async function usage() {
    const fromMs = clock.now();
    let answer: Awaited<ReturnType<typeof read>> | undefined;
    read().then((given) => {
      answer = given;
    }, assert.fail);
    await clock.advanceUntil(() => answer !== undefined, 60_000);
    return { answer, tookMs: clock.now() - fromMs };
  }
  return { clock, cluster, usage };
}

test("a cluster without a metrics API, one that forbids it and one that fails say so in a word", async (t) => {
  assert.deepEqual((await stage(t, false).usage()).answer, { unknown: "no metrics API" });
  const forbidden = stage(t, true);
  forbidden.cluster.faults.forbid("list", kinds.podMetrics);
  assert.deepEqual((await forbidden.usage()).answer, { unknown: "forbidden" });
  const failing = stage(t, true);
  failing.cluster.faults.reject({ status: 503, kind: kinds.podMetrics, times: 100 });
  const { answer, tookMs } = await failing.usage();
  assert.deepEqual(answer, { unknown: "no answer" });
  assert.ok(tookMs <= usageAnswerMs, `${tookMs} ms`);
});

test("a slow metrics API delays the answer up to its deadline only", async (t) => {
  const { cluster, usage } = stage(t, true);
  cluster.faults.slow(60_000);
  const { answer, tookMs } = await usage();
  assert.deepEqual([answer, tookMs], [{ unknown: "no answer" }, usageAnswerMs]);
});

test("the metrics API is read on request only, and a reading is kept for a few seconds", async (t) => {
  const { clock, cluster, usage } = stage(t, true);
  await clock.advance(600_000);
  assert.equal(cluster.counts.requests, 0);
  await usage();
  await clock.advance(usageKeptMs - 1);
  await Promise.all([usage(), usage()]);
  assert.equal(cluster.counts.requests, 1);
  await clock.advance(1);
  await usage();
  assert.equal(cluster.counts.requests, 2);
});
