/** Watches beside writes, on a real API server over TLS. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { controlPlaneMissing, startControlPlane } from "../../lab/own-control-plane.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { limits } from "../../src/runtime/limits.ts";
import { configMap } from "../kube.contract.ts";
import { openKube } from "./open-kube.ts";

const watches = 300;

test("writes wait for none of hundreds of watches that stand still", {
  skip: controlPlaneMissing(),
  timeout: 120_000,
}, async (t) => {
  const { kubeconfig } = await startControlPlane(t);
  const kube = openKube(t, kubeconfig);
  await kube.create(kinds.namespace, { metadata: { name: "quiet" } });
  /** Of the quickest of some rounds, each with more writes than there are sockets for them. */
  const writeMs = async (name: string) => {
    const took: number[] = [];
    for (let round = 0; round < 10; round++) {
      const startMs = performance.now();
      const names = Array.from({ length: 2 * limits.kubeSockets }, (_, n) => `${name}-${round}-${n}`);
      await Promise.all(names.map((each) => kube.create(kinds.configMap, configMap("default", each, {}))));
      took.push(performance.now() - startMs);
    }
    return Math.min(...took);
  };
  const beforeMs = await writeMs("before");
  const watch = () =>
    kube.watch({ kind: kinds.configMap, namespace: "quiet", project: () => undefined, handle: () => undefined });
  const caches = Array.from({ length: watches }, watch);
  await Promise.all(caches.map((cache) => cache.synced()));
  const duringMs = await writeMs("during");
  assert.ok(caches.every(({ counts }) => counts.errors === 0 && counts.connections === 1));
  const told = `${Math.round(beforeMs)} ms before, ${Math.round(duringMs)} ms beside them`;
  t.diagnostic(told);
  assert.ok(duringMs < 3 * beforeMs + 20, told);
});
