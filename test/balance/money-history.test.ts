/** Random blocks, and an auditor who compares the books with the chain every hundred of them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { booksDebtsEveryMs } from "../../src/balance/bookkeeper.ts";
import { parseDecimal } from "../../src/market/decimal.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { playSeeds } from "../support/failed-cases.ts";
import { memoryFolder } from "../support/folder.ts";
import { moneyOptions } from "../support/money-life.ts";
import { soaking } from "../support/runs.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { onMoneyStage } from "../support/stages/money-stage.ts";
import { counts, seeds, thorough } from "../support/thorough.ts";
import { createAuditor } from "./money-audit.ts";
import { createPeople } from "./money-people.ts";

const blockMs = 6_000;
/** Time for our provider to come to rest before the next block. */
const restMs = 5_000;
const auditEvery = 100;
/** The most that our provider is away. */
const awayBlocks = 10;
/** Within which our provider notices that old debt was paid. */
const debtBlocks = booksDebtsEveryMs / blockMs + 3;

interface Playing {
  readonly seed: number;
  readonly blocks: number;
  readonly tokenPrice: string | undefined;
}

async function play(t: TestContext, { seed, blocks, tokenPrice }: Playing): Promise<void> {
  const dir = join(memoryFolder(t), "provider");
  await onMoneyStage(blockMs, async (stage) => {
    const people = createPeople(stage, seed);
    const random = createSeededRandom(seed + 1);
    const auditor = createAuditor(stage, {
      tokenPrice: tokenPrice === undefined ? undefined : parseDecimal(tokenPrice),
      intervalBlocks: moneyOptions.intervalMs / blockMs,
      leastGain: 0n,
      awayBlocks,
    });
    const begin = () => stage.live({ dir, tokenPrice, bidBlocks: 40 });
    let life = begin();
    let { journal } = await life.ready;
    for (let made = 1; made <= blocks; made++) {
      await stage.pass(1);
      await people.act({ payDebt: auditEvery - (made % auditEvery) > debtBlocks });
      if (made % auditEvery === 0) {
        await sleep(stage.clock, restMs);
        await auditor.audit(journal);
      } else if (random.int(500) === 0) {
        await life.stop();
        await stage.pass(random.int(awayBlocks));
        life = begin();
        ({ journal } = await life.ready);
      }
    }
    await life.stop();
    t.diagnostic(`seed ${seed}, ${blocks} blocks: ${JSON.stringify(auditor.tally)}`);
    assert.ok(auditor.tally.withdrawals > 0 && auditor.tally.settling > 0 && auditor.tally.failedTxs > 0);
  });
}

test("after random blocks of leases that open, close and overdraw, the books equal the chain", async (t) => {
  const [seed] = seeds(1);
  await playSeeds("money-history", [soaking && seed ? seed : 3], (each) =>
    play(t, { seed: each, blocks: counts(200, 1_500, 10_000), tokenPrice: "1.37" }),
  );
});

// Nothing else is decided there than whether a withdrawal is due.
if (thorough) {
  test("so they do without a price of the token", async (t) => {
    await play(t, { seed: 2, blocks: counts(0, 500, 2_000), tokenPrice: undefined });
  });
}
