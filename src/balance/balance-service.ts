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
import { type BalanceOptions, type BalanceStatus, formatBalance, readBalanceStatus } from "./balance-status.ts";
import { createBookkeeper } from "./bookkeeper.ts";
import { EscrowRounds } from "./escrow-rounds.ts";
import { type BidNeed, createWallet, isLow, type MarkedLine, type OwnWallet } from "./wallet.ts";

interface BalanceDeps {
  readonly chain: Promise<Chain>;
  readonly journal: Promise<Journal>;
  readonly bus: Promise<Bus>;
  /** Undefined where nothing is bid. */
  readonly bidengine: Promise<{ needs(): readonly BidNeed[] }> | undefined;
  /** Dollars per AKT, if known. */
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
      const here = { look: () => readBalanceStatus(journal, wallet.lines, rounds.state), wallet };
      running = here;
      chain.onStep(wallet.look);
      wallet.look();
      scope.onStop(wallet.stop);
      chain.onStep((step) => rounds.onStep(step));
      scope.onStop(chain.outbox.onSettled((settled) => rounds.onSettled(settled)));
      scope.task("escrows", (signal) => rounds.run(signal));
      chain.onStep(bookkeeper.onStep);
      scope.task("books", bookkeeper.run);
      // The journal is closed when the status is read after the end.
      scope.onStop(() => {
        const last = here.look();
        here.look = () => last;
      });
    },
    detail() {
      const status = look();
      return status ? formatBalance(status) : "";
    },
    status: look,
    *conditions() {
      const { wallet = [], error } = look() ?? {};
      for (const { denom, low } of wallet) if (low !== undefined) yield condition("WalletLow", low, { subject: denom });
      if (error !== undefined) yield condition("EscrowUnknown", error);
    },
    measure(metrics) {
      if (!running) return;
      const here = running;
      measureBalance(metrics, { look: () => here.look(), wallet: () => here.wallet.lines, nowMs: clock.now });
    },
  };
}

interface Measured {
  readonly look: () => BalanceStatus;
  readonly wallet: () => readonly MarkedLine[];
  readonly nowMs: () => number;
}

const moneyMetrics = [
  ["earned", "gauge", "Smallest units of a token that leases have earned; the chain may take some of it back"],
  ["withdrawn", "counter", "The same that has come in from escrow"],
  ["owed", "gauge", "The same that is still in escrow"],
  ["locked", "gauge", "Smallest units of a token in deposits of our bids and leases"],
  ["fees", "counter", "Smallest units of a token spent on fees"],
] as const;

/** Amounts are in the smallest unit of a token. The names of bridged tokens are long. */
const ofDenom = { labels: ["denom"], clusterNames: true } as const;

export function measureBalance(metrics: Metrics, { look, wallet, nowMs }: Measured): void {
  const prefix = "akash_provider_balance";
  const gauge = (name: string, help: string) => ({ name: `${prefix}_${name}`, help, kind: "gauge" }) as const;
  for (const [column, kind, help] of moneyMetrics) {
    const name = kind === "counter" ? `${prefix}_${column}_total` : `${prefix}_${column}`;
    metrics.read({ name, help, kind, ...ofDenom }, () =>
      look().money.map((line) => [{ denom: line.denom }, Number(line[column])]),
    );
  }
  metrics.read({ ...gauge("wallet", "Smallest units of a token in the wallet"), ...ofDenom }, () =>
    wallet().map(({ denom, amount }) => [{ denom }, Number(amount)]),
  );
  const low = gauge("wallet_low", "1 while the wallet is below a threshold; below minimum and bid nothing is bid");
  metrics.read({ ...low, labels: ["denom", "threshold"], clusterNames: true }, () =>
    wallet().flatMap((line) =>
      line.marks.map((mark) => {
        const labels = { denom: line.denom, threshold: mark.threshold };
        return [labels, isLow(line, mark) ? 1 : 0] as const;
      }),
    ),
  );
  metrics.readEach("gauge", prefix, [
    ["leases", "Leases paid out of escrow", () => look().leases],
    ["spent_leases", "Leases that run although their escrow is spent", () => look().spent],
    ["withdrawals_waiting", "Withdrawals filed and not settled yet", () => look().withdrawals.waiting],
  ]);
  const runsOut = "Time until the next escrow runs out, by block arithmetic; absent while none will";
  metrics.read(gauge("next_run_out_seconds", runsOut), () => {
    const { next } = look();
    return next ? [[{}, Math.max(0, (next.atMs - nowMs()) / 1_000)]] : [];
  });
  const help = "Withdrawals settled since the start, by outcome";
  metrics.read({ name: `${prefix}_withdrawals_total`, help, kind: "counter", labels: ["outcome"] }, () => {
    const { done, failed } = look().withdrawals;
    return Object.entries({ done, failed }).map(([outcome, count]) => [{ outcome }, count] as const);
  });
}
