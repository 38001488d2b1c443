/** The names of escrow accounts and payments: those of the deployment, bid or lease that they belong to. */
import { type BidId, type DeploymentId, formatBidId, formatDeploymentId, type LeaseId } from "./ids.ts";

/** "deployment/owner/dseq" or "bid/owner/dseq/gseq/oseq/provider". */
export type AccountKey = string;

/** "deployment/owner/dseq/gseq/oseq/provider": that of the account with the rest of the lease's name. */
export type PaymentKey = string;

const partsOfDeploymentAccount = 3;

export function deploymentAccount(id: DeploymentId): AccountKey {
  return `deployment/${formatDeploymentId(id)}`;
}

export function bidAccount(id: BidId): AccountKey {
  return `bid/${formatBidId(id)}`;
}

export function leasePayment(id: LeaseId): PaymentKey {
  return `deployment/${formatBidId(id)}`;
}

/** Only deployments pay. */
export function accountOfPayment(key: PaymentKey): AccountKey {
  return key.split("/").slice(0, partsOfDeploymentAccount).join("/");
}
