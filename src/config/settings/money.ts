import { journalLedgerKeepMs } from "../../runtime/limits.ts";
import { formatDuration } from "../formats/duration.ts";
import { balances, coins } from "../formats/money.ts";
import { duration } from "../formats/plain.ts";
import { group, setting } from "../setting.ts";

export const moneyGroup = group({
  title: "Money",
  about: "What the wallet keeps, when earnings are brought home, and how long the books are kept.",
  usedBy: ["run"],
  settings: {
    minimumBalance: setting("minimum-balance", balances, {
      default: "1000000",
      doc: "What the wallet keeps: a bid that would take it below this is not made. A number alone is in uakt.",
    }),
    warnBalance: setting("warn-balance", balances, {
      default: "5000000",
      doc: "Below this the wallet is reported as low. A number alone is in uakt.",
    }),
    leaseFundsMonitorIntervalMs: setting("lease-funds-monitor-interval", duration({ least: "1m", most: "24h" }), {
      default: "10m",
      doc: "How often the escrow of each lease is looked at, at the latest.",
    }),
    withdrawalPeriodMs: setting("withdrawal-period", duration(), {
      default: "24h",
      doc: "How often earnings are withdrawn from escrow where that is worth its fee; with 0, only when they are worth many times the fee or reach --withdrawal-threshold.",
    }),
    withdrawalThreshold: setting("withdrawal-threshold", coins, {
      default: "100000uact,100000uakt",
      doc: "What a withdrawal must bring where no price of the token says whether it is worth its fee: 100000 of a denomination that is not named.",
    }),
    ledgerRetentionMs: setting("ledger-retention", duration({ zero: "refused" }), {
      default: formatDuration(journalLedgerKeepMs),
      doc: "How long the journal keeps the books: what each lease earned and brought in, and what was paid for it.",
    }),
  },
});
