import assert from "node:assert/strict";
import { test } from "node:test";
import { commonCause, type SharedUse, type UnhealthyLease } from "./circuit-breaker.ts";
import type { HealthReason } from "./lease-health.ts";
import type { PodFacts } from "./pod-health.ts";

interface Given {
  readonly owners?: readonly string[];
  readonly reason?: HealthReason;
  readonly on?: string;
  readonly storageClass?: string;
  readonly failure?: string;
  readonly rejection?: string;
}

const three = ["ann", "ben", "cat"];

/** One lease of each owner, with the same failure. */
function leases({
  owners = three,
  reason = "CrashLoop",
  on,
  storageClass,
  failure,
  rejection,
}: Given): UnhealthyLease[] {
  const service = "web";
  const problem = { service, reason, message: "", replicas: 1, sinceMs: 0 };
  const pods = [{ service, state: "unready", on } as PodFacts];
  const claims = storageClass === undefined ? [] : [{ service, storageClass, phase: "Bound" }];
  const workloads = new Map([[service, { isSet: false, failure }]]);
  const facts = { pods, claims, workloads, rejection, isNodeReady: () => true };
  return owners.map((owner) => ({ owner, problems: [problem], facts: () => facts }));
}

/** So many owners use what is shared, those of the unhealthy leases among them. */
function used(shared: string, count: number): () => SharedUse[] {
  return () => Array.from({ length: count }, (_, at) => [shared, three[at] ?? `owner ${at}`]);
}

const noUse = () => [];

test("unhealthy leases of three owners and of more than a fifth of all have a common cause", () => {
  assert.equal(commonCause(leases({}), 14, noUse), "leases of 3 of 14 owners are unhealthy at once");
  assert.equal(commonCause(leases({}), 15, noUse), undefined);
  assert.equal(commonCause(leases({ owners: ["ann", "ben"] }), 2, noUse), undefined);
  assert.equal(commonCause(leases({ owners: ["ann", "ann", "ann"] }), 1, noUse), undefined);
  assert.equal(commonCause([], 0, noUse), undefined);
});

test("of those on one node or with volumes of one storage class, more than a fifth is enough", () => {
  const onNode = (count: number) => commonCause(leases({ on: "a" }), 100, used("node a", count));
  assert.equal(onNode(14), "on node a, leases of 3 of 14 owners are unhealthy at once");
  assert.equal(onNode(15), undefined);
  const beta3 = commonCause(leases({ storageClass: "beta3" }), 100, used("storage class beta3", 14));
  assert.equal(beta3, "on storage class beta3, leases of 3 of 14 owners are unhealthy at once");
});

test("a storage class or a webhook that blocks leases of three owners is enough, however many others use it", () => {
  const causeOf = (given: Given) => commonCause(leases(given), 100, used("storage class beta3", 100));
  for (const reason of ["VolumeNotBound", "NotReady"] as const) {
    const cause = causeOf({ reason, storageClass: "beta3" });
    assert.equal(cause, "storage class beta3 keeps leases of 3 owners from working");
  }
  const words = 'failed calling webhook "validate.example.com": connection refused';
  const webhook = "webhook validate.example.com keeps leases of 3 owners from working";
  assert.equal(causeOf({ reason: "NotCreated", failure: words }), webhook);
  const denied = 'Kubernetes refused (403): admission webhook "validate.example.com" denied the request: no';
  assert.equal(causeOf({ reason: "NotCreated", rejection: denied }), webhook);
});
