/**
 * Deployment, market and escrow put together. They need each other: a deployment is alive as long as its escrow
 * account, and a lease as long as its payment, so escrow notifies the others when the money runs out.
 */
import { LeaseClosedReason } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Decimal } from "../../../market/decimal.ts";
import type { Context, Module } from "../module.ts";
import { type DeploymentParams, defaultDeploymentParams } from "./deployment/creation.ts";
import { deploymentModule } from "./deployment/module.ts";
import { changeGroup, findDeployment, groupsOf, saveDeployment } from "./deployment/records.ts";
import { createEscrow, type Escrow, type EscrowHooks } from "./escrow/escrow.ts";
import { deploymentOfAccount, leaseOfPayment } from "./escrow/ids.ts";
import { escrowModule } from "./escrow/module.ts";
import type { EscrowAccount, Payment } from "./escrow/records.ts";
import { defaultMarketParams, type MarketParams } from "./market/bidding.ts";
import { closeBid, closeOrder, endGroup, endLease } from "./market/market.ts";
import { marketModule } from "./market/module.ts";
import { findBid, findLease, findOrder } from "./market/records.ts";

export interface MarketplaceSettings {
  readonly deploymentParams?: DeploymentParams;
  readonly marketParams?: MarketParams;
  /**
   * Some versions of the chain end a lease that can no longer be paid at the end of a block; others leave it to the
   * next transaction that settles its account.
   */
  readonly closeDryLeasesInEndBlock?: boolean;
  /** Lets uakt pay, at this price in uact, for accounts that ran out of uact, as while the chain makes none. */
  readonly aktPriceWhileMintHalts?: Decimal;
}

export function createMarketplace(settings: MarketplaceSettings = {}): Module[] {
  const { deploymentParams = defaultDeploymentParams, marketParams = defaultMarketParams } = settings;
  const hooks: EscrowHooks = {
    accountEnded: (context, account) => endDeployment(context, escrow, account),
    paymentEnded: (context, payment) => endPaidLease(context, escrow, payment),
  };
  const escrow = createEscrow(hooks, settings.aktPriceWhileMintHalts);
  const { minReclamationWindowNs: least, maxReclamationWindowNs: most } = marketParams;
  return [
    deploymentModule(escrow, deploymentParams, { least, most }),
    marketModule(escrow, marketParams),
    escrowModule(escrow, settings.closeDryLeasesInEndBlock ?? false),
  ];
}

function endDeployment(context: Context, escrow: Escrow, account: EscrowAccount): void {
  const id = deploymentOfAccount(account.key);
  const deployment = id && findDeployment(context, id);
  if (deployment?.state !== "active") return;
  saveDeployment(context, { ...deployment, state: "closed" }, "Closed");
  const state = account.state === "overdrawn" ? "insufficient_funds" : "closed";
  for (const group of groupsOf(context, deployment.id)) {
    if (group.state === "closed") continue;
    changeGroup(context, group, state, "Closed");
    endGroup(context, escrow, group.id, state);
  }
}

function endPaidLease(context: Context, escrow: Escrow, payment: Payment): void {
  const id = leaseOfPayment(payment.key);
  const [order, bid, lease] = [findOrder(context, id), findBid(context, id), findLease(context, id)];
  if (bid?.state !== "active" || !order || !lease) return;
  closeOrder(context, order);
  closeBid(context, escrow, bid);
  if (payment.state === "overdrawn") {
    endLease(context, lease, "insufficient_funds", LeaseClosedReason.lease_closed_reason_insufficient_funds);
  } else endLease(context, lease, "closed", LeaseClosedReason.lease_closed_reason_unspecified);
}
