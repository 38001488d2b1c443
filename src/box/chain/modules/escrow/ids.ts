/** What the names of escrow accounts and payments are made of, and whose they are. */
import { accountOfPayment, type EscrowAccountKey, type PaymentKey } from "../../../../market/escrow-arithmetic.ts";
import { type DeploymentId, type LeaseId, parseDeploymentId, parseLeaseId } from "../../../../market/ids.ts";

export type AccountScope = "deployment" | "bid";

export function deploymentOfAccount(key: EscrowAccountKey): DeploymentId | undefined {
  const { scope, xid } = splitAccountKey(key);
  return scope === "deployment" ? parseDeploymentId(xid) : undefined;
}

export function leaseOfPayment(key: PaymentKey): LeaseId {
  return parseLeaseId(splitAccountKey(key).xid);
}

/** On the wire the scope is a number of its own and "xid" is what follows. */
export function splitAccountKey(key: EscrowAccountKey): { scope: AccountScope; xid: string } {
  const slash = key.indexOf("/");
  return { scope: key.slice(0, slash) as AccountScope, xid: key.slice(slash + 1) };
}

export function splitPaymentKey(key: PaymentKey): { account: EscrowAccountKey; xid: string } {
  const account = accountOfPayment(key);
  return { account, xid: key.slice(account.length + 1) };
}
