/** What is measured of our money. The network has no metrics about it. */
import type { Metrics } from "../runtime/metrics.ts";
import type { BalanceDocument, MoneyLine } from "./balance-status.ts";
import { isLow, type MarkedLine } from "./wallet.ts";

interface Measured {
  readonly look: () => BalanceDocument;
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
