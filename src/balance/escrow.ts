/** What pays for our leases, as the chain showed it at one height. */
import type { EscrowAccount, EscrowPayment } from "../chain/records.ts";
import type { DeploymentId } from "../market/ids.ts";

export interface Escrow {
  readonly deployment: DeploymentId;
  /** Of which all of it is true, and the time of that block. */
  readonly height: bigint;
  readonly timeMs: number;
  readonly account: EscrowAccount;
  /** The open ones of everybody that draws on the account, in the order in which the chain pays them. */
  readonly payments: readonly EscrowPayment[];
}
