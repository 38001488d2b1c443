/** The inventory operator's conditions as Kubernetes Events. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { hardware, stage } from "../support/stages/inventory-stage.ts";

const minuteMs = 60_000;
const self = { apiVersion: "v1", kind: "Pod", namespace: "tenants", name: "operator", uid: "u-1" };

interface RecordedEvent {
  readonly regarding: { readonly kind: string; readonly name: string; readonly uid?: string };
  readonly reason: string;
  readonly note: string;
  readonly reportingController: string;
}

/** Without Events of the kubelet. */
function eventsOf({ server }: SimulatedCluster): readonly RecordedEvent[] {
  const all = server.list(kinds.event) as unknown as readonly RecordedEvent[];
  return all.filter(({ reportingController }) => reportingController === "akash.network/operator-inventory");
}

test("a condition that lasts is an Event of its node, and none that passes is", async (t) => {
  let answers = true;
  const { cluster, clock, node, until } = await stage(t, { self, hardware: () => (answers ? hardware : undefined) });
  await until("hardware", () => node("one")?.hardware);
  await clock.advance(5 * minuteMs);
  assert.deepEqual(eventsOf(cluster), [], "no Events after a start");
  answers = false;
  await until("Events", () => eventsOf(cluster).length === 2);
  const uid = cluster.server.get(kinds.node, { name: "one" })?.metadata.uid;
  const event = eventsOf(cluster).find(({ regarding }) => regarding.name === "one");
  assert.deepEqual(event?.regarding, { apiVersion: "v1", kind: "Node", name: "one", uid });
  assert.equal(event?.reason, "DiscoveryMissing");
  assert.match(event?.note ?? "", /does not answer/);
});

test("a condition of the whole is an Event of the operator's own pod", async (t) => {
  const { cluster, until } = await stage(t, { self, config: "version: v1\ncluster_storage: [absent]" });
  await until("an Event", () => eventsOf(cluster).length > 0);
  assert.partialDeepStrictEqual(eventsOf(cluster), [{ regarding: self, reason: "StorageNotSold" }]);
});
