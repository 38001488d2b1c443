import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { kindsOf } from "../support/boundary-kinds.ts";
import { playCrashes } from "../support/crash-points.ts";
import { memoryFolder } from "../support/folder.ts";
import { onBidStage, type ProviderParts } from "../support/stages/bid-stage.ts";
import { counts, quickTest, seeds } from "../support/thorough.ts";
import { type BidHistory, checkEnd, playBidHistory } from "./bid-history.ts";

type Playing = Omit<Parameters<typeof playBidHistory>[1], "dir">;

/** Before the next life; the tenant waits for its bids for longer. */
const absencesMs = [0, 2_000, 8_000];

test("after a crash at any boundary of an order's way the bids and the capacity are those of a run without one", async (t) => {
  await playCrashes(t, "bidengine-crash", {
    seeds: seeds(counts(1, 1, 3)),
    sample: { every: 3, about: /bid|release|broadcast/ },
    async whole(seed) {
      const whole = await play(t, { seed, crashAt: 0 });
      checkEnd(whole);
      return whole;
    },
    async crash({ seed, crashAt, index }, whole) {
      const history = await play(t, { seed, crashAt, awayMs: absencesMs[index % absencesMs.length] ?? 0 });
      assert.ok(history.crashed);
      checkEnd(history);
      assert.deepEqual(endOf(history), endOf(whole));
    },
  });
});

async function play(t: TestContext, playing: Playing): Promise<BidHistory> {
  let history: BidHistory | undefined;
  await onBidStage(t, async (stage) => {
    await stage.register("one");
    history = await playBidHistory(stage, { ...playing, dir: join(memoryFolder(t), "provider") });
  });
  assert.ok(history);
  return history;
}

/** Overrides some members; inherits the others, getters included. */
function but<T extends object>(sound: T, faulty: Partial<T>): T {
  return Object.assign(Object.create(sound), faulty);
}

/** Planted faults, with the expected failure. */
const planted: readonly [string, RegExp, NonNullable<ProviderParts["plant"]>][] = [
  [
    "no reservation in the unit",
    /a bid without capacity/,
    ({ capacity, journal }) => {
      const reserve: typeof capacity.reserve = (request) => {
        const reserved = capacity.reserve(request);
        return reserved.fits ? { ...reserved, write: () => undefined } : reserved;
      };
      return { journal, capacity: but(capacity, { reserve }) };
    },
  ],
  [
    "capacity that is never given back",
    /capacity for a bid that is over/,
    ({ capacity, journal }) => ({ journal, capacity: but(capacity, { release: async () => undefined }) }),
  ],
  [
    "a second bid on the same order",
    /one bid on each/,
    ({ capacity, journal }) => {
      const durable: typeof journal.durable = (label, unit) =>
        journal.durable(label, (tables) => {
          if (label === "bid") unit(tables);
          return unit(tables);
        });
      return { capacity, journal: but(journal, { durable }) };
    },
  ],
];

/** Where the first bid has just been written down, and nothing else has happened. */
let crossing: Promise<number> | undefined;
function afterBid(t: TestContext): Promise<number> {
  crossing ??= play(t, { seed: 1, crashAt: 0 }).then(
    ({ crossings }) => 1 + crossings.findIndex((each) => kindsOf(each).includes("journal bid commit:after")),
  );
  return crossing;
}

quickTest("the same parts put together by hand come to the same end", async (t) => {
  checkEnd(await play(t, { seed: 1, crashAt: await afterBid(t), parts: { plant: (sound) => sound } }));
});

for (const [fault, sign, plant] of planted) {
  quickTest(`this would notice ${fault}`, async (t) => {
    const history = await play(t, { seed: 1, crashAt: await afterBid(t), parts: { plant } });
    assert.ok(history.crashed);
    assert.throws(() => checkEnd(history), sign);
  });
}

function endOf({ crossings: _, crashed: __, ...end }: BidHistory) {
  return end;
}
