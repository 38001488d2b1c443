/** What the network's vote has set for the market. */
import type { Coin } from "../../../../market/coin.ts";

export interface MarketParams {
  /** Nobody reads it any more, but it is still answered. */
  readonly bidMinDeposit: Coin;
  /** The smallest deposit of a bid, for each denom that may be deposited at all. */
  readonly bidMinDeposits: readonly Coin[];
  readonly orderMaxBids: number;
  readonly minReclamationWindowNs: bigint;
  readonly maxReclamationWindowNs: bigint;
}

const hourNs = 3_600_000_000_000n;

export const defaultMarketParams: MarketParams = {
  bidMinDeposit: { denom: "uakt", amount: 500_000n },
  bidMinDeposits: [
    { denom: "uact", amount: 500_000n },
    { denom: "uakt", amount: 500_000n },
  ],
  orderMaxBids: 20,
  minReclamationWindowNs: hourNs,
  maxReclamationWindowNs: 720n * hourNs,
};
