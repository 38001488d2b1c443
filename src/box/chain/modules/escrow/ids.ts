/** The names of escrow accounts and payments: those of the deployment, bid or lease that they belong to. */
import {
  type BidId,
  type DeploymentId,
  formatBidId,
  formatDeploymentId,
  type LeaseId,
  parseDeploymentId,
  parseLeaseId,
} from "../../../../market/ids.ts";

/** "deployment/owner/dseq" or "bid/owner/dseq/gseq/oseq/provider". */
export type AccountKey = string;

/** "deployment/owner/dseq/gseq/oseq/provider": that of the account with the rest of the lease's name. */
export type PaymentKey = string;

export type AccountScope = "deployment" | "bid";

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

export function deploymentOfAccount(key: AccountKey): DeploymentId | undefined {
  const { scope, xid } = splitAccountKey(key);
  return scope === "deployment" ? parseDeploymentId(xid) : undefined;
}

export function leaseOfPayment(key: PaymentKey): LeaseId {
  return parseLeaseId(splitAccountKey(key).xid);
}

/** On the wire the scope is a number of its own and "xid" is what follows. */
export function splitAccountKey(key: AccountKey): { scope: AccountScope; xid: string } {
  const slash = key.indexOf("/");
  return { scope: key.slice(0, slash) as AccountScope, xid: key.slice(slash + 1) };
}

export function splitPaymentKey(key: PaymentKey): { account: AccountKey; xid: string } {
  const account = accountOfPayment(key);
  return { account, xid: key.slice(account.length + 1) };
}
