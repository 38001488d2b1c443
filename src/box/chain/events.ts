/** Events as the chain writes them: plain ones of the SDK, and typed ones whose values are JSON. */
import type { AbciEvent } from "./abci.ts";

/**
 * A value of a typed event. Whole numbers of 64 bits are bigint and are written as strings; those of 32 bits are number; bytes become base64. Nested messages are objects whose keys stand as the protocol names
 * them (snake_case) and in the order of its fields; fields at their default are written too.
 */
export type EventValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | readonly EventValue[]
  | { readonly [field: string]: EventValue };

/** "akash.market.v1.EventOrderCreated" with its top-level fields; the chain sorts them by name. */
export function typedEvent(type: string, fields: Readonly<Record<string, EventValue>>): AbciEvent {
  const values = Object.entries(fields).map(([key, value]): [string, string] => [key, JSON.stringify(plain(value))]);
  return plainEvent(type, Object.fromEntries(values.sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** "transfer" and its like: texts as they are, in the order given. */
export function plainEvent(type: string, texts: Readonly<Record<string, string>>): AbciEvent {
  return { type, attributes: Object.entries(texts).map(([key, value]) => ({ key, value, index: true })) };
}

/** The same event with one more attribute at its end, as the application marks what belongs to which message. */
export function withAttribute(event: AbciEvent, key: string, value: string): AbciEvent {
  return { type: event.type, attributes: [...event.attributes, { key, value, index: true }] };
}

function plain(value: EventValue): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}
