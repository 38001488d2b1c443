import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../../test/runs.ts";
import type { Deployment, ReplicaSet, Share } from "../shapes/workload.ts";
import { boundsOf, newReplicas, replicasOf, resize, shrinkOld, total } from "./rollout.ts";

function deployment(replicas: number, maxSurge: Share, maxUnavailable: Share): Deployment {
  const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } };
  const template = { spec: { containers: [] } };
  return { metadata: { name: "d", uid: "d" }, spec: { replicas, selector: {}, template, strategy } };
}

function set(name: string, replicas: number, availableReplicas = replicas): ReplicaSet {
  const spec = { replicas, selector: {}, template: { spec: { containers: [] } } };
  return { metadata: { name, uid: name }, spec, status: { replicas, availableReplicas } };
}

test("shares of the surge are rounded up, of the unavailable down, and never both to nothing", () => {
  assert.deepEqual(boundsOf(deployment(10, "25%", "25%")), { replicas: 10, maxSurge: 3, maxUnavailable: 2 });
  assert.deepEqual(boundsOf(deployment(1, "25%", "25%")), { replicas: 1, maxSurge: 1, maxUnavailable: 0 });
  assert.deepEqual(boundsOf(deployment(3, 0, "10%")), { replicas: 3, maxSurge: 0, maxUnavailable: 1 });
});

test("old replicas that do not work go first, and cost nothing", () => {
  const bounds = boundsOf(deployment(3, 1, 0));
  const scalings = shrinkOld(bounds, set("new", 1, 1), [set("broken", 3, 0)]);
  assert.deepEqual(
    scalings.map(({ to }) => to),
    [2],
  );
});

test("a rollout never has more replicas nor fewer available ones than it may, and it ends", () => {
  const share = fc.oneof(
    fc.integer({ min: 0, max: 5 }),
    fc.integer({ min: 0, max: 100 }).map((n) => `${n}%`),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), share, share, (replicas, maxSurge, maxUnavailable) => {
      const bounds = boundsOf(deployment(replicas, maxSurge, maxUnavailable));
      let [old, newest] = [set("old", replicas), set("new", 0)];
      for (let round = 0; replicasOf(old) > 0 || replicasOf(newest) < replicas; round++) {
        assert.ok(round < 100, "it does not end");
        const to = newReplicas(bounds, [old, newest], replicasOf(newest));
        if (to !== replicasOf(newest)) newest = set("new", to);
        for (const scaling of shrinkOld(bounds, newest, [old])) old = set("old", scaling.to);
        assert.ok(total([old, newest]) <= replicas + bounds.maxSurge);
        assert.ok(total([old, newest]) >= replicas - bounds.maxUnavailable);
      }
    }),
    { numRuns: runs(100, 10_000) },
  );
});

test("a deployment that is resized in the middle of a rollout keeps the proportions of its sets", () => {
  const bounds = boundsOf(deployment(20, 0, 1));
  assert.deepEqual(
    resize(bounds, [set("old", 8), set("new", 2)]).map(({ to }) => to),
    [16, 4],
  );
  const none = boundsOf(deployment(0, 0, 1));
  assert.deepEqual(
    resize(none, [set("old", 8), set("new", 2)]).map(({ to }) => to),
    [0, 0],
  );
});
