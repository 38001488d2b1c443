/** A transaction that was signed and written down, and whose fate is not known yet. */
import type { SentTransaction } from "../../journal/transactions.ts";
import type { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Account, Head, Included, Refusal } from "./broadcaster.ts";
import { fateOf } from "./verdict.ts";

export interface Flight extends SentTransaction {
  /** Its messages' subjects: nothing else about them is sent meanwhile. */
  readonly subjects: readonly string[];
  /** Escrow accounts that its messages settle: nothing is withdrawn from them meanwhile. */
  readonly accounts: readonly string[];
  /** Whether its messages cost more than the fee. */
  readonly costly: boolean;
  gapped?: boolean;
  /** Head when it was last handed to a node that answered. */
  askedAt?: bigint;
  /** Whether a node ever took it. */
  taken?: boolean;
  /** What was last said against it, if anything. It proves nothing: another node may have it. */
  refusal?: Refusal;
  /** Head at which it was last looked for. */
  lookedAt?: bigint;
  /** Why no node can know whether a block holds it, while that is so. */
  unproven?: ProviderError | undefined;
  /** First height seen after which its stamp, height or sequence was over: no later block holds it. */
  passedAt?: bigint;
}

export type Step =
  | { readonly kind: "settle"; readonly included: Included }
  /** Dead beyond doubt: no block holds it, and none to come can. */
  | { readonly kind: "refile" }
  | { readonly kind: "broadcast" }
  | { readonly kind: "wait" };

export interface Sight {
  readonly head: Head;
  /** What a node at the head or above said when it was asked for the hash. */
  readonly found?: Included | undefined;
  /** Where sequences are used. It may be of a later height than the head. */
  readonly account?: Account | undefined;
  /** Up to where every block was looked through for it, without finding it. Undefined when nodes must be believed. */
  readonly followed?: bigint | undefined;
}

/** What to do about a flight. Handing it over again is safe without proof; giving its intents another transaction is not. */
export function nextStep(flight: Flight, { head, found, account, followed }: Sight): Step {
  if (found && fateOf(found).kind !== "undecided") return { kind: "settle", included: found };
  const passedAt = flight.passedAt ?? passedBy(flight, head, account);
  if (passedAt !== undefined) flight.passedAt = passedAt;
  const { askedAt, unproven } = flight;
  if (passedAt === undefined) {
    const due = askedAt === undefined || head.height >= askedAt + BigInt(limits.outboxRebroadcastBlocks);
    return { kind: due ? "broadcast" : "wait" };
  }
  if (followed !== undefined) return { kind: followed >= passedAt ? "refile" : "wait" };
  // A node indexes a block after it has made it; looking again some blocks later leaves no gap between the two.
  const proven = !unproven && head.height >= passedAt + BigInt(limits.outboxProofBlocks);
  return { kind: proven ? "refile" : "wait" };
}

/** A height after which no block can hold it, if there is one by now. */
function passedBy({ stampNs, timeoutHeight, sequence }: Flight, head: Head, account?: Account): bigint | undefined {
  if (stampNs !== undefined) return head.timeNs > stampNs ? head.height : undefined;
  if (timeoutHeight !== undefined && head.height > timeoutHeight) return head.height;
  // The block that used the sequence up may be later than the head, and may hold this very transaction.
  return sequence !== undefined && account && account.sequence > sequence ? account.height : undefined;
}
