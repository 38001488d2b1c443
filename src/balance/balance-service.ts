/** The balance checker: our wallet, the escrow that pays our leases, and the books about both. */
import type { Bus } from "../bus/bus.ts";
import type { Chain } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import type { LedgerKind } from "../journal/ledger.ts";
import type { Decimal } from "../market/decimal.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import type { Random } from "../runtime/random.ts";
import type { BalanceOptions } from "./balance-options.ts";
import type { BalanceDocument, MoneyLine } from "./balance-status.ts";
import { createBookkeeper } from "./bookkeeper.ts";
import { createEscrowRounds, type EscrowRounds } from "./escrow-rounds.ts";

interface BalanceGround {
  readonly chain: Promise<Chain>;
  readonly journal: Promise<Journal>;
  readonly bus: Promise<Bus>;
  /** What one AKT is worth in dollars; undefined where nobody knows. */
  readonly tokenPrice: () => Decimal | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export function createBalanceService(options: BalanceOptions, ground: BalanceGround): Service<BalanceDocument> {
  const { clock, tokenPrice } = ground;
  const log = ground.log.with({ module: "balance" });
  let running: { readonly chain: Chain; readonly journal: Journal; readonly rounds: EscrowRounds } | undefined;
  let lastDocument: BalanceDocument | undefined;

  function lookNow(): BalanceDocument | undefined {
    if (!running) return undefined;
    const { chain, journal, rounds } = running;
    return {
      wallet: [...chain.mirror.balances()].map(({ denom, amount }) => ({ denom, amount, low: undefined })),
      money: moneyOf(journal),
      leases: journal.read.payments.running().length,
      ...rounds.state,
    };
  }

  return {
    name: "balance",
    async start(scope) {
      const [chain, journal, bus] = await Promise.all([ground.chain, ground.journal, ground.bus]);
      const rounds = createEscrowRounds({ options, chain, journal, bus, tokenPrice, clock, log });
      running = { chain, journal, rounds };
      chain.onStep(rounds.onStep);
      scope.onStop(chain.outbox.onSettled(rounds.onSettled));
      scope.task("escrows", rounds.run);
      const bookkeeper = createBookkeeper({ chain, journal, clock, log });
      chain.onStep(bookkeeper.onStep);
      scope.task("books", bookkeeper.run);
      // Whoever asks after the end gets the last word; the journal is closed by then.
      scope.onStop(() => {
        lastDocument = lookNow();
      });
    },
    status: () => lastDocument ?? lookNow(),
  };
}

function moneyOf({ read }: Journal): MoneyLine[] {
  const totals = read.ledger.totals();
  const locked = read.deposits.all();
  const denoms = new Set([...totals, ...locked].map(({ denom }) => denom));
  return [...denoms].sort().map((denom) => {
    const sum = (wanted: LedgerKind) =>
      totals.find((each) => each.kind === wanted && each.denom === denom)?.amount ?? 0n;
    const [earned, withdrawn] = [sum("accrued"), sum("withdrawn")];
    const ofDenom = locked.filter((each) => each.denom === denom);
    return {
      denom,
      earned,
      withdrawn,
      owed: earned - withdrawn,
      locked: ofDenom.reduce((total, { amount }) => total + amount, 0n),
      fees: sum("fee"),
    };
  });
}
