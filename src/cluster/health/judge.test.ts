import assert from "node:assert/strict";
import { test } from "node:test";
import { type HealthFacts, judge } from "./judge.ts";
import type { LeaseHealth } from "./lease-health.ts";
import type { PodFacts } from "./pod-health.ts";

const nowMs = Date.UTC(2026, 0, 1, 12);
const base: PodFacts = {
  ...{ service: "web", ofSet: false, createdAtMs: nowMs - 60_000, state: "ready", on: "a" },
  ...{ problem: undefined, endedAtMs: undefined },
};
const pods = (...some: Partial<PodFacts>[]) => some.map((each) => ({ ...base, ...each }));
const crash = { reason: "CrashLoop", message: "it ends by itself", isTenantsFault: true } as const;

function health(given: Partial<HealthFacts>, before?: LeaseHealth): LeaseHealth {
  const services = [{ name: "web", count: 2 }];
  const workloads = new Map([["web", { isSet: false, failure: undefined }]]);
  return judge(
    { services, pods: [], workloads, claims: [], isNodeReady: () => true, takesPods: () => true, nowMs, ...given },
    before,
  );
}

/** "1/2 healthy: CrashLoop ×1" */
function brief({ state, services, troubles }: LeaseHealth): string {
  const counts = services.map(({ ready, wanted }) => `${ready}/${wanted}`);
  return [counts.join(" "), state, ...troubles.map(({ reason, replicas }) => `${reason} ×${replicas}`)].join(" ");
}

test("a lease is healthy when every service has as many ready replicas as it wants", () => {
  assert.equal(brief(health({ pods: pods({}, {}) })), "2/2 healthy");
  assert.equal(brief(health({ pods: pods({}, {}, { state: "unready", problem: crash }) })), "2/2 healthy");
  assert.equal(brief(health({ services: [] })), " healthy");
  assert.equal(brief(health({ pods: pods({}, { state: "leaving" }) })), "1/2 unhealthy NotReady ×1");
  assert.equal(brief(health({ pods: pods({}, { service: "other" }) })), "1/2 unhealthy NotReady ×1");
});

test("a pod that the workload of the other kind left does not count", () => {
  assert.equal(brief(health({ pods: pods({}, { ofSet: true }) })), "1/2 unhealthy NotReady ×1");
});

test("every missing replica has one problem, merged by reason, the gravest first", () => {
  const starting = { state: "unready" } as const;
  const crashing = { state: "unready", problem: crash } as const;
  assert.equal(brief(health({ pods: pods(starting, crashing) })), "0/2 unhealthy CrashLoop ×1 NotReady ×1");
  assert.equal(brief(health({ pods: pods(crashing, crashing) })), "0/2 unhealthy CrashLoop ×2");
  assert.equal(brief(health({})), "0/2 unhealthy NotReady ×2");
});

test("what is starting says so, and what has not come up for long says that", () => {
  const message = (some: Partial<PodFacts>) =>
    health({ services: [{ name: "web", count: 1 }], pods: pods({ state: "unready", ...some }) }).troubles[0]?.message;
  assert.equal(message({}), "it is starting");
  assert.equal(message({ createdAtMs: nowMs - 3_600_000 }), "it has not become ready yet");
});

test("pods that cannot be created are reported, without the cluster's own words", () => {
  const quota = new Map([["web", { isSet: false, failure: 'pods "web-x" is forbidden: exceeded quota: q1' }]]);
  const judged = health({ workloads: quota });
  assert.equal(brief(judged), "0/2 unhealthy NotCreated ×2");
  assert.equal(judged.troubles[0]?.message, "its replica cannot be made: more than it may have here");
});

test("a volume that is not there yet is what its pod waits for", () => {
  const claims = [{ service: "web", storageClass: "beta3", phase: "Pending" }];
  const judged = health({
    services: [{ name: "web", count: 1 }],
    claims,
    pods: pods({ state: "unready", on: undefined }),
  });
  assert.equal(judged.troubles[0]?.reason, "VolumeNotBound");
  assert.match(judged.troubles[0]?.message ?? "", /class beta3/);
});

test("pods on an unreachable node are lost, also ready ones and those being deleted", () => {
  const isNodeReady = (node: string) => node !== "gone";
  const lost = { on: "gone" } as const;
  assert.equal(brief(health({ isNodeReady, pods: pods({}, lost) })), "1/2 unhealthy NodeLost ×1");
  const leaving = { ...lost, state: "leaving" } as const;
  assert.equal(brief(health({ isNodeReady, pods: pods({}, leaving) })), "1/2 unhealthy NodeLost ×1");
  const replaced = pods({}, leaving, { state: "unready", problem: crash });
  assert.equal(brief(health({ isNodeReady, pods: replaced })), "1/2 unhealthy CrashLoop ×1");
});

test("a pod with a volume that no node takes while nodes are closed waits for the one that has it", () => {
  const problem = { reason: "Unschedulable", message: "no machine can take it now", nodesAway: true } as const;
  const facts = { services: [{ name: "web", count: 1 }], pods: pods({ state: "unready", on: undefined, problem }) };
  const claims = [{ service: "web", storageClass: "beta3", phase: "Bound" }];
  assert.equal(brief(health({ ...facts, claims })), "0/1 unhealthy VolumeNotBound ×1");
  assert.equal(brief(health(facts)), "0/1 unhealthy Unschedulable ×1");
});

test("of replicas that are missing, those are unobserved that are so for no fault of the tenant", () => {
  const [service] = health({ pods: pods({ state: "unready", problem: crash }) }).services;
  assert.deepEqual(service, { name: "web", wanted: 2, ready: 0, unobserved: 1 });
});

test("an eviction is reported while its successor starts", () => {
  const evicted = { reason: "Evicted", message: "memory" } as const;
  const ended = { state: "ended", problem: evicted, endedAtMs: nowMs - 60_000 } as const;
  assert.equal(brief(health({ pods: pods({}, { state: "unready" }, ended) })), "1/2 unhealthy Evicted ×1 NotReady ×1");
  assert.equal(brief(health({ pods: pods({}, {}, ended) })), "2/2 healthy");
  const old = { ...ended, endedAtMs: nowMs - 7_200_000 };
  assert.equal(brief(health({ pods: pods({}, { state: "unready" }, old) })), "1/2 unhealthy NotReady ×1");
});

test("a problem is as old as it is, and a pull that is tried again does not forget why it failed", () => {
  const error = (message: string) => pods({}, { state: "unready", problem: { reason: "ImageError", message } });
  const first = health({ pods: error('image "x" cannot be pulled: there is no such image or tag') });
  const next = health({ pods: error('image "x" cannot be pulled'), nowMs: nowMs + 5_000 }, first);
  assert.deepEqual(next, first);
  const other = health({ pods: error('image "y" cannot be pulled'), nowMs: nowMs + 5_000 }, first);
  assert.deepEqual(
    other.troubles.map(({ message, sinceMs }) => [message, sinceMs]),
    [['image "y" cannot be pulled', nowMs]],
  );
});
