import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod } from "../shapes/pod.ts";
import { type Behaviour, behaviourOf } from "./behaviour.ts";
import { probeTimes } from "./probes.ts";

const pod: Pod = { metadata: { name: "p", uid: "u" }, spec: { containers: [] } };

function times(probes: Partial<Container>, behaviour: Behaviour) {
  const container: Container = { name: "c", image: "i", ...probes };
  return probeTimes(
    container,
    behaviourOf(() => behaviour, { pod, container, restarts: 0 }),
    0,
  );
}

test("without a readiness probe a container is ready when it runs, whatever it does", () => {
  assert.equal(times({}, { readyMs: 60_000 }).readyAtMs, 0);
});

test("a container is ready at the first probe that finds it so", () => {
  const readinessProbe = { initialDelaySeconds: 5, periodSeconds: 10 };
  assert.equal(times({ readinessProbe }, { readyMs: 2_000 }).readyAtMs, 5_000);
  assert.equal(times({ readinessProbe }, { readyMs: 6_000 }).readyAtMs, 15_000);
  assert.equal(times({ readinessProbe: { ...readinessProbe, successThreshold: 3 } }, {}).readyAtMs, 25_000);
  assert.equal(times({ readinessProbe }, { readyMs: Number.POSITIVE_INFINITY }).readyAtMs, Number.POSITIVE_INFINITY);
});

test("so many failures in a row make it unready, and kill it where liveness is probed", () => {
  const probe = { periodSeconds: 10, failureThreshold: 3 };
  const { unreadyAtMs, killAtMs } = times(
    { readinessProbe: probe, livenessProbe: probe },
    { unhealthyAfterMs: 31_000 },
  );
  assert.equal(unreadyAtMs, 60_000);
  assert.equal(killAtMs, 60_000);
});

test("a container that does not start in time is killed by its startup probe", () => {
  const startupProbe = { periodSeconds: 10, failureThreshold: 3 };
  assert.equal(times({ startupProbe }, { readyMs: 20_000 }).startedAtMs, 20_000);
  const late = times({ startupProbe }, { readyMs: 20_001 });
  assert.deepEqual([late.killAtMs, late.killedBy], [20_000, "startup"]);
});
