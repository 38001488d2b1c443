/** Host names among several owners over whatever may happen: never two owners, none lost, none left behind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { kinds } from "../../src/kube/kinds.ts";
import { readProviderHost } from "../../src/kube/objects/provider-host.ts";
import { hostsOverlap } from "../../src/market/host-names.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { createCountingBoundary } from "../support/counting-boundary.ts";
import { createOwner } from "../support/owner.ts";
import { runs } from "../support/runs.ts";
import { type DeclarationStage, groupOf, hosts, leaseOf, openStage } from "../support/stages/declaration-stage.ts";

const leases = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1), leaseOf(2, 2), leaseOf(3, 1)];
const names = ["a.example.com", "b.example.com", "*.example.com", "x.b.example.com", "*.b.example.com", "a.net"];

interface Held {
  readonly lease: LeaseId;
  readonly uid: string | undefined;
}

function holders(stage: DeclarationStage): Map<string, Held> {
  const read = stage.objects(kinds.providerHost).map((object) => {
    const found = readProviderHost(object);
    assert.ok(found);
    return [found.host, { lease: found.lease, uid: object.metadata.uid }] as const;
  });
  return new Map(read);
}

function assertOneOwner(stage: DeclarationStage): void {
  const held = [...holders(stage)];
  for (const [a, { lease: first }] of held)
    for (const [b, { lease: second }] of held)
      assert.ok(!hostsOverlap(a, b) || first.owner === second.owner, `${a} and ${b} have two owners`);
}

/** What must be so when nothing happens any more. */
function assertSettled(stage: DeclarationStage, open: ReadonlyMap<string, readonly string[]>): void {
  const held = holders(stage);
  for (const [host, { lease }] of held)
    assert.ok(open.get(formatLeaseId(lease))?.includes(host), `${host} is left behind`);
  for (const lease of leases) {
    for (const host of open.get(formatLeaseId(lease)) ?? []) {
      const holder = held.get(host)?.lease;
      const isSettled = holder?.owner === lease.owner;
      const isOthers = [...held].some(([other, by]) => by.lease.owner !== lease.owner && hostsOverlap(other, host));
      assert.ok(isSettled || isOthers, `${host} is lost to ${formatLeaseId(lease)}`);
    }
  }
}

const anyLease = fc.nat(leases.length - 1);
const anyNames = fc.subarray(names);
const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("want" as const), lease: anyLease, names: anyNames }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("close" as const), lease: anyLease }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("transfer" as const), lease: anyLease, names: anyNames }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const), crashAt: fc.nat(6) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("settle" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("lag" as const), ms: fc.constantFrom(0, 300, 1_500) }) },
);

test("whatever owners do, no name has two owners, none is lost and none is left behind", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 16 }), async (actions) => {
      await using owner = createOwner();
      const stage = await openStage(owner);
      const open = new Map<string, readonly string[]>();
      let lagMs = 0;
      // Each change of hands takes a few turns, and each turn the time until it is seen.
      const settled = () => stage.settled(3_000 + 8 * lagMs);
      const faults: unknown[] = [];
      const unsubscribe = stage.cluster.server.subscribe(() => {
        try {
          assertOneOwner(stage);
        } catch (thrown) {
          faults.push(thrown);
        }
      });
      owner.after(unsubscribe);
      /** Names that no one but their holder can have taken from it since things were last settled. */
      let kept = new Map<string, Held>();
      for (const each of actions) {
        if (each.do === "settle") {
          await settled();
          assertSettled(stage, open);
          const now = holders(stage);
          for (const [host, held] of kept) assert.deepEqual(now.get(host), held, `${host} has changed hands`);
          kept = now;
        } else if (each.do === "lag") {
          lagMs = Math.max(lagMs, each.ms);
          stage.cluster.faults.lagWatches(each.ms);
        } else if (each.do === "restart") {
          // What ends the process is met by the next few writes, or by none.
          await stage.restart(each.crashAt === 0 ? undefined : createCountingBoundary(each.crashAt));
          await stage.clock.advance(0);
          await stage.restart();
        } else {
          const lease = leases[each.lease] as LeaseId;
          const leaseId = formatLeaseId(lease);
          const touches = (held: Held, host: string) =>
            each.do === "transfer" ? each.names.includes(host) : formatLeaseId(held.lease) === leaseId;
          if (each.do === "transfer") {
            const wanted = open.get(leaseId) ?? [];
            const moved = each.names.filter((name) => wanted.includes(name));
            const transferring = stage.hostnames
              .transfer(moved, lease, stage.wanted(lease).hosts, new AbortController().signal)
              .catch((thrown) => assert.match(String(thrown), /in use|connection is closed|crash at/));
            if (moved.length % 2 === 0) await stage.clock.advance(0);
            void transferring;
          } else if (each.do === "want") {
            open.set(leaseId, each.names);
            stage.want(lease, hosts(...each.names));
          } else {
            open.delete(leaseId);
            stage.want(lease, undefined);
          }
          for (const [host, held] of kept) if (touches(held, host)) kept.delete(host);
        }
      }
      await settled();
      assertSettled(stage, open);
      assert.deepEqual(faults, []);
      for (const lease of leases) stage.want(lease, undefined);
      await settled();
      assert.equal(holders(stage).size, 0);
    }),
    { numRuns: runs(20, 2_000) },
  );
});

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1)];

/** What tenants do, each until it is so: a tenant whose request fails sends it again. */
const story: ((stage: DeclarationStage) => void | Promise<void>)[] = [
  (stage) => stage.want(ann, groupOf({ hosts: ["a.example.com", "b.example.com"] }, { ip: "blue", externalPort: 80 })),
  (stage) =>
    stage.want(annToo, groupOf({ hosts: ["a.example.com", "c.example.com"] }, { ip: "blue", externalPort: 80 })),
  (stage) => stage.want(ben, hosts("c.example.com", "*.example.net")),
  (stage) => move(stage, ["a.example.com"], ["blue"], annToo),
  (stage) => stage.want(ann, groupOf({ hosts: ["d.example.com"], port: 9_090 }, { ip: "red", externalPort: 81 })),
  (stage) => stage.want(annToo, undefined),
];

async function move(stage: DeclarationStage, moved: string[], endpoints: string[], lease: LeaseId): Promise<void> {
  const { signal } = new AbortController();
  const wanted = stage.wanted(lease);
  const moving = Promise.all([
    stage.hostnames.transfer(moved, lease, wanted.hosts, signal),
    stage.addresses.transfer(endpoints, lease, wanted.addresses, signal),
  ]);
  await Promise.race([moving.catch(() => undefined), stage.settled()]);
  await moving;
}

/** Everything but what the server makes anew each time. */
function shapeOf(stage: DeclarationStage): unknown[] {
  const objects = [...stage.objects(kinds.providerHost), ...stage.objects(kinds.providerLeasedIp)];
  return objects.map(({ metadata: { name, labels }, ...object }) => ({ name, labels, spec: object["spec"] }));
}

async function play(crashAt: number) {
  await using owner = createOwner();
  const boundary = createCountingBoundary(crashAt);
  const stage = await openStage(owner, {}, boundary);
  const shapes: unknown[] = [];
  let hasRestarted = false;
  for (const act of story) {
    await tried(act, stage);
    if (boundary.crashed && !hasRestarted) {
      hasRestarted = true;
      await stage.restart();
      await act(stage);
      await stage.settled();
    }
    shapes.push(shapeOf(stage));
  }
  return { shapes, crossings: boundary.crossings, crashed: boundary.crashed };
}

async function tried(act: (typeof story)[number], stage: DeclarationStage): Promise<void> {
  try {
    await act(stage);
    await stage.settled();
  } catch (thrown) {
    assert.match(String(thrown), /crash at/);
  }
}

test("after a crash at any write of host names and addresses all is as if there had been none", async (t) => {
  const whole = await play(0);
  for (let crashAt = 1; crashAt <= whole.crossings.length; crashAt += 1) {
    const { shapes, crashed } = await play(crashAt);
    const what = `crash at ${crashAt}: ${whole.crossings[crashAt - 1]}`;
    assert.ok(crashed, what);
    assert.deepEqual(shapes, whole.shapes, what);
  }
  t.diagnostic(`${whole.crossings.length} boundaries`);
});
