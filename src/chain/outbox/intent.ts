/** Intents as the outbox takes them: one message for the chain, what it is about and how urgent it is. */
import type { Intent, NewIntent } from "../../journal/intents.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import { kindOfMessage, type PackedMessage } from "../tx/messages.ts";

/** Smaller goes first: what costs money while it waits, then what earns it, then what keeps. */
export const priorities = { close: 0, bid: 10, account: 20, withdraw: 30 } as const;
export type Priority = keyof typeof priorities;

export interface Wish {
  /** The order, bid or lease that it is about. What is about one subject happens in the order it was filed. */
  readonly subject: string;
  readonly why: string;
  readonly message: PackedMessage;
  readonly priority: Priority;
  /** After this it is worthless and is not sent any more. */
  readonly expiresAtMs?: number;
}

/** Whose message it is, and for which chain: under another key or on another chain it would mean something else. */
export interface Owner {
  readonly chainId: string;
  readonly sender: string;
}

/** For the journal. */
export function intentOf({ subject, why, message, priority, expiresAtMs }: Wish, owner: Owner): NewIntent {
  const what = kindOfMessage(message.typeUrl);
  if (!what) throw new ProviderError("AKP_MESSAGE_UNKNOWN", { typeUrl: message.typeUrl });
  const { chainId, sender } = owner;
  const value = Buffer.from(message.value).toString("base64");
  const body: Body = { typeUrl: message.typeUrl, value, chainId, sender };
  return {
    what,
    subject,
    why,
    body,
    priority: priorities[priority],
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
}

interface Body extends Owner {
  readonly typeUrl: string;
  readonly value: string;
}

export function messageOf(intent: Pick<Intent, "id" | "body">): PackedMessage {
  const { typeUrl, value } = bodyOf(intent);
  return { typeUrl, value: Buffer.from(value, "base64") };
}

export function messageTypeOf(intent: Pick<Intent, "id" | "body">): string {
  return bodyOf(intent).typeUrl;
}

export function ownerOf(intent: Pick<Intent, "id" | "body">): Owner {
  return bodyOf(intent);
}

function bodyOf({ id, body }: Pick<Intent, "id" | "body">): Body {
  invariant(isBody(body), "an intent holds a message", { id });
  return body;
}

function isBody(body: unknown): body is Body {
  if (typeof body !== "object" || body === null) return false;
  return ["typeUrl", "value", "chainId", "sender"].every((name) => name in body);
}
