import assert from "node:assert/strict";
import { test } from "node:test";
import { condition } from "../runtime/condition.ts";
import { healthConditions, hostnameConditions, leaseConditions, listedLeases } from "./conditions.ts";
import type { HealthProblem } from "./health/lease-health.ts";
import { createLeaseStates, type LeaseStatus } from "./leases/lease-states.ts";

const [ann, mallory] = ["akash1ann", "akash1mallory"];
const leaseOf = (owner: string, dseq: number) => `${owner}/${dseq}/1/1/akash1provider`;
const words = ({ type, subject = "all" }: { type: string; subject?: string }) => `${type} of ${subject}`;

function statesOf(all: Iterable<readonly [string, LeaseStatus]>) {
  const states = createLeaseStates(() => undefined);
  for (const [key, state] of all) states.note(key, state);
  return states;
}

test("caches not current → ClusterUnknown beside the last known conditions of each lease", () => {
  const key = leaseOf(ann, 1);
  const states = statesOf([[key, { state: "deployed", addressless: ["blue"] }]]);
  const error = "the API server does not answer";
  assert.deepEqual(leaseConditions({ states, error: undefined }).map(words), [`AddressPending of ${key}`]);
  const away = ["ClusterUnknown of all", `AddressPending of ${key}`];
  assert.deepEqual(leaseConditions({ states, error }).map(words), away);
  // Its loop has looked meanwhile, and seen nothing.
  states.note(key, { state: "unknown", why: error });
  assert.deepEqual(leaseConditions({ states, error }).map(words), away);
  assert.deepEqual(states.get(key), { state: "unknown", why: error });
  states.note(key, { state: "deployed" });
  assert.deepEqual(leaseConditions({ states, error: undefined }), []);
});

test("no condition for a lease that is gone or was never known", () => {
  const [gone, blank] = [leaseOf(ann, 1), leaseOf(ann, 2)];
  const states = statesOf([
    [gone, { state: "deployed", addressless: ["blue"] }],
    [blank, { state: "unknown", why: "the chain is not known" }],
  ]);
  states.forget(gone);
  assert.deepEqual(leaseConditions({ states, error: undefined }), []);
});

test("many leases of one tenant do not hide those of others, and the rest is counted", () => {
  const many = Array.from({ length: listedLeases + 10 }, (_, at) => leaseOf(mallory, at + 1));
  const state: LeaseStatus = { state: "deployed", heldByOthers: ["a.com: held"] };
  const one = leaseOf(ann, 1);
  const states = statesOf([...many.map((key) => [key, state] as const), [one, { ...state, addressless: ["blue"] }]]);
  const conditions = leaseConditions({ states, error: undefined });
  const ofAnn = conditions.filter(({ subject }) => subject === one).map(({ type }) => type);
  assert.deepEqual(ofAnn, ["LeaseWithheld", "AddressPending"]);
  assert.equal(conditions.filter(({ subject }) => subject !== undefined).length, listedLeases);
  assert.deepEqual(
    conditions.filter(({ subject }) => subject === undefined),
    [condition("LeaseWithheld", "12 more leases: see akash-provider leases")],
  );
});

test("many unhealthy leases of one tenant do not hide those of others", () => {
  const error: HealthProblem = {
    service: "web",
    reason: "CrashLoop",
    message: "exits again and again",
    replicas: 1,
    sinceMs: 0,
  };
  const many = Array.from({ length: listedLeases }, (_, at) => leaseOf(mallory, at + 1));
  const alarms = () => [...many, leaseOf(ann, 1)].map((key) => [key, [error]] as const);
  const conditions = healthConditions({ alarms, circuitBreaker: () => undefined });
  assert.ok(conditions.some(({ subject }) => subject === leaseOf(ann, 1)));
  assert.equal(conditions.at(-1)?.message, "1 more leases: see akash-provider leases");
});

test("a name that another lease of the same tenant has, as after a move, is no condition", () => {
  const states = statesOf([
    [leaseOf(ann, 1), { state: "deployed", withheld: ["a.com: held by lease x of the same owner"] }],
  ]);
  assert.deepEqual(leaseConditions({ states, error: undefined }), []);
});

test("many unhealthy host names of one tenant do not hide those of others, and the rest is counted", () => {
  const rejected = (host: string, lease: string) => ({ host, lease, health: "refused", why: "" }) as const;
  const many = Array.from({ length: listedLeases + 1 }, (_, at) => rejected(`a${at}.com`, leaseOf(mallory, at)));
  const unhealthy = () => [...many, rejected("b.com", leaseOf(ann, 1))];
  const feed = { unhealthy, unserved: () => [], error: undefined, missing: undefined };
  const conditions = [...hostnameConditions(feed, () => true)];
  assert.equal(conditions[1]?.message, `lease ${leaseOf(ann, 1)}: b.com is refused`);
  assert.equal(conditions.at(-1)?.message, "2 more host names are not healthy");
});
