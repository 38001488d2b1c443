/**
 * A short story about money. Of four deployments one pays well and runs on, shared with another provider; one runs dry, and
 * old debt is paid later; one we do not get, so that its deposit is refunded; and one is closed by its tenant.
 */

import { withdrawalWorth } from "../../src/balance/withdrawals.ts";
import { runs } from "../../src/chain/records.ts";
import { bidOn } from "../../src/market/ids.ts";
import { closeDeployment, createLease } from "../support/market-messages.ts";
import {
  bidMessage,
  deploymentOf,
  orderOf,
  other,
  otherKey,
  tenantKey,
  topUpMessage,
  us,
} from "../support/money-chain.ts";
import { type LifeParts, moneyOptions } from "../support/money-life.ts";
import { deploymentMessage, type MoneyStage } from "../support/stages/money-stage.ts";
import { createAuditor } from "./money-audit.ts";

const [shared, short, unwanted, closed] = [2n, 3n, 4n, 5n] as const;
const theirRate = "3.5";

/** In blocks: what has to be looked at is due several times. */
const intervalBlocks = 15;

/** How our provider lives in it. A uakt is a uact there. */
export function storyParts(dir: string, blockMs: number): LifeParts {
  return { dir, tokenPrice: "1", bidBlocks: 12, options: { intervalMs: intervalBlocks * blockMs, periodMs: 0 } };
}

/** `awayBlocks`: for which our provider may have been away. */
export function storyAuditor(stage: MoneyStage, awayBlocks: number) {
  return createAuditor(stage, {
    tokenPrice: { atto: 10n ** 18n },
    intervalBlocks: intervalBlocks + awayBlocks,
    leastGain: withdrawalWorth * (moneyOptions.fee?.amount ?? 0n),
    awayBlocks,
  });
}

interface StoryOptions {
  /** Before the other provider gets its lease. */
  readonly pauseBlocks?: number;
  /** Whether money comes for an account that has run dry, which ours looks for now and then. */
  readonly payDebt: boolean;
}

/** Actions of the tenant and the other provider, independent of ours being up or down. */
export async function runMoneyStory(stage: MoneyStage, { pauseBlocks = 0, payDebt }: StoryOptions): Promise<void> {
  const { queries, submit } = stage;
  const lease = (dseq: bigint) => bidOn(orderOf(dseq), us);
  const stateOf = async (dseq: bigint) => (await queries.lease(lease(dseq))).value;
  const isOpen = async (dseq: bigint) => (await queries.bid(lease(dseq))).value?.state === "open";
  await submit(
    tenantKey,
    deploymentMessage({
      dseq: shared,
      denom: "uact",
      funds: 10n ** 10n,
      groups: [
        { rate: "80000.7", name: "ours" },
        { rate: theirRate, name: "theirs" },
      ],
    }),
    deploymentMessage({ dseq: short, denom: "uakt", funds: 700_000n, groups: [{ rate: "70000.1", name: "ours" }] }),
    deploymentMessage({ dseq: unwanted, denom: "uact", funds: 10n ** 6n, groups: [{ rate: "1", name: "ours" }] }),
    deploymentMessage({ dseq: closed, denom: "uakt", funds: 10n ** 7n, groups: [{ rate: "1234.56", name: "ours" }] }),
  );
  await stage.pass(1);
  const theirs = orderOf(shared, 2);
  await submit(otherKey, bidMessage(theirs, other, `${theirRate}uact`));
  for (const dseq of [shared, short, closed]) {
    await stage.until(`our bid on ${dseq}`, () => isOpen(dseq));
    await submit(tenantKey, createLease(lease(dseq)));
  }
  await stage.pass(1 + pauseBlocks);
  await submit(tenantKey, createLease(bidOn(theirs, other)));
  await stage.pass(1);
  await submit(tenantKey, closeDeployment(deploymentOf(closed)));
  await stage.until("the end of a lease whose escrow is spent", async () => !runs(await stateOf(short)));
  if (payDebt) await submit(tenantKey, topUpMessage(short, { denom: "uakt", amount: 30_000n }));
  const isHome = async () => (await queries.bid(lease(unwanted))).value?.state === "closed";
  await stage.until("the deposit of a losing bid", isHome);
  const earned = async () => (await stateOf(shared))?.payment?.withdrawn.amount ?? 0n;
  await stage.until("a withdrawal", async () => (await earned()) > 0n);
  const before = await earned();
  await stage.until("another withdrawal", async () => (await earned()) > before);
}
