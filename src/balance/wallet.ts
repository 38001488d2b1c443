/** The balance of our account against its thresholds; reports once when it falls below one, and once when it recovers. */
import type { Bus } from "../bus/bus.ts";
import type { MirrorView } from "../chain/chain.ts";
import { amountOf, type Coin, formatCoin, isDollar, uakt } from "../market/coin.ts";
import type { Clock } from "../runtime/clock.ts";
import { jsonText } from "../runtime/json-text.ts";
import type { Log } from "../runtime/log.ts";
import { changedStatuses } from "../runtime/throttle.ts";
import type { BalanceOptions, WalletLine } from "./balance-status.ts";

/** What the wallet keeps, what the next bid needs, and a warning; below the first two nothing is bid. */
const thresholds = ["minimum", "bid", "warn"] as const;
type Threshold = (typeof thresholds)[number];

/** `low` is about the most urgent threshold that it is below. */
export interface MarkedLine extends WalletLine {
  /** The most urgent first. */
  readonly marks: readonly Mark[];
}

interface Mark {
  readonly threshold: Threshold;
  readonly least: bigint;
}

/** What the next bid takes of a denomination, and the balance it needs. */
export interface BidNeed {
  readonly denom: string;
  readonly needed: bigint;
  readonly least: bigint;
}

interface WalletDeps {
  readonly options: Pick<BalanceOptions, "minimumBalance" | "warnBalance">;
  readonly mirror: Pick<MirrorView, "ready" | "balances">;
  readonly needs: () => readonly BidNeed[];
  readonly bus: Pick<Bus, "publish">;
  readonly clock: Clock;
  readonly log: Log;
}

export type OwnWallet = ReturnType<typeof createWallet>;

export function createWallet({ options, mirror, needs, bus, clock, log }: WalletDeps) {
  let lines: readonly MarkedLine[] = [];
  const status = changedStatuses(clock, () => ({ "akash.provider.balance.wallet": { wallet: lines } }), bus.publish);

  function report({ denom, amount }: MarkedLine, { threshold, least }: Mark, low: boolean): void {
    const fields = { denom, threshold, balance: amount, least };
    if (low) log.warn("wallet below threshold", fields);
    else log.info("wallet above threshold again", fields);
    bus.publish("akash.provider.balance.low", { denom, threshold, low });
  }

  return {
    look(): void {
      if (!mirror.ready) return;
      const before = lines;
      lines = walletLines([...mirror.balances()], options, needs(), before);
      for (const line of lines) {
        const known = before.find(({ denom }) => denom === line.denom);
        for (const mark of line.marks) {
          const low = isLow(line, mark);
          if (low !== wasLow(known, mark)) report(line, mark, low);
        }
      }
      // A request without a change would delay the next.
      if (jsonText(lines) !== jsonText(before)) status.ask();
    },
    get lines() {
      return lines;
    },
    stop: status.stop,
  };
}

/** One per denomination that we deal in or have held: anyone can send us others. */
export function walletLines(
  balances: readonly Coin[],
  { minimumBalance, warnBalance }: WalletDeps["options"],
  needs: readonly BidNeed[],
  before: readonly MarkedLine[] = [],
): MarkedLine[] {
  const ours = balances.map(({ denom }) => denom).filter((denom) => denom === uakt || isDollar(denom));
  const wanted = [...minimumBalance, ...warnBalance, ...needs, ...before].map(({ denom }) => denom);
  const bid = needs.filter(({ needed }) => needed > 0n).map(({ denom, least }) => ({ denom, amount: least }));
  const leasts: Readonly<Record<Threshold, readonly Coin[]>> = { minimum: minimumBalance, bid, warn: warnBalance };
  return [...new Set([...ours, ...wanted])].sort().map((denom) => {
    const coin = { denom, amount: amountOf(balances, denom) };
    const marks = thresholds.flatMap((threshold) => {
      const least = leasts[threshold].find((each) => each.denom === denom)?.amount;
      return least === undefined ? [] : [{ threshold, least }];
    });
    const mark = marks.find((each) => isLow(coin, each));
    return { ...coin, marks, low: mark && lowText(coin, mark) };
  });
}

export function isLow({ amount }: Pick<Coin, "amount">, { least }: Mark): boolean {
  return amount < least;
}

/** A mark of a bid may be new. */
function wasLow(before: MarkedLine | undefined, { threshold }: Mark): boolean {
  return before?.marks.some((mark) => mark.threshold === threshold && isLow(before, mark)) ?? false;
}

const words: Readonly<Record<Threshold, string>> = {
  minimum: "below minimum-balance, nothing is bid",
  bid: "short of the next bid, nothing is bid",
  warn: "below warn-balance",
};

function lowText({ denom, amount }: Coin, { threshold, least }: Mark): string {
  return `${formatCoin({ denom, amount: least - amount })} ${words[threshold]}`;
}
