/** A transaction that was signed and written down, and whose fate is not known yet. */
import type { SentTransaction } from "../../journal/transactions.ts";
import type { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Head, Included, Refusal } from "./broadcaster.ts";
import { fateOf } from "./verdict.ts";

export interface Flight extends SentTransaction {
  /** Its messages' subjects: nothing else about them is sent meanwhile. */
  readonly subjects: readonly string[];
  /** Head when it was last handed to a node that answered. */
  askedAt?: bigint;
  /** What that node said against it, if anything. It proves nothing: another node may have it. */
  refusal?: Refusal;
  /** Head at which it was last looked for. */
  lookedAt?: bigint;
  /** Why no node can know whether a block holds it, while that is so. */
  unproven?: ProviderError | undefined;
  /** First head seen that is beyond its stamp, height or sequence. */
  passedAt?: bigint;
}

export type Step =
  | { readonly kind: "settle"; readonly included: Included }
  /** Dead beyond doubt: no block holds it, and none to come can. */
  | { readonly kind: "refile" }
  | { readonly kind: "broadcast" }
  | { readonly kind: "wait" };

/**
 * What to do about a flight, given what a node at `head` or above said when asked for its hash. Handing it over again is
 * safe without proof; giving its intents another transaction is not.
 */
export function nextStep(flight: Flight, found: Included | undefined, head: Head, sequence?: bigint): Step {
  if (found && fateOf(found).kind !== "undecided") return { kind: "settle", included: found };
  if (flight.passedAt === undefined && hasPassed(flight, head, sequence)) flight.passedAt = head.height;
  if (flight.passedAt !== undefined) {
    // A node indexes a block after it has made it; looking again some blocks later leaves no gap between the two.
    const proven = !flight.unproven && head.height >= flight.passedAt + BigInt(limits.outboxProofBlocks);
    return { kind: proven ? "refile" : "wait" };
  }
  const due = flight.askedAt === undefined || head.height >= flight.askedAt + BigInt(limits.outboxRebroadcastBlocks);
  return { kind: due ? "broadcast" : "wait" };
}

/** Whether no block after the head can hold it. */
function hasPassed({ stampNs, timeoutHeight, sequence }: Flight, head: Head, accountSequence?: bigint): boolean {
  if (stampNs !== undefined) return head.timeNs > stampNs;
  if (timeoutHeight !== undefined && head.height > timeoutHeight) return true;
  return sequence !== undefined && accountSequence !== undefined && accountSequence > sequence;
}
