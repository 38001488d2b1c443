/** The module as the application sees it. */
import type { Module } from "../../module.ts";
import type { Escrow } from "./escrow.ts";
import { escrowMessages } from "./messages.ts";
import { escrowQueries } from "./queries.ts";

export interface EscrowSettings {
  /**
   * Some versions of the chain end a lease that can no longer be paid at the end of a block; others leave it to the
   * next transaction that settles its account.
   */
  readonly closeDryLeasesInEndBlock: boolean;
}

export function escrowModule(escrow: Escrow, { closeDryLeasesInEndBlock }: EscrowSettings): Module {
  return {
    name: "escrow",
    messages: escrowMessages(escrow),
    queries: escrowQueries,
    ...(closeDryLeasesInEndBlock && { endBlock: (context) => escrow.endDryAccounts(context) }),
  };
}
