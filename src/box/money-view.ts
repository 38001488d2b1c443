/** The money of the demo's provider: what it has, what it earned and what that cost, per denomination. */
import type { BalanceStatus, MoneyLine } from "../balance/balance-status.ts";
import { amountOf, bridgedDollars, type Coin, uact, uakt } from "../market/coin.ts";
import { decimalFromAtto, formatDecimal, showDecimal } from "../market/decimal.ts";
import type { Palette } from "./palette.ts";
import { seconds } from "./seconds.ts";

const tokens = new Map([[uakt, "AKT"], [uact, "ACT"], ...bridgedDollars.map((denom) => [denom, "USDC"] as const)]);
const attoPerMicro = 10n ** 12n;
const columns = ["wallet", "earned", "withdrawn", "owed", "locked", "fees"] as const;
const nameColumns = 6;
/** "9999.999999" and a space: six of them fit a terminal of 80 columns. */
const amountColumns = 12;

export function moneyLines(balance: BalanceStatus, nowMs: number, palette: Palette): string[] {
  const { wallet, money } = balance;
  const denoms = [...new Set([...wallet, ...money].map(({ denom }) => denom))].sort();
  const rows = denoms.map((denom) => {
    const line = money.find((each) => each.denom === denom);
    const cells = columns.map((column) =>
      cell(denom, column === "wallet" ? amountOf(wallet, denom) : (line?.[column] ?? 0n)),
    );
    return `  ${(tokens.get(denom) ?? denom).padEnd(nameColumns - 2)}${cells.join("")}`;
  });
  const heading = ["MONEY".padEnd(nameColumns), ...columns.map((column) => column.padStart(amountColumns))].join("");
  const low = wallet.flatMap((line) => (line.low === undefined ? [] : [palette.bad(`  wallet is low: ${line.low}`)]));
  const error = balance.error === undefined ? [] : [palette.bad(`  ${balance.error}`)];
  return [palette.heading(heading), ...rows, palette.faint(`  ${escrowText(balance, nowMs)}`), ...low, ...error, ""];
}

/** Fractions go first where an amount is too long for its column. */
function cell(denom: string, amount: bigint): string {
  const text = tokens.has(denom) ? formatDecimal(decimalFromAtto(amount * attoPerMicro)).slice(0, -12) : `${amount}`;
  const [whole = ""] = text.split(".");
  const most = amountColumns - 1;
  return (text.length <= most || whole.length >= most ? text : text.slice(0, most)).padStart(amountColumns);
}

function escrowText({ leases, spent, next, withdrawals }: BalanceStatus, nowMs: number): string {
  const soon = next ? `, next runs out in ${seconds(next.atMs - nowMs)}` : "";
  const { waiting, done, failed } = withdrawals;
  const failures = failed > 0 ? `, ${failed} failed` : "";
  return `escrows ${leases}, spent ${spent}${soon}; withdrawals: ${done} done, ${waiting} waiting${failures}`;
}

/** "wallet 11.25 ACT and 9.97 AKT, earned 1.25 ACT, withdrawn 1.25 ACT, owed 0, deposits out 0, fees 0.03 AKT" */
export function moneyText({ wallet, money }: Pick<BalanceStatus, "wallet" | "money">): string {
  const listed = (coins: readonly Coin[]) =>
    coins.flatMap((coin) => (coin.amount === 0n ? [] : tokensText(coin))).join(" and ") || "0";
  const sums = (column: Exclude<keyof MoneyLine, "denom">, label: string = column) =>
    `${label} ${listed(money.map((line) => ({ denom: line.denom, amount: line[column] })))}`;
  const earned = [sums("earned"), sums("withdrawn"), sums("owed"), sums("locked", "deposits out"), sums("fees")];
  return [`wallet ${listed(wallet)}`, ...earned].join(", ");
}

/** "12.345 ACT"; of an unknown denomination, its own units. */
function tokensText({ denom, amount }: Coin): string {
  const token = tokens.get(denom);
  return token ? `${showDecimal(decimalFromAtto(amount * attoPerMicro))} ${token}` : `${amount} ${denom}`;
}
