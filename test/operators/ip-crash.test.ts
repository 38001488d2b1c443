/** Changes of ProviderLeasedIPs, with a crash of the operator at each of its writes: judged against a model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { leasedIpName } from "../../src/kube/objects/leased-ip.ts";
import { assignedAddresses, metalLbWord } from "../../src/kube/objects/metallb.ts";
import type { Random } from "../../src/runtime/random.ts";
import { createCountingBoundary, SimulatedCrash } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import { playSeeds } from "../support/failed-cases.ts";
import { createOwner } from "../support/owner.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import {
  declarationOf,
  type IpStage,
  type IpStageOptions,
  leaseOf,
  openIpStage,
  type PortWanted,
} from "../support/stages/ip-stage.ts";
import { counts, seeds } from "../support/thorough.ts";

const changesInAll = counts(40, 200);
/** Of how many addresses there are, the first few or all: more than there are keys, or fewer. */
interface Way {
  readonly isOwn: boolean;
  readonly sizes: readonly [number, ...number[]];
}
const ways: Readonly<Record<string, Way>> = {
  "a pool of MetalLB's": { isOwn: false, sizes: [16] },
  "a range of its own": { isOwn: true, sizes: [16] },
  "a pool of MetalLB's that is too small": { isOwn: false, sizes: [3] },
  "a range of its own that is too small": { isOwn: true, sizes: [3] },
  "a pool of MetalLB's that grows and shrinks": { isOwn: false, sizes: [3, 4, 5] },
};
const rangeOf = (size: number) => `172.30.0.200-172.30.0.${199 + size}`;
const optionsOf = ({ isOwn, sizes: [size] }: Way): IpStageOptions =>
  isOwn ? { pool: "", ranges: [rangeOf(size)] } : { pool: rangeOf(size) };
const leases = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 3), leaseOf(3, 4)];
const endpoints = ["blue", "red"];

interface Declared {
  readonly lease: (typeof leases)[number];
  readonly wanted: PortWanted;
}

/** Declared ports by resource name. */
type Model = Map<string, Declared>;

function change(stage: IpStage, model: Model, random: Random): void {
  const lease = leases[random.int(leases.length)] as Declared["lease"];
  const wanted: PortWanted = {
    endpoint: endpoints[random.int(endpoints.length)] as string,
    externalPort: 80 + random.int(2),
    protocol: random.int(2) === 0 ? "TCP" : "UDP",
    port: 8_080 + random.int(3),
    service: random.int(4) === 0 ? "api" : "web",
  };
  const name = leasedIpName(declarationOf(lease, wanted));
  const held = model.get(name);
  if (held && random.int(2) === 0) {
    stage.withdraw(held.lease, held.wanted);
    model.delete(name);
    return;
  }
  stage.declare(lease, wanted);
  model.set(name, { lease, wanted });
}

function keysOf(model: Model): Set<string> {
  return new Set([...model.values()].map(({ lease, wanted }) => declarationOf(lease, wanted).sharingKey));
}

/**
 * Nothing leaked, nothing missing, nothing shared across owners, and the counts are those of the model. As many keys as
 * there are addresses have one, with all their ports; of the others there is nothing that could take another's. Where a pool
 * shrinks and grows again before the operator is back, MetalLB may have put ports of one key on two: that is a condition, and left.
 */
function check(stage: IpStage, model: Model, size: number, mayDiffer: boolean): Map<string, Set<string>> {
  const live = stage.services().map((service) => {
    const [{ port, targetPort, protocol } = {}] = fieldsOf(service["spec"])["ports"] as Record<string, unknown>[];
    const selector = fieldsOf(fieldsOf(service["spec"])["selector"]);
    const key = metalLbWord(service.metadata.annotations, "allow-shared-ip");
    const dseq = service.metadata.labels?.["akash.network/lease.id.dseq"];
    return {
      key,
      address: assignedAddresses(service)[0],
      shown: `${key} ${protocol}/${port} → ${selector["akash.network/manifest-service"]}:${targetPort} of ${dseq}`,
    };
  });
  const having = new Set(live.map(({ key }) => key));
  const expected = [...model.values()].flatMap(({ lease, wanted }) => {
    const { sharingKey, protocol, externalPort, service, port } = declarationOf(lease, wanted);
    return having.has(sharingKey)
      ? [`${sharingKey} ${protocol}/${externalPort} → ${service}:${port} of ${lease.dseq}`]
      : [];
  });
  assert.deepEqual(live.map(({ shown }) => shown).sort(), expected.sort());
  const keyOf = new Map<string, string>();
  const addressesOf = new Map<string, Set<string>>();
  for (const { key, address = "none" } of live) {
    assert.notEqual(address, "none", key);
    assert.equal(keyOf.get(address) ?? key, key, `${address} is shared`);
    addressesOf.set(key, (addressesOf.get(key) ?? new Set()).add(address));
    keyOf.set(address, key);
  }
  const differing = [...addressesOf.keys()].filter((key) => (addressesOf.get(key)?.size ?? 0) > 1);
  assert.ok(mayDiffer || differing.length === 0, `${differing} are on two addresses`);
  const taken = keyOf.size;
  assert.equal(having.size, Math.min(size - (taken - having.size), keysOf(model).size));
  const { total, inUse, free } = stage.operator.usage;
  assert.deepEqual([total, inUse, free], [size, taken, size - taken].map(BigInt));
  const own = stage.cluster.server.list(kinds.ipAddressPool).filter(({ metadata }) => metadata.name !== "default");
  const announced = stage.cluster.server.list(kinds.l2Advertisement);
  const expectedPools = stage.operator.usage.pools.some(({ name }) => name === "default") ? 0 : taken;
  assert.deepEqual([own.length, announced.length], [expectedPools, expectedPools]);
  const isFull = taken === size;
  const waiting = [...keysOf(model)].filter((key) => !addressesOf.has(key));
  assert.deepEqual(
    stage.operator.conditions.map(({ type, subject }) => `${type} ${subject}`).sort(),
    [
      ...[...(isFull ? [""] : []), ...waiting].map((subject) => `PoolExhausted ${subject}`),
      ...differing.map((subject) => `AddressesDiffer ${subject}`),
    ].sort(),
  );
  return addressesOf;
}

interface Played {
  /** Boundaries that the operator crossed in its first life. */
  readonly crossings: readonly string[];
  readonly lives: number;
}

interface Play {
  readonly way: Way;
  readonly seed: number;
  readonly changes: number;
  /** At which boundary each life of the operator ends, counted from 1; 0 for none. */
  readonly crashAt: (life: number) => number;
}

/** Plays changes from a seed; when the operator ends, another one starts. */
async function play({ way, seed, changes, crashAt }: Play): Promise<Played> {
  await using owner = createOwner();
  const stage = await openIpStage(owner, { ...optionsOf(way), seed });
  let [size] = way.sizes;
  const random = createSeededRandom(seed);
  const model: Model = new Map();
  /** Keys that had a port all the time since they were last looked at, and where they were then. */
  let addresses = new Map<string, Set<string>>();
  let lives = 0;
  const nextLife = async (mostBoundary: number) => {
    lives += 1;
    const boundary = createCountingBoundary(mostBoundary, (at) => {
      throw new SimulatedCrash(at);
    });
    await stage.restart(boundary);
    return boundary;
  };
  const first = await nextLife(crashAt(1));
  let boundary = first;
  const live = async (ms: number) => {
    await stage.settled(ms);
    if (boundary.crashed) boundary = await nextLife(crashAt(lives + 1));
  };
  const rest = async () => {
    do await live(10_000);
    while (stage.life.kube.counts.applied > 0 && (await wrote(stage)));
    await stage.settled(10_000);
    if (boundary.crashed) return;
    const now = check(stage, model, size, way.sizes.length > 1);
    const isKept = (key: string, before: Set<string>) => [...before].some((address) => now.get(key)?.has(address));
    // Not yet so where a pool grows: those who wait then ask MetalLB all at once, and who moves a port in that very moment may
    // lose its address to one of them (decision 41).
    if (way.sizes.length === 1)
      for (const [key, before] of addresses) assert.ok(isKept(key, before), `${key} has lost ${[...before]}`);
    addresses = now;
  };
  /** Who has an address that is in the pool no more has lost it. */
  const resize = () => {
    size = way.sizes[random.int(way.sizes.length)] ?? size;
    stage.setPool("default", [rangeOf(size)]);
    const isOut = (address: string) => Number(address.split(".").at(-1)) >= 200 + size;
    for (const [key, before] of addresses) if ([...before].some(isOut)) addresses.delete(key);
  };
  for (let done = 0; done < changes; ) {
    if (way.sizes.length > 1 && random.int(6) === 0) resize();
    const burst = 1 + random.int(4);
    for (let each = 0; each < burst && done < changes; each += 1, done += 1) {
      change(stage, model, random);
      const keys = keysOf(model);
      for (const key of addresses.keys()) if (!keys.has(key)) addresses.delete(key);
    }
    await (random.int(4) === 0 ? rest() : live(random.int(40)));
  }
  if (boundary.crashed) await nextLife(0);
  boundary = createCountingBoundary(0);
  await stage.restart();
  await stage.settled(60_000);
  check(stage, model, size, way.sizes.length > 1);
  return { crossings: first.crossings, lives };
}

/** Whether it writes still. */
async function wrote(stage: IpStage): Promise<boolean> {
  const before = stage.life.kube.counts.applied;
  await stage.settled(1_000);
  return stage.life.kube.counts.applied > before;
}

for (const [name, way] of Object.entries(ways)) {
  test(`${changesInAll} changes with addresses of ${name} come to what the model says`, async () => {
    const some = seeds(counts(1, 2, 10));
    await playSeeds(`ip-crash: ${name}`, some, (seed) => play({ way, seed, changes: changesInAll, crashAt: () => 0 }));
  });

  test(`${changesInAll} changes with addresses of ${name} come to that although the operator crashes after a few writes`, async (t) => {
    let lives = 0;
    await playSeeds(`ip-crash: ${name}, many crashes`, seeds(counts(1, 2, 10)), async (seed) => {
      const most = 2 + (seed % 4);
      // Before its first write, after it, before the second …
      const played = await play({ way, seed, changes: changesInAll, crashAt: (life) => 1 + (life % most) });
      lives += played.lives;
    });
    t.diagnostic(`${lives} lives`);
  });

  test(`with addresses of ${name}, a crash at any write leaks none and shares none`, async (t) => {
    const changes = 12;
    await playCrashes(t, `ip-crash: ${name}, one crash`, {
      seeds: seeds(counts(1, 1, 4)),
      sample: { every: 13 },
      whole: (seed) => play({ way, seed, changes, crashAt: () => 0 }),
      crash: async ({ seed, crashAt }) => {
        const { lives } = await play({ way, seed, changes, crashAt: (life) => (life === 1 ? crashAt : 0) });
        assert.ok(lives > 1);
      },
    });
  });
}
