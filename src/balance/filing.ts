/** Files the withdrawals that a round decided on, in the order in which they fell due, and never two of one escrow. */

import { MsgWithdrawLease } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { Chain, SettledResult } from "../chain/chain.ts";
import { writeId } from "../chain/codec/wire64.ts";
import { accountOf, isWithdrawal } from "../chain/outbox/intent.ts";
import { type PackedMessage, packMessage } from "../chain/tx/messages.ts";
import type { Intent } from "../journal/intents.ts";
import type { Tables } from "../journal/tables.ts";
import { formatLeaseId, type LeaseId, parseLeaseId } from "../market/ids.ts";
import { outboxIntents } from "../runtime/limits.ts";
import { pausedUntilMs, type Verdict } from "./withdrawing.ts";

/** Withdrawals that one round files, about ten transactions full of them; the others wait for the next one. */
export const withdrawalsOfRound = 500;

export interface Decided {
  readonly deployment: string;
  /** Of the reading that it was decided by. */
  readonly height: bigint;
  /** All of ours there. */
  readonly leases: readonly LeaseId[];
  readonly verdict: Exclude<Verdict, { kind: "wait" }>;
}

export type Filing =
  | { readonly kind: "filed"; readonly id: number; readonly lease: LeaseId; readonly why: string }
  /** Something that settles the same escrow is under way, or has landed since the reading: it may be empty now. */
  | { readonly kind: "busy" }
  /** The last ones came to nothing. */
  | { readonly kind: "paused"; readonly pauseMs: number }
  /** Enough for one round, or more than the outbox takes. */
  | { readonly kind: "full" };

/** In a unit of the journal: looks once more, for what was filed since the reading. By deployment, what came of it. */
export function fileWithdrawals(
  { intents }: Pick<Tables, "intents">,
  decided: readonly Decided[],
  outbox: Pick<Chain["outbox"], "intentOf">,
  nowMs: number,
): Map<string, Filing> {
  const busy = new Set(intents.unsettled(intents.owed()).map(accountOf));
  let filed = 0;

  function file({ deployment, height, leases, verdict }: Decided): Filing {
    if (busy.has(deployment)) return { kind: "busy" };
    const before = leases.flatMap((id) => withdrawalsOf(intents, id)).sort((a, b) => b.id - a.id);
    if (before.some((intent) => landedAt(intent) > height)) return { kind: "busy" };
    const untilMs = pausedUntilMs(before, verdict.mostPauseMs, nowMs);
    if (untilMs !== undefined) return { kind: "paused", pauseMs: untilMs - nowMs };
    const { why } = verdict;
    const lease = parseLeaseId(verdict.lease);
    const priority = verdict.kind === "settle" ? "close" : "withdraw";
    const message = withdrawLeaseMessage(lease);
    const intent = outbox.intentOf({ subject: verdict.lease, why, message, priority });
    const isFull = filed >= withdrawalsOfRound || intents.owed(intent.priority) >= outboxIntents;
    if (isFull) return { kind: "full" };
    filed += 1;
    return { kind: "filed", id: intents.file(intent), lease, why };
  }

  return new Map(decided.toSorted(byUrgency).map((each) => [each.deployment, file(each)]));
}

/** Who works for nothing comes before who only waits for money; then what fell due first. */
function byUrgency({ verdict: left }: Decided, { verdict: right }: Decided): number {
  if (left.kind !== right.kind) return left.kind === "settle" ? -1 : 1;
  return left.fellDueMs - right.fellDueMs;
}

function withdrawalsOf(intents: Pick<Tables["intents"], "about">, lease: LeaseId): Intent[] {
  return intents.about(formatLeaseId(lease)).filter(isWithdrawal);
}

function landedAt({ result }: Pick<Intent, "result">): bigint {
  return BigInt((result as SettledResult | undefined)?.height ?? 0);
}

/** The message that brings in what a lease has earned, and settles all of its escrow on the way. */
function withdrawLeaseMessage(id: LeaseId): PackedMessage {
  return packMessage("withdrawLease", MsgWithdrawLease.fromPartial({ id: writeId(id) }));
}
