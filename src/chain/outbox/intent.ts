/** Intents as the outbox takes them: one message for the chain, what it is about and how urgent it is. */
import type { Intent, NewIntent } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import type { SendRequest } from "../chain.ts";
import { readUint64 } from "../codec/wire-messages.ts";
import type { Signer } from "../keys/signer.ts";
import type { Broadcaster } from "../tx/broadcaster.ts";
import { kindOfMessage, type MessageKind, type PackedMessage, unpackMessage } from "../tx/messages.ts";

/** Smaller goes first: what costs money while it waits, then what earns it, then what keeps. */
export const priorities: Readonly<Record<SendRequest["priority"], number>> = {
  close: 0,
  bid: 10,
  account: 20,
  withdraw: 30,
};

/** Sender and chain of a message, which is never sent for another key or chain. */
export interface Owner {
  readonly chainId: string;
  readonly sender: string;
}

/** What all parts of the outbox work with. */
export interface OutboxDeps {
  readonly chainId: string;
  readonly signer: Signer;
  readonly chain: Broadcaster;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

export function intentOf({ subject, why, message, priority, expiresAtMs }: SendRequest, owner: Owner): NewIntent {
  const what = kindOfMessage(message.typeUrl);
  if (!what) throw new ProviderError("AKP_MESSAGE_UNKNOWN", { typeUrl: message.typeUrl });
  const { chainId, sender } = owner;
  const value = Buffer.from(message.value).toString("base64");
  const account = settledAccount(what, message);
  const body: Body = { typeUrl: message.typeUrl, value, chainId, sender, ...(account !== undefined && { account }) };
  const intent = { what, subject, why, body, priority: priorities[priority] };
  return { ...intent, ...(expiresAtMs !== undefined && { expiresAtMs }) };
}

interface Body extends Owner {
  readonly typeUrl: string;
  readonly value: string;
  /** The deployment whose escrow account it settles. */
  readonly account?: string;
}

const settling = ["withdrawLease", "closeLease", "closeBid"] as const satisfies readonly MessageKind[];

/** The chain panics on a withdrawal from an account that was settled in the same block. */
function settledAccount(kind: MessageKind, message: PackedMessage): string | undefined {
  const known = settling.find((each) => each === kind);
  const id = known && unpackMessage(known, message).id;
  return id && `${id.owner}/${readUint64(id.dseq)}`;
}

export function accountOf(intent: Pick<Intent, "body">): string | undefined {
  return bodyOf(intent).account;
}

export function isWithdrawal({ what }: Pick<Intent, "what">): boolean {
  return what === "withdrawLease";
}

export function packedMessageOf(intent: Pick<Intent, "body">): PackedMessage {
  const { typeUrl, value } = bodyOf(intent);
  return { typeUrl, value: Buffer.from(value, "base64") };
}

/** As `intentOf` made it; the journal keeps it as JSON. */
export function bodyOf({ body }: Pick<Intent, "body">): Body {
  return body as Body;
}
