/** A message as text and back: what is published is checked and copied, what arrives is checked and frozen. */
import { ProviderError } from "../runtime/errors.ts";
import { invariant } from "../runtime/invariant.ts";
import { parseJson } from "../runtime/parse-json.ts";
import type { Message } from "./bus.ts";
import { problemWith, streamOf, type Topic } from "./topics.ts";

/** A message on its way out. */
export interface Letter {
  readonly topic: Topic;
  readonly text: string;
  readonly bytes: number;
  readonly retain: boolean;
}

export interface Postmark {
  readonly id: string;
  readonly publishedAtMs: number;
  readonly retained: boolean;
}

/** Types have checked the data already; what slips past them every reader would ignore, so it stops here. */
export function writeLetter(topic: Topic, data: unknown, retain: boolean, limitBytes: number): Letter {
  const stream = streamOf(topic);
  invariant(stream, "nobody publishes on a topic that is not in topics.ts", { topic });
  const problem = problemWith(stream, data);
  invariant(!problem, "a message has the form that topics.ts gives its topic", { topic, problem });
  const text = JSON.stringify(data);
  const bytes = Buffer.byteLength(text);
  if (bytes > limitBytes) throw new ProviderError("AKP_BUS_MESSAGE_TOO_LARGE", { topic, bytes, limit: limitBytes });
  return { topic, text, bytes, retain };
}

/** A letter of our own, as its subscribers get it. */
export function openLetter(letter: Letter, postmark: Postmark): Message {
  return createMessage(letter.topic, JSON.parse(letter.text), postmark);
}

/** A letter from outside: the message, or why it makes no sense. */
export function openForeign(topic: string, text: string, postmark: Postmark, limitBytes: number): Message | string {
  const stream = streamOf(topic);
  if (!stream) return "there is no such topic";
  if (Buffer.byteLength(text) > limitBytes) return `it is larger than ${limitBytes} bytes`;
  const data = parseJson(text);
  if (data === undefined) return "it is not JSON";
  return problemWith(stream, data) ?? createMessage(topic, data, postmark);
}

function createMessage(topic: string, data: unknown, postmark: Postmark): Message {
  return Object.freeze({ topic, data: deepFreeze(data), ...postmark }) as Message;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
