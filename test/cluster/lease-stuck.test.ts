/** A stateful set waits for ever for a pod that never becomes ready: what puts it right has to get past that one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { leaseDefaults } from "../../src/cluster/leases/lease-options.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { memoryFolder } from "../support/folder.ts";
import { leaseStage, shop } from "../support/stages/lease-keeper-stage.ts";

const { monitor } = leaseDefaults;

test("a store that keeps its data and never came up runs once its tenant has put it right, with the same volume", async (t) => {
  const behaviour = (image: string) => (image === "sick:1" ? { missing: true } : undefined);
  const stage = await leaseStage(t, { dir: memoryFolder(t), behaviour });
  const lease = stage.won(1);
  const life = await stage.start({ monitor });
  await life.send(lease, shop({ store: "sick:1" }).manifest);
  await stage.clock.advance(60_000);
  const state = () => life.health?.get(formatLeaseId(lease))?.state;
  assert.equal(state(), "unhealthy");
  const claims = () =>
    stage.cluster.server
      .list(kinds.persistentVolumeClaim, { namespace: leaseNamespace(lease) })
      .map(({ metadata }) => metadata.uid);
  const before = claims();
  await life.send(lease, shop({ store: "store:2" }).manifest);
  await stage.until("it runs", () => state() === "healthy");
  assert.deepEqual(claims(), before);
});

test("a pod of the newest template that does not work is left to its set", async (t) => {
  const behaviour = (image: string) => (image.startsWith("sick") ? { missing: true } : undefined);
  const stage = await leaseStage(t, { dir: memoryFolder(t), behaviour });
  const lease = stage.won(1);
  const life = await stage.start({ monitor });
  await life.send(lease, shop().manifest);
  await stage.clock.advance(30_000);
  await life.send(lease, shop({ store: "sick:1" }).manifest);
  await stage.clock.advance(30_000);
  const store = () =>
    [...stage.cluster.server.list(kinds.pod, { namespace: leaseNamespace(lease) })]
      .filter(({ metadata }) => metadata.name === "store-0")
      .map(({ metadata }) => metadata.uid);
  const before = store();
  assert.equal(before.length, 1);
  await stage.clock.advance(300_000);
  assert.deepEqual(store(), before);
});
