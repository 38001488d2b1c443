/** What leases use, beside what is leased: on a simulated cluster with a metrics API, through a provider that runs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { parseBytes, parseQuantity } from "../../src/market/quantity.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant } from "../support/lease-tenant.ts";
import { shop } from "../support/samples/lease-sdl.ts";
import { type LeaseStage, onLeaseStage } from "../support/stages/lease-stage.ts";

const mi = 2n ** 20n;

test("a lease's usage is that of its pods, beside all that its group leases; without it the rest is shown", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t), blockMs: 2_000 }, async (stage) => {
    const tenant = createTenant(stage, 1n);
    const { cluster } = await stage.start().services;
    await tenant.deploy(shop());
    const [tooNew] = await cluster.leasesInUse();
    assert.deepEqual(tooNew?.usage, { unknown: "not measured" });
    await stage.meanwhile(30_000);
    const [line] = await cluster.leasesInUse();
    assert.deepEqual(line?.usage, await measured(stage, tenant.namespace));
    assert.deepEqual(line?.leased, {
      cpuMilli: 200n,
      // With the file system that is memory.
      memoryBytes: 144n * mi,
      storageBytes: 2n * 64n * mi + 1024n * mi,
    });
    stage.cluster.faults.forbid("list", kinds.podMetrics);
    await stage.meanwhile(10_000);
    const [{ state, usage } = {}] = await cluster.leasesInUse();
    assert.deepEqual([state, usage], ["deployed", { unknown: "forbidden" }]);
  });
});

/** By what the cluster shows to anybody. */
async function measured({ observer }: LeaseStage, namespace: string) {
  const pods = await observer.list(kinds.podMetrics, { namespace });
  type Containers = readonly { readonly usage: { readonly cpu: string; readonly memory: string } }[];
  const usages = pods.flatMap(({ containers }) => (containers as Containers).map(({ usage }) => usage));
  assert.ok(usages.length > 0);
  return {
    cpuNano: usages.reduce((sum, { cpu }) => sum + parseQuantity(cpu).nano, 0n),
    memoryBytes: usages.reduce((sum, { memory }) => sum + parseBytes(memory), 0n),
  };
}
