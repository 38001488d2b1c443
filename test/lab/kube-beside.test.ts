/** Watches beside writes, on a real API server over TLS. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { controlPlaneMissing, sharedControlPlane } from "../../lab/own-control-plane.ts";
import { kubeSockets } from "../../src/kube/http/agents.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { configMap } from "../support/contracts/kube.contract.ts";
import { eventually } from "../support/eventually.ts";
import { openKube } from "./open-kube.ts";

const watches = 300;
const [still, busy] = ["beside-still", "beside-busy"];

test("writes wait for none of hundreds of watches that stand still", {
  skip: controlPlaneMissing(),
  timeout: 120_000,
}, async (t) => {
  const kube = openKube(t, await sharedControlPlane(t));
  for (const name of [still, busy]) await kube.create(kinds.namespace, { metadata: { name } });
  const watch = () =>
    kube.watch({ kind: kinds.configMap, namespace: still, project: () => undefined, handle: () => undefined });
  const caches = Array.from({ length: watches }, watch);
  await Promise.all(caches.map((cache) => cache.synced()));
  await eventually("every watch", () => caches.every(({ counts }) => counts.connections > 0));
  const connections = () => caches.map(({ counts }) => counts.connections).join();
  let round = 0;
  // If watches took the connections for calls, a call would be answered only when a watch ends.
  await eventually("writes while no watch ends", async () => {
    const before = connections();
    round += 1;
    const names = Array.from({ length: 2 * kubeSockets }, (_, n) => `map-${round}-${n}`);
    await Promise.all(names.map((name) => kube.create(kinds.configMap, configMap(busy, name, {}))));
    return connections() === before;
  });
  assert.ok(caches.every(({ counts }) => counts.errors === 0));
});
