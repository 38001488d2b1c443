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

/** For the journal. */
export function intentOf({ subject, why, message, priority, expiresAtMs }: Wish): NewIntent {
  const what = kindOfMessage(message.typeUrl);
  if (!what) throw new ProviderError("AKP_MESSAGE_UNKNOWN", { typeUrl: message.typeUrl });
  const body: Body = { typeUrl: message.typeUrl, value: Buffer.from(message.value).toString("base64") };
  return {
    what,
    subject,
    why,
    body,
    priority: priorities[priority],
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
}

interface Body {
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

function bodyOf({ id, body }: Pick<Intent, "id" | "body">): Body {
  invariant(isBody(body), "an intent holds a message", { id });
  return body;
}

function isBody(body: unknown): body is Body {
  return typeof body === "object" && body !== null && "typeUrl" in body && "value" in body;
}
