/** What is measured of our money. The network has no metrics about it. */
import type { Metrics } from "../runtime/metrics.ts";
import type { BalanceDocument, MoneyLine } from "./balance-status.ts";
import { isLow, type MarkedLine } from "./wallet.ts";

/** Amounts are in the smallest unit of a token. The names of bridged tokens are long. */
const ofDenom = { labels: ["denom"], clusterNames: true } as const;

interface Measured {
  readonly look: () => BalanceDocument;
  readonly wallet: () => readonly MarkedLine[];
  readonly nowMs: () => number;
}

export function measureBalance(metrics: Metrics, { look, wallet, nowMs }: Measured): void {
  const money = (value: (line: MoneyLine) => bigint) => () =>
    look().money.map((line) => [{ denom: line.denom }, Number(value(line))] as const);
  const prefix = "akash_provider_balance";
  metrics.read(
    { name: `${prefix}_wallet`, help: "Smallest units of a token in the wallet", kind: "gauge", ...ofDenom },
    () => wallet().map(({ denom, amount }) => [{ denom }, Number(amount)]),
  );
  metrics.read(
    {
      name: `${prefix}_wallet_low`,
      help: "1 while the wallet is below a threshold; below minimum and bid nothing is bid",
      kind: "gauge",
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
  metrics.read(
    {
      name: `${prefix}_earned`,
      help: "Smallest units of a token that leases have earned; the chain may take some of it back",
      kind: "gauge",
      ...ofDenom,
    },
    money(({ earned }) => earned),
  );
  metrics.read(
    { name: `${prefix}_withdrawn_total`, help: "The same that has come in from escrow", kind: "counter", ...ofDenom },
    money(({ withdrawn }) => withdrawn),
  );
  metrics.read(
    { name: `${prefix}_owed`, help: "The same that is still in escrow", kind: "gauge", ...ofDenom },
    money(({ owed }) => owed),
  );
  metrics.read(
    {
      name: `${prefix}_locked`,
      help: "Smallest units of a token in deposits of our bids and leases",
      kind: "gauge",
      ...ofDenom,
    },
    money(({ locked }) => locked),
  );
  metrics.read(
    { name: `${prefix}_fees_total`, help: "Smallest units of a token spent on fees", kind: "counter", ...ofDenom },
    money(({ fees }) => fees),
  );
  metrics.read({ name: `${prefix}_leases`, help: "Leases paid out of escrow", kind: "gauge" }, () => look().leases);
  metrics.read(
    { name: `${prefix}_spent_leases`, help: "Leases that run although their escrow is spent", kind: "gauge" },
    () => look().spent,
  );
  metrics.read(
    {
      name: `${prefix}_next_run_out_seconds`,
      help: "Time until the next escrow runs out, by block arithmetic; absent while none will",
      kind: "gauge",
    },
    () => {
      const { next } = look();
      return next ? [[{}, Math.max(0, (next.atMs - nowMs()) / 1_000)]] : [];
    },
  );
  metrics.read(
    {
      name: `${prefix}_withdrawals_waiting`,
      help: "Withdrawals filed and not settled yet",
      kind: "gauge",
    },
    () => look().withdrawals.waiting,
  );
  metrics.read(
    {
      name: `${prefix}_withdrawals_total`,
      help: "Withdrawals settled since the start, by outcome",
      kind: "counter",
      labels: ["outcome"],
    },
    () => {
      const { done, failed } = look().withdrawals;
      return Object.entries({ done, failed }).map(([outcome, count]) => [{ outcome }, count] as const);
    },
  );
}
