/** The balance checker: our wallet, the escrow that pays our leases, and the books about both. */

import type { Bus } from "../bus/bus.ts";
import type { Chain } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import type { Decimal } from "../market/decimal.ts";
import type { Clock } from "../runtime/clock.ts";
import { condition } from "../runtime/condition.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import { measureBalance } from "./balance-metrics.ts";
import type { BalanceOptions } from "./balance-options.ts";
import { type BalanceDocument, lookAtBalance, tellBalance } from "./balance-status.ts";
import { createBookkeeper } from "./bookkeeper.ts";
import { createEscrowRounds } from "./escrow-rounds.ts";
import { type BidNeed, createWallet, type Wallet } from "./wallet.ts";

interface BalanceGround {
  readonly chain: Promise<Chain>;
  readonly journal: Promise<Journal>;
  readonly bus: Promise<Bus>;
  /** Who says what the next bid takes of the wallet; undefined where nothing is bid. */
  readonly bidengine: Promise<{ needs(): readonly BidNeed[] }> | undefined;
  /** What one AKT is worth in dollars; undefined where nobody knows. */
  readonly tokenPrice: () => Decimal | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export function createBalanceService(options: BalanceOptions, ground: BalanceGround): Service<BalanceDocument> {
  const { clock, tokenPrice } = ground;
  const log = ground.log.with({ module: "balance" });
  let running: { look: () => BalanceDocument; readonly wallet: Wallet } | undefined;
  const look = () => running?.look();

  return {
    name: "balance",
    async start(scope) {
      const [chain, journal, bus] = await Promise.all([ground.chain, ground.journal, ground.bus]);
      const bidengine = await ground.bidengine;
      const needs = () => bidengine?.needs() ?? [];
      const wallet = createWallet({ options, mirror: chain.mirror, needs, bus, clock, log });
      const rounds = createEscrowRounds({ options, chain, journal, bus, tokenPrice, clock, log });
      const bookkeeper = createBookkeeper({ chain, journal, clock, log });
      const here = { look: () => lookAtBalance(journal, wallet.lines, rounds.state), wallet };
      running = here;
      chain.onStep(wallet.look);
      wallet.look();
      scope.onStop(wallet.stop);
      chain.onStep(rounds.onStep);
      scope.onStop(chain.outbox.onSettled(rounds.onSettled));
      scope.task("escrows", rounds.run);
      chain.onStep(bookkeeper.onStep);
      scope.task("books", bookkeeper.run);
      // Whoever asks after the end gets the last word; the journal is closed by then.
      scope.onStop(() => {
        const last = here.look();
        here.look = () => last;
      });
    },
    detail() {
      const document = look();
      return document ? tellBalance(document) : "";
    },
    status: look,
    *conditions() {
      const { wallet = [], trouble } = look() ?? {};
      for (const { denom, low } of wallet) if (low !== undefined) yield condition("WalletLow", low, { subject: denom });
      if (trouble !== undefined) yield condition("EscrowUnknown", trouble);
    },
    measure(metrics) {
      if (!running) return;
      const here = running;
      measureBalance(metrics, { look: () => here.look(), wallet: () => here.wallet.lines, nowMs: clock.now });
    },
  };
}
