/** When an escrow account is spent, as the chain settles: each payment gets the whole coins of its rate, and the fraction is lost. */
import type { DecCoin } from "./coin.ts";
import { type Decimal, divide } from "./decimal.ts";
import { type BidId, type DeploymentId, formatBidId, formatDeploymentId, type LeaseId } from "./ids.ts";

/** An account with all that is paid out of it, in the order in which the chain pays. */
export interface Drawn {
  /** Per denomination. Below zero it is what the account owes. */
  readonly funds: readonly { readonly denom: string; readonly amount: Decimal }[];
  /** Height up to which all is paid. */
  readonly settledAt: bigint;
  /** Per block, of every payment that is open. */
  readonly rates: readonly DecCoin[];
}

const one = 10n ** 18n;

/** The chain counts its blocks in 64 bits. */
const lastHeight = 2n ** 63n - 1n;

/**
 * What each payment gets, in the order of the rates. An overdrawn account, which does not pay all that is due, ends with
 * what it pays for.
 */
export function settleAt({ funds, settledAt, rates }: Drawn, height: bigint) {
  // An account in debt pays nothing, even with funds of another denomination.
  if (isInDebt(funds)) return { paid: rates.map(() => 0n), overdrawn: true };
  const blocks = height > settledAt ? height - settledAt : 0n;
  const left = new Map(funds.map(({ denom, amount }) => [denom, wholeOf(amount)]));
  let overdrawn = false;
  const paid = rates.map((rate) => {
    const due = earned(rate, blocks);
    const there = left.get(rate.denom) ?? 0n;
    const pays = due <= there ? due : there;
    if (pays < due) overdrawn = true;
    left.set(rate.denom, there - pays);
    return pays;
  });
  return { paid, overdrawn };
}

/** The first height at which a settlement overdraws the account; undefined where nothing draws on it, or the chain ends before. */
export function spentAt({ funds, settledAt, rates }: Drawn): bigint | undefined {
  if (isInDebt(funds)) return settledAt;
  const denoms = new Set(rates.map(({ denom }) => denom));
  const blocks = [...denoms].flatMap((denom) => {
    const held = funds.find((each) => each.denom === denom);
    const drawing = rates.filter((rate) => rate.denom === denom && rate.amount.atto > 0n);
    return drawing.length === 0 ? [] : blocksUntilMoreThan(held ? wholeOf(held.amount) : 0n, drawing);
  });
  const heights = blocks.map((each) => settledAt + each).filter((height) => height <= lastHeight);
  return heights.length === 0 ? undefined : heights.reduce((least, each) => (each < least ? each : least));
}

function isInDebt([first]: Drawn["funds"]): boolean {
  return first !== undefined && first.amount.atto < 0n;
}

/** Only whole coins are paid. */
function wholeOf({ atto }: Decimal): bigint {
  return atto < 0n ? 0n : atto / one;
}

function earned({ amount }: DecCoin, blocks: bigint): bigint {
  return (amount.atto * blocks) / one;
}

/** The sum of truncated rates is below the truncated sum by less than one each, which leaves a small interval. */
function blocksUntilMoreThan(funds: bigint, rates: readonly DecCoin[]): bigint {
  const perBlock = rates.reduce((sum, { amount }) => sum + amount.atto, 0n);
  const dueAfter = (blocks: bigint) => rates.reduce((sum, rate) => sum + earned(rate, blocks), 0n);
  const until = (amount: bigint) => divide(amount * one, perBlock, "up");
  let least = until(funds + 1n);
  let most = until(funds + 1n + BigInt(rates.length));
  while (least < most) {
    const middle = (least + most) / 2n;
    if (dueAfter(middle) > funds) most = middle;
    else least = middle + 1n;
  }
  return least;
}

/** "deployment/owner/dseq" or "bid/owner/dseq/gseq/oseq/provider". */
export type EscrowAccountKey = string;

/** "deployment/owner/dseq/gseq/oseq/provider": that of the account with the rest of the lease's name. */
export type PaymentKey = string;

const partsOfDeploymentAccount = 3;

/** The names of escrow accounts and payments: those of the deployment, bid or lease that they belong to. */
export function deploymentAccount(id: DeploymentId): EscrowAccountKey {
  return `deployment/${formatDeploymentId(id)}`;
}

export function bidAccount(id: BidId): EscrowAccountKey {
  return `bid/${formatBidId(id)}`;
}

export function leasePayment(id: LeaseId): PaymentKey {
  return `deployment/${formatBidId(id)}`;
}

/** Only deployments pay. */
export function accountOfPayment(key: PaymentKey): EscrowAccountKey {
  return key.split("/").slice(0, partsOfDeploymentAccount).join("/");
}
