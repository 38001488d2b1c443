/** What an earlier run left in the journal. */
import type { Journal } from "../../journal/journal.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { type Owner, ownerOf } from "./intent.ts";

/** What was decided for one key and chain is never signed with another. */
export function refuseOthers({ read: { transactions, intents } }: Journal, { chainId, sender }: Owner): void {
  const left = [
    ...transactions.all().map((tx) => ({ what: `the transaction ${tx.hash}`, owner: tx })),
    ...intents.unsettled(intents.owed()).map((intent) => ({ what: `the intent ${intent.id}`, owner: ownerOf(intent) })),
  ];
  const other = left.find(({ owner }) => owner.chainId !== chainId || owner.sender !== sender);
  if (!other) return;
  const found = `${other.owner.sender} on ${other.owner.chainId}`;
  throw new ProviderError("AKP_OUTBOX_OTHER_KEY", { what: other.what, found });
}
