/**
 * Random histories of a provider's capacity: leases come, scale and go while machines are added, cordoned, drained, lost,
 * brought back and deleted. Whenever all is at rest, what is offered of every machine and storage class is, to the byte,
 * what it has, less what the pods there take, less what is promised and has no pod.
 */
import assert from "node:assert/strict";
import type { Random } from "../../src/runtime/random.ts";
import { adjustable, createLedger, type Ledger } from "../support/capacity-ledger.ts";
import { createOwner } from "../support/owner.ts";
import { gi } from "../support/samples/placement-samples.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { type CapacityStage, capacityStage } from "../support/stages/capacity-stage.ts";

const size = { cpuMilli: 4_000n, memoryBytes: 16n * gi, ephemeralBytes: 200n * gi };
const names = ["a", "b", "c"] as const;

interface Actor {
  readonly stage: CapacityStage;
  readonly ledger: Ledger;
  readonly random: Random;
  pick<T>(list: readonly T[]): T | undefined;
  /** Machines that are there. */
  machines(): string[];
}

const actions: Record<string, (actor: Actor) => Promise<unknown> | unknown> = {
  async bid({ stage, ledger, random }) {
    const wish = { pages: 1 + random.int(3), apis: random.int(3), stores: random.int(3), caches: random.int(2) };
    const dseq = ledger.nextDseq();
    if (await stage.bid(dseq, adjustable(wish))) ledger.promised(dseq, wish);
  },
  async lose({ stage, ledger, pick }) {
    const bid = pick(ledger.bids());
    if (!bid) return;
    ledger.over(bid.dseq);
    await stage.lose(bid.dseq);
  },
  async win({ stage, ledger, pick }) {
    const bid = pick(ledger.bids());
    if (!bid) return;
    bid.lease = await stage.win(bid.dseq);
    await stage.send(bid.lease, adjustable(bid.wish).manifest);
  },
  async close({ stage, ledger, pick }) {
    const won = pick(ledger.leases());
    if (!won?.lease) return;
    ledger.over(won.dseq);
    await stage.close(won.lease);
  },
  /** Services that share a unit shift their counts. */
  async scale({ stage, ledger, pick, random }) {
    const won = pick(ledger.leases());
    if (!won?.lease) return;
    const { pages, apis, stores, caches } = won.wish;
    const [newPages, newStores] = [random.int(pages + apis + 1), random.int(stores + caches + 1)];
    won.wish = {
      ...{ pages: newPages, apis: pages + apis - newPages },
      ...{ stores: newStores, caches: stores + caches - newStores },
    };
    await stage.send(won.lease, adjustable(won.wish).manifest);
  },
  addMachine({ stage, pick, machines }) {
    const name = pick(names.filter((each) => !machines().includes(each)));
    if (name) stage.cluster.nodes.addNode({ name, ...size });
  },
  ...Object.fromEntries(
    (["removeNode", "cordon", "uncordon", "drain", "lose", "bringBack", "relieve", "restart"] as const).map((deed) => [
      `machine ${deed}`,
      ({ stage, pick, machines }: Actor) => {
        const name = pick(machines());
        if (name) stage.cluster.nodes[deed](name);
      },
    ]),
  ),
  evict({ stage, ledger, pick }) {
    const pod = pick(ledger.runningPods());
    if (pod) stage.cluster.nodes.evict(pod.metadata);
  },
  restart: ({ stage }) => stage.restart(),
  podsLate: ({ stage }) => stage.late.pods.shut(),
  picturesLate: ({ stage }) => stage.late.pictures.shut(),
  wait: ({ stage, pick }) => stage.clock.advance(pick([60_000, 400_000]) ?? 0),
};

const often = ["bid", "bid", "win", "win", "win", "scale", "scale", "close", "lose", "restart", "evict", "wait"];
const deeds = Object.keys(actions);

/**
 * Nearly always all is known in a moment. Where pods were replaced by as many of the same size, after a quarter of a minute; and a
 * provider that has just started does not know since when pods are bound, and learns it within a minute and a half.
 */
const restsMs = [2_000, 18_000, 70_000];

export async function audited({ clock }: CapacityStage, { audit }: Ledger): Promise<void> {
  for (const [at, ms] of restsMs.entries()) {
    await clock.advance(ms);
    try {
      audit();
      return;
    } catch (thrown) {
      if (!(thrown instanceof assert.AssertionError) || at === restsMs.length - 1) throw thrown;
    }
  }
}

/** One of them, from beginning to end. */
export async function playHistory(seed: number, steps: number): Promise<void> {
  await using owner = createOwner();
  const random = createSeededRandom(seed);
  const stage = await capacityStage(owner, { machines: names, size, seed });
  const ledger = createLedger(stage.truth);
  const actor: Actor = {
    ...{ stage, ledger, random },
    pick: (list) => list[random.int(list.length)],
    machines: () => ledger.machines(),
  };
  const told: string[] = [];
  try {
    for (let step = 0; step < steps; step += 1) {
      const name = actor.pick(random.next() < 0.5 ? often : deeds) ?? "";
      told.push(name);
      await actions[name]?.(actor);
      // Some things happen before the news of the last have come.
      if (random.next() < 0.3) continue;
      stage.late.pods.open();
      stage.late.pictures.open();
      await audited(stage, ledger);
    }
  } catch (thrown) {
    throw new Error(`seed ${seed}: ${told.join(", ")}`, { cause: thrown });
  }
}
