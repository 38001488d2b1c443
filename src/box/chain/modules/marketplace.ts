/**
 * Deployment, market and escrow put together. They need each other: a deployment is alive as long as its escrow
 * account, and a lease as long as its payment, so escrow tells the others when the money has come to its end.
 */
import { LeaseClosedReason } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Decimal } from "../../../market/decimal.ts";
import type { Context, Module } from "../module.ts";
import { closeDeployment, closeGroup } from "./deployment/lifecycle.ts";
import { deploymentModule } from "./deployment/module.ts";
import { type DeploymentParams, defaultDeploymentParams } from "./deployment/params.ts";
import { findDeployment, groupsOf } from "./deployment/records.ts";
import { createEscrow, type EscrowHooks } from "./escrow/escrow.ts";
import { deploymentOfAccount, leaseOfPayment } from "./escrow/ids.ts";
import { escrowModule } from "./escrow/module.ts";
import type { Account, Payment } from "./escrow/records.ts";
import { createMarket, type Market } from "./market/market.ts";
import { marketModule } from "./market/module.ts";
import { defaultMarketParams, type MarketParams } from "./market/params.ts";
import { findBid, findLease, findOrder } from "./market/records.ts";

export interface MarketplaceSettings {
  readonly deploymentParams?: DeploymentParams;
  readonly marketParams?: MarketParams;
  /**
   * Some versions of the chain end a lease that can no longer be paid at the end of a block; others leave it to the
   * next transaction that settles its account.
   */
  readonly closeDryLeasesInEndBlock?: boolean;
  /** What an akt is worth while the chain makes no uact; see escrow. The chain in a box makes none either way. */
  readonly aktPriceWhileMintHalts?: Decimal;
}

export function createMarketplace(settings: MarketplaceSettings = {}): Module[] {
  const { deploymentParams = defaultDeploymentParams, marketParams = defaultMarketParams } = settings;
  const hooks: EscrowHooks = {
    accountEnded: (context, account) => endDeployment(context, market, account),
    paymentEnded: (context, payment) => endLease(context, market, payment),
  };
  const escrow = createEscrow(hooks, { aktPrice: settings.aktPriceWhileMintHalts });
  const market = createMarket(escrow);
  const { minReclamationWindowNs: least, maxReclamationWindowNs: most } = marketParams;
  const { closeDryLeasesInEndBlock = false } = settings;
  return [
    deploymentModule({ orders: market, escrow, params: deploymentParams, reclamationWindowNs: { least, most } }),
    marketModule({ market, escrow }, marketParams),
    escrowModule(escrow, { closeDryLeasesInEndBlock }),
  ];
}

function endDeployment(context: Context, market: Market, account: Account): void {
  const id = deploymentOfAccount(account.key);
  const deployment = id && findDeployment(context, id);
  if (deployment?.state !== "active") return;
  closeDeployment(context, deployment);
  const state = account.state === "overdrawn" ? "insufficient_funds" : "closed";
  for (const group of groupsOf(context, deployment.id)) {
    if (group.state === "closed") continue;
    closeGroup(context, group, state);
    market.endGroup(context, group.id, state);
  }
}

function endLease(context: Context, market: Market, payment: Payment): void {
  const id = leaseOfPayment(payment.key);
  const [order, bid, lease] = [findOrder(context, id), findBid(context, id), findLease(context, id)];
  if (bid?.state !== "active" || !order || !lease) return;
  market.closeOrder(context, order);
  market.closeBid(context, bid);
  if (payment.state === "overdrawn") {
    market.closeLease(context, lease, "insufficient_funds", LeaseClosedReason.lease_closed_reason_insufficient_funds);
  } else market.closeLease(context, lease, "closed", LeaseClosedReason.lease_closed_reason_unspecified);
}
