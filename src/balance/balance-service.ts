/** The balance checker: our wallet, the escrow that pays our leases, and the books about both. */
import type { Bus } from "../bus/bus.ts";
import type { Chain } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import type { Decimal } from "../market/decimal.ts";
import type { Clock } from "../runtime/clock.ts";
import { condition } from "../runtime/condition.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import {
  type BalanceOptions,
  type BalanceStatus,
  lookAtBalance,
  type MoneyLine,
  tellBalance,
} from "./balance-status.ts";
import { createBookkeeper } from "./bookkeeper.ts";
import { EscrowRounds } from "./escrow-rounds.ts";
import { type BidNeed, createWallet, isLow, type MarkedLine, type OwnWallet } from "./wallet.ts";

interface BalanceDeps {
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

export function createBalanceService(options: BalanceOptions, deps: BalanceDeps): Service<BalanceStatus> {
  const { clock, tokenPrice } = deps;
  const log = deps.log.with({ module: "balance" });
  let running: { look: () => BalanceStatus; readonly wallet: OwnWallet } | undefined;
  const look = () => running?.look();

  return {
    name: "balance",
    async start(scope) {
      const [chain, journal, bus] = await Promise.all([deps.chain, deps.journal, deps.bus]);
      const bidengine = await deps.bidengine;
      const needs = () => bidengine?.needs() ?? [];
      const wallet = createWallet({ options, mirror: chain.mirror, needs, bus, clock, log });
      const rounds = new EscrowRounds({ options, chain, journal, bus, tokenPrice, clock, log });
      const bookkeeper = createBookkeeper({ chain, journal, clock, log });
      const here = { look: () => lookAtBalance(journal, wallet.lines, rounds.state), wallet };
      running = here;
      chain.onStep(wallet.look);
      wallet.look();
      scope.onStop(wallet.stop);
      chain.onStep((step) => rounds.onStep(step));
      scope.onStop(chain.outbox.onSettled((settled) => rounds.onSettled(settled)));
      scope.task("escrows", (signal) => rounds.run(signal));
      chain.onStep(bookkeeper.onStep);
      scope.task("books", bookkeeper.run);
      // Whoever asks after the end gets the last word; the journal is closed by then.
      scope.onStop(() => {
        const last = here.look();
        here.look = () => last;
      });
    },
    detail() {
      const status = look();
      return status ? tellBalance(status) : "";
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

// What is measured of our money. The network has no metrics about it.

interface Measured {
  readonly look: () => BalanceStatus;
  readonly wallet: () => readonly MarkedLine[];
  readonly nowMs: () => number;
}

/** Amounts are in the smallest unit of a token. The names of bridged tokens are long. */
const ofDenom = { labels: ["denom"], clusterNames: true } as const;

export function measureBalance(metrics: Metrics, { look, wallet, nowMs }: Measured): void {
  const prefix = "akash_provider_balance";
  const gauge = (name: string, help: string) => ({ name: `${prefix}_${name}`, help, kind: "gauge" }) as const;
  const counter = (name: string, help: string) => ({ name: `${prefix}_${name}_total`, help, kind: "counter" }) as const;
  const money = (what: ReturnType<typeof gauge | typeof counter>, column: Exclude<keyof MoneyLine, "denom">) =>
    metrics.read({ ...what, ...ofDenom }, () =>
      look().money.map((line) => [{ denom: line.denom }, Number(line[column])]),
    );

  metrics.read({ ...gauge("wallet", "Smallest units of a token in the wallet"), ...ofDenom }, () =>
    wallet().map(({ denom, amount }) => [{ denom }, Number(amount)]),
  );
  metrics.read(
    {
      ...gauge("wallet_low", "1 while the wallet is below a threshold; below minimum and bid nothing is bid"),
      labels: ["denom", "threshold"],
      clusterNames: true,
    },
    () =>
      wallet().flatMap((line) =>
        line.marks.map((mark) => {
          const labels = { denom: line.denom, threshold: mark.threshold };
          return [labels, isLow(line, mark) ? 1 : 0] as const;
        }),
      ),
  );
  money(
    gauge("earned", "Smallest units of a token that leases have earned; the chain may take some of it back"),
    "earned",
  );
  money(counter("withdrawn", "The same that has come in from escrow"), "withdrawn");
  money(gauge("owed", "The same that is still in escrow"), "owed");
  money(gauge("locked", "Smallest units of a token in deposits of our bids and leases"), "locked");
  money(counter("fees", "Smallest units of a token spent on fees"), "fees");
  metrics.read(gauge("leases", "Leases paid out of escrow"), () => look().leases);
  metrics.read(gauge("spent_leases", "Leases that run although their escrow is spent"), () => look().spent);
  metrics.read(
    gauge("next_run_out_seconds", "Time until the next escrow runs out, by block arithmetic; absent while none will"),
    () => {
      const { next } = look();
      return next ? [[{}, Math.max(0, (next.atMs - nowMs()) / 1_000)]] : [];
    },
  );
  metrics.read(gauge("withdrawals_waiting", "Withdrawals filed and not settled yet"), () => look().withdrawals.waiting);
  metrics.read(
    { ...counter("withdrawals", "Withdrawals settled since the start, by outcome"), labels: ["outcome"] },
    () => {
      const { done, failed } = look().withdrawals;
      return Object.entries({ done, failed }).map(([outcome, count]) => [{ outcome }, count] as const);
    },
  );
}
