/** Host names and endpoints that an owner moves from one lease to another, and where they stay whatever happens then. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { migrationMs, migrationsWaiting } from "../../src/cluster/leases/lease-moves.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { readSdl, type Sdl } from "../../src/market/sdl/sdl.ts";
import type { Boundary } from "../../src/runtime/boundary.ts";
import { createCountingBoundary } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import { memoryFolder } from "../support/folder.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { simulateIpOperator } from "../support/simulated-ip-operator.ts";
import { type Life, leaseStage, type LeaseStage as Stage } from "../support/stages/lease-keeper-stage.ts";
import { quickTest } from "../support/thorough.ts";

const [a, b] = ["a.example.com", "b.example.com"];
const never = new AbortController().signal;
const anyService = () => undefined;

/** A page with two names and two addresses, and another service with a name of its own. */
function site(own = "own.example.com"): Sdl {
  const resources = { cpu: { units: "100m" }, memory: { size: "64Mi" }, storage: [{ size: "64Mi" }] };
  const world = { global: true };
  return readSdl(
    JSON.stringify({
      version: "2.1",
      endpoints: { blue: { kind: "ip" }, red: { kind: "ip" } },
      services: {
        page: {
          image: "page:1",
          expose: [
            { port: 8080, as: 80, accept: [a, b], to: [world] },
            { port: 7000, to: [{ ...world, ip: "blue" }] },
            { port: 7001, to: [{ ...world, ip: "red" }] },
          ],
        },
        other: { image: "other:1", expose: [{ port: 8080, as: 80, accept: [own], to: [world] }] },
      },
      profiles: {
        compute: { small: { resources } },
        placement: { box: { pricing: { small: { denom: "uact", amount: 10_000 } } } },
      },
      deployment: {
        page: { box: { profile: "small", count: 1 } },
        other: { box: { profile: "small", count: 1 } },
      },
    }),
  );
}

interface Held {
  readonly hosts: Readonly<Record<string, number>>;
  readonly ports: Readonly<Record<string, number>>;
}

/** Which lease has what, by the number of its deployment. */
function held(stage: Stage): Held {
  const of = (kind: Kind) =>
    stage.cluster.server
      .list(kind)
      .map((object) => [object.metadata.name.replace(/^akash1\w+-ip-/, ""), dseqIn(object["spec"])]);
  return {
    hosts: Object.fromEntries(of(kinds.providerHost)),
    ports: Object.fromEntries(of(kinds.providerLeasedIp)),
  };
}

function dseqIn(spec: unknown): number {
  const { dseq, lease_id: lease } = spec as { dseq?: number; lease_id?: { dseq: string } };
  return Number(dseq ?? lease?.dseq);
}

/** Two leases of one owner that want the same; the first has it. */
async function openStage(owner: Owner, boundary?: Boundary) {
  const stage = await leaseStage(owner, { dir: memoryFolder(owner) });
  simulateIpOperator(owner, stage.cluster);
  const [first, second] = [stage.won(1, site()), stage.won(2, site("second.example.com"))] as const;
  const life = await stage.start({ ...(boundary && { boundary }) });
  for (const lease of [first, second]) {
    await life.step(lease);
    await life.send(lease, site(lease === first ? undefined : "second.example.com").manifest);
    await stage.until("deployed", () => life.state(lease) === "deployed");
  }
  return { stage, first, second, life };
}

const before: Held = {
  hosts: { [a]: 1, [b]: 1, "own.example.com": 1, "second.example.com": 2 },
  ports: { "blue-tcp-7000": 1, "red-tcp-7001": 1 },
};
const after: Held = { hosts: { ...before.hosts, [a]: 2 }, ports: { ...before.ports, "blue-tcp-7000": 2 } };

async function move(stage: Stage, life: Life, to: LeaseId, hosts: string[], endpoints: string[]): Promise<void> {
  const { moves } = life.keeper;
  const moving = Promise.all([
    hosts.length > 0 && moves.moveHosts(hosts, to, anyService, never),
    endpoints.length > 0 && moves.moveEndpoints(endpoints, to, anyService, never),
  ]);
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  moving.then(over, over);
  await stage.until("an answer", () => isOver, 2 * migrationMs);
  await moving;
}

quickTest(
  "one name and one endpoint move, and stay through looks, a restart and the end of the lease that had them",
  async (t) => {
    const { stage, first, second, life } = await openStage(t);
    assert.deepEqual(held(stage), before);
    const uid = stage.cluster.server.get(kinds.providerHost, { namespace: "lease", name: a })?.metadata.uid;
    await move(stage, life, second, [a], ["blue"]);
    assert.deepEqual(held(stage), after);
    await move(stage, life, second, [a, a], ["blue", "blue"]);
    for (const lease of [first, second]) life.keeper.wake(`${lease.owner}/${lease.dseq}/1/1/${lease.provider}`);
    await stage.clock.advance(20_000);
    assert.deepEqual(held(stage), after);
    assert.equal(stage.cluster.server.get(kinds.providerHost, { namespace: "lease", name: a })?.metadata.uid, uid);

    await life.stop();
    const next = await stage.start();
    await stage.clock.advance(5_000);
    assert.deepEqual(held(stage), after);
    assert.equal(next.kube.counts.applied, 0);
    stage.becomes(first, "closed");
    await next.step(first);
    await stage.until("torn down", () => next.state(first) === undefined);
    await stage.until("what is left is the other's", () => Object.keys(held(stage).hosts).length === 3);
    const all = {
      hosts: { [a]: 2, [b]: 2, "second.example.com": 2 },
      ports: { "blue-tcp-7000": 2, "red-tcp-7001": 2 },
    };
    await stage.until(
      "he has all that he wants",
      () => held(stage).hosts[b] === 2 && held(stage).ports["red-tcp-7001"] === 2,
    );
    assert.deepEqual(held(stage), all);
  },
);

quickTest("nothing moves unless all of it may", async (t) => {
  const { stage, second, life } = await openStage(t);
  const { moves } = life.keeper;
  const page = (service: string) => assert.notEqual(service, "page", "refused");
  const rows: [string, Promise<void>, RegExp][] = [
    [
      "a name that it does not want",
      moves.moveHosts([a, "c.example.com"], second, anyService, never),
      /^the hostname "c/,
    ],
    [
      "in capitals",
      moves.moveHosts([a.toUpperCase()], second, anyService, never),
      /^the hostname "A\.EX.*" is not used/,
    ],
    ["with quotes", moves.moveHosts(['a"b'], second, anyService, never), /^the hostname "a\\"b" is not used/],
    [
      "an endpoint",
      moves.moveEndpoints(["blue", "b"], second, anyService, never),
      /^the endpoint "b" does not exist in/,
    ],
    ["a service of it", moves.moveHosts(["second.example.com", a], second, page, never), /refused/],
    ["a service of an endpoint", moves.moveEndpoints(["blue"], second, page, never), /refused/],
  ];
  for (const [what, moving, message] of rows) await assert.rejects(moving, { message }, what);
  // One whose services are among those that may.
  await moves.moveHosts(["second.example.com"], second, page, never);
  await stage.clock.advance(5_000);
  assert.deepEqual(held(stage), before);
});

quickTest("requests of one owner wait for each other, and no more of them than may", async (t) => {
  const { stage, first, second, life } = await openStage(t);
  const ask = (to: LeaseId) => life.keeper.moves.moveHosts([a], to, anyService, never);
  const asked = Array.from({ length: migrationsWaiting }, (_, at) => ask(at % 2 === 0 ? second : first));
  await assert.rejects(ask(second), { code: "AKP_MIGRATION_BUSY" });
  let answered = 0;
  for (const each of asked) void each.then(() => (answered += 1));
  await stage.until("all have an answer", () => answered === asked.length);
  assert.deepEqual(held(stage), before);
  await move(stage, life, second, [a], []);
  assert.equal(held(stage).hosts[a], 2);
});

quickTest("a lease that is over, has no manifest or had it taken back is no destination", async (t) => {
  const { stage, second, life } = await openStage(t);
  const asked = (to: LeaseId) => life.keeper.moves.moveHosts([a], to, anyService, never);
  await assert.rejects(asked(stage.won(3, site())), { code: "AKP_DESTINATION_UNKNOWN" });
  await life.withdraw(second);
  await assert.rejects(asked(second), { code: "AKP_HOSTNAME_UNUSED" });
  stage.becomes(second, "closed");
  await assert.rejects(asked(second), { code: "AKP_DESTINATION_UNKNOWN" });
  assert.equal(held(stage).hosts[a], 1);
});

quickTest("an API server that is away is told, and what was begun is gone on with", async (t) => {
  const { stage, second, life } = await openStage(t);
  stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
  await assert.rejects(move(stage, life, second, [a], []), (thrown: { entry: { http: number }; message: string }) => {
    assert.equal(thrown.entry.http, 503);
    assert.match(thrown.message, /503/);
    return true;
  });
  assert.deepEqual(held(stage), before);
  stage.cluster.faults.cutWatches();
  await stage.until("the caches are known to be old", () => life.keeper.error !== undefined);
  await assert.rejects(move(stage, life, second, [], ["blue"]), { code: "AKP_CLUSTER_UNKNOWN" });
  stage.cluster.faults.clear();
  await stage.until("what was begun has come", () => held(stage).hosts[a] === 2);
  await stage.clock.advance(20_000);
  assert.deepEqual(held(stage), { ...before, hosts: after.hosts }, "and nothing that was not");
});

quickTest("an API server that takes its time is not waited for, and does it when it can", async (t) => {
  const { stage, second, life } = await openStage(t);
  stage.cluster.faults.slow(2 * migrationMs);
  const slow = { code: "AKP_CLUSTER_UNKNOWN", message: /it has not answered for 15 s$/ };
  await assert.rejects(move(stage, life, second, [a], ["blue"]), slow);
  assert.deepEqual(held(stage), before);
  await stage.until("it has come", () => held(stage).hosts[a] === 2 && held(stage).ports["blue-tcp-7000"] === 2);
  assert.deepEqual(held(stage), after);
});

/** A move of several names, by a process that ends at this boundary; then another one, and the tenant asks again. */
async function tell(crashAt: number) {
  await using owner = createOwner();
  const boundary = createCountingBoundary(crashAt);
  let isMoving = false;
  const crossed: Boundary = { cross: (kind, point) => isMoving && boundary.cross(kind, point) };
  const { stage, first, second, life } = await openStage(owner, crossed);
  const faults: string[] = [];
  const unsubscribe = stage.cluster.server.subscribe(() => {
    const { hosts } = held(stage);
    const missing = Object.keys(before.hosts).filter((host) => hosts[host] === undefined);
    if (missing.length > 0) faults.push(`nobody has ${missing}`);
  });
  owner.after(unsubscribe);
  isMoving = true;
  const ask = (by: Life) => move(stage, by, second, [a, b], ["blue", "red"]);
  const answer = await ask(life).then(
    () => "moved",
    () => "failed",
  );
  if (!boundary.crashed) await stage.clock.advance(5_000);
  isMoving = false;
  await life.stop();
  const next = await stage.start();
  await stage.clock.advance(5_000);
  const found = held(stage);
  await ask(next);
  await stage.clock.advance(5_000);
  const moved = held(stage);
  unsubscribe();
  stage.becomes(first, "closed");
  await next.step(first);
  await stage.until("torn down", () => next.state(first) === undefined);
  return {
    answer,
    found,
    moved,
    end: held(stage),
    faults,
    crossings: boundary.crossings,
    crashed: boundary.crashed,
  };
}

test("a crash at any write of a move leaves each name with one lease, and the request can be repeated", async (t) => {
  const moved = { hosts: { ...before.hosts, [a]: 2, [b]: 2 }, ports: { "blue-tcp-7000": 2, "red-tcp-7001": 2 } };
  const { "own.example.com": _, ...left } = moved.hosts;
  function check({ answer, found, ...told }: Awaited<ReturnType<typeof tell>>): void {
    if (answer === "moved") assert.deepEqual(found, moved, "what was answered is so");
    for (const dseq of [...Object.values(found.hosts), ...Object.values(found.ports)]) {
      assert.ok(dseq === 1 || dseq === 2, "somebody has it");
    }
    assert.equal(Object.keys(found.hosts).length + Object.keys(found.ports).length, 6, "none is gone");
    assert.deepEqual(told.moved, moved, "asked again");
    assert.deepEqual(told.end, { ...moved, hosts: left }, "the end of the other takes nothing moved away");
    assert.deepEqual(told.faults, []);
  }
  await playCrashes(t, "lease-moves", {
    sample: { every: 3 },
    async whole() {
      const whole = await tell(0);
      check(whole);
      assert.ok(whole.crossings.length >= 8);
      return whole;
    },
    async crash({ crashAt }) {
      const told = await tell(crashAt);
      assert.ok(told.crashed);
      check(told);
    },
  });
});
