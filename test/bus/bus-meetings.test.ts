/** Where services of a whole provider meet over the bus, and what is left of that without one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { awaitedManifestRecheckMs } from "../../src/cluster/leases/lease-loop.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant } from "../support/lease-tenant.ts";
import { cell } from "../support/samples/lease-sdl.ts";
import { onLeaseStage } from "../support/stages/lease-stage.ts";

const shown = [kinds.namespace, kinds.manifest, kinds.deployment, kinds.service, kinds.networkPolicy];

/** How long after a manifest was received its lease was looked at, and what came of it in the cluster. */
async function deploy(dir: string, isPlugged: boolean) {
  const result = { waitedMs: 0, objects: [] as string[], history: [] as string[] };
  await onLeaseStage({ dir, blockMs: 6_000 }, async (stage) => {
    const life = stage.start();
    const { bus, journal } = await life.services;
    if (!isPlugged) bus.publish = () => undefined;
    const tenant = createTenant(stage, 1n);
    await tenant.post(cell());
    await tenant.takeBid();
    const waiting = () => life.status().cluster?.leaseStates["waiting for manifest"];
    await stage.until("it waits", () => waiting() === 1);
    await tenant.sendManifest(cell());
    const sentAtMs = stage.clock.now();
    await stage.until("a look", () => waiting() === 0);
    result.waitedMs = stage.clock.now() - sentAtMs;
    await tenant.runs(cell());
    await stage.atRest();
    result.objects = shown.flatMap((kind) => stage.cluster.server.list(kind).map(({ metadata }) => metadata.name));
    result.history = journal.read.history.about(formatLeaseId(tenant.lease), 99).map(({ line }) => line);
  });
  return result;
}

test("a manifest wakes its lease over the bus; unplugged, it waits for the next recheck and nothing else changes", async (t) => {
  const { waitedMs, ...plugged } = await deploy(memoryFolder(t), true);
  const { waitedMs: unpluggedMs, ...unplugged } = await deploy(memoryFolder(t), false);
  assert.ok(waitedMs <= 1_000, `${waitedMs} ms`);
  assert.ok(unpluggedMs > 1_000 && unpluggedMs <= awaitedManifestRecheckMs + 3_000, `${unpluggedMs} ms`);
  assert.deepEqual(unplugged, plugged);
});
