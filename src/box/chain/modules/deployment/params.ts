/** What the network's vote has set for deployments. */
import type { Coin } from "../../../../market/coin.ts";

export interface DeploymentParams {
  /** The smallest first deposit, for each denom that may be deposited at all. */
  readonly minDeposits: readonly Coin[];
}

export const defaultDeploymentParams: DeploymentParams = {
  minDeposits: [
    { denom: "uakt", amount: 500_000n },
    { denom: "uact", amount: 500_000n },
  ],
};
