/** What leases use, beside what is leased: on a simulated cluster with a metrics API, through a provider that runs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../src/kube/kinds.ts";
import { parseBytes, parseQuantity } from "../src/market/quantity.ts";
import { memoryFolder } from "./folder.ts";
import { cell, shop } from "./lease-sdl.ts";
import { type LeaseStage, onLeaseStage } from "./lease-stage.ts";
import { createTenant } from "./lease-tenant.ts";

const mi = 2n ** 20n;

test("a lease's usage is that of its pods and of no other's, beside all that its group leases", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t) }, async (stage) => {
    const [shopper, other] = [createTenant(stage, 1n), createTenant(stage, 2n)];
    const { cluster } = await stage.start().house;
    await shopper.deploy(shop());
    await stage.meanwhile(30_000);
    // Too new to be measured.
    await other.deploy(cell());
    const [ofShop, ofOther] = await cluster.leasesInUse();
    assert.deepEqual(ofShop?.usage, await measured(stage, shopper.namespace));
    assert.deepEqual(ofShop?.leased, {
      cpuMilli: 200n,
      // With the file system that is memory.
      memoryBytes: 144n * mi,
      storageBytes: 2n * 64n * mi + 1024n * mi,
    });
    assert.deepEqual(ofOther?.usage, { unknown: "not measured" });
    await stage.meanwhile(30_000);
    assert.deepEqual((await cluster.leasesInUse())[1]?.usage, await measured(stage, other.namespace));
    stage.cluster.faults.forbid("list", kinds.podMetrics);
    await stage.meanwhile(30_000);
    const lines = await cluster.leasesInUse();
    assert.deepEqual(
      lines.map(({ state, usage }) => [state, usage]),
      lines.map(() => ["deployed", { unknown: "forbidden" }]),
      "the rest is told",
    );
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
