import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type BidHistory, checkEnd, playBidHistory } from "./bid-history.ts";
import { onBidStage, type ProviderParts } from "./bid-stage.ts";
import { memoryFolder } from "./folder.ts";
import { long } from "./runs.ts";

type Playing = { readonly seed: number; readonly crashAt: number; readonly parts?: ProviderParts };

test("wherever the provider ends on the way of an order, it comes to the same bids and the same capacity", async (t) => {
  const whole = await play(t, { seed: 0, crashAt: 0 });
  checkEnd(whole);
  let crashes = 0;
  for (const { seed, crashAt } of crashPoints(whole.crossings)) {
    const where = `seed ${seed}, crash at ${crashAt}, about ${whole.crossings[crashAt - 1]}`;
    const history = await play(t, { seed, crashAt }).catch((thrown: unknown) => {
      throw new Error(where, { cause: thrown });
    });
    if (history.crashed) crashes += 1;
    assert.doesNotThrow(() => checkEnd(history), where);
    assert.deepEqual(endOf(history), endOf(whole), where);
  }
  t.diagnostic(`${whole.crossings.length} boundaries, ${crashes} crashes`);
  assert.ok(crashes > 0);
});

/** Every one of them in the long run, with several seeds; else the first of each kind of unit that is about a bid. */
function crashPoints(crossings: readonly string[]): Playing[] {
  const all = crossings.map((_, index) => index + 1);
  if (long) return [1, 2, 3].flatMap((seed) => all.map((crashAt) => ({ seed, crashAt })));
  const kinds = new Map(
    crossings.map((crossing, index) => [crossing.replace(/ and \d+ more|[0-9A-F]{64}/, ""), index + 1]),
  );
  const about = [...kinds].filter(([kind]) => /bid|release|outcome|broadcast|sent|settle/.test(kind));
  return about.map(([, crashAt], index) => ({ seed: index + 1, crashAt }));
}

async function play(t: TestContext, playing: Playing): Promise<BidHistory> {
  let history: BidHistory | undefined;
  await onBidStage(t, async (stage) => {
    await stage.register("one");
    history = await playBidHistory(stage, { ...playing, dir: join(memoryFolder(t), "provider") });
  });
  assert.ok(history);
  return history;
}

/** The rest of it stays as it is, what it tells of itself too. */
function but<T extends object>(sound: T, faulty: Partial<T>): T {
  return Object.assign(Object.create(sound), faulty);
}

/** Each is a line that could be forgotten, and what tells that it was. */
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
    ({ crossings }) => 1 + crossings.findIndex((each) => /^journal bid .*commit:after/.test(each)),
  );
  return crossing;
}

test("the same parts put together by hand come to the same end", async (t) => {
  checkEnd(await play(t, { seed: 1, crashAt: await afterBid(t), parts: { plant: (sound) => sound } }));
});

for (const [fault, sign, plant] of planted) {
  test(`this would notice ${fault}`, async (t) => {
    const history = await play(t, { seed: 1, crashAt: await afterBid(t), parts: { plant } });
    assert.ok(history.crashed);
    assert.throws(() => checkEnd(history), sign);
  });
}

function endOf({ crossings: _, crashed: __, ...end }: BidHistory) {
  return end;
}
