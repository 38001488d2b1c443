/** The fields of a typed event: attributes whose values are JSON, with 64-bit numbers as text and bytes in base64. */
import { parseAddress } from "../../market/address.ts";
import { type DecCoin, decCoinOf } from "../../market/coin.ts";
import { parseDecimal } from "../../market/decimal.ts";
import { type BidId, type DeploymentId, type GroupId, type OrderId, parseDseq, parseSeq } from "../../market/ids.ts";
import { malformed } from "../../market/refusal.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { shown } from "./wire-text.ts";

export interface AbciAttribute {
  readonly key: string;
  readonly value: string;
}

export type EventFields = ReadonlyMap<string, string>;

export function eventFields(attributes: readonly AbciAttribute[]): EventFields {
  return new Map(attributes.map(({ key, value }) => [key, value]));
}

function refuse(name: string, found: unknown, expected: string): Error {
  return malformed(shown(found), expected, `the field ${name} does not hold one`, "the chain's own events");
}

function jsonField(fields: EventFields, name: string): unknown {
  const text = fields.get(name);
  if (text === undefined) throw refuse(name, undefined, "a field of an event");
  try {
    return JSON.parse(text);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw refuse(name, text, "JSON");
    throw thrown;
  }
}

export function textField(fields: EventFields, name: string): string {
  const value = jsonField(fields, name);
  if (typeof value !== "string") throw refuse(name, value, "a text");
  return value;
}

function recordField(fields: EventFields, name: string): Record<string, unknown> {
  const value = jsonField(fields, name);
  if (!isRecord(value)) throw refuse(name, value, "an object");
  return value;
}

/** Numbers of 32 bits are JSON numbers, those of 64 are text; both are read as the digits they show. */
function digits(record: Record<string, unknown>, name: string): string {
  const value = record[name];
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw refuse(name, value, "a whole number");
}

function owner(record: Record<string, unknown>, name = "owner") {
  const value = record[name];
  if (typeof value !== "string") throw refuse(name, value, "an address");
  return parseAddress(value);
}

export function deploymentIdField(fields: EventFields): DeploymentId {
  return deploymentId(recordField(fields, "id"));
}

export function groupIdField(fields: EventFields): GroupId {
  return groupId(recordField(fields, "id"));
}

export function orderIdField(fields: EventFields): OrderId {
  return orderId(recordField(fields, "id"));
}

export function bidIdField(fields: EventFields): BidId {
  const id = recordField(fields, "id");
  const { bseq = 0 } = id;
  if (typeof bseq !== "number" || !Number.isInteger(bseq) || bseq < 0) throw refuse("bseq", bseq, "a whole number");
  return { ...orderId(id), provider: owner(id, "provider"), bseq };
}

function deploymentId(id: Record<string, unknown>): DeploymentId {
  return { owner: owner(id), dseq: parseDseq(digits(id, "dseq")) };
}

function groupId(id: Record<string, unknown>): GroupId {
  return { ...deploymentId(id), gseq: parseSeq(digits(id, "gseq")) };
}

function orderId(id: Record<string, unknown>): OrderId {
  return { ...groupId(id), oseq: parseSeq(digits(id, "oseq")) };
}

export function priceField(fields: EventFields): DecCoin {
  const { denom, amount } = recordField(fields, "price");
  if (typeof denom !== "string" || typeof amount !== "string") throw refuse("price", amount, "a price");
  return decCoinOf(parseDecimal(amount), denom);
}

export function hashField(fields: EventFields): Uint8Array {
  return new Uint8Array(Buffer.from(textField(fields, "hash"), "base64"));
}

/** "lease_closed_reason_unstable" is "unstable" for short; a number stands for a reason that the node cannot name. */
export function reasonField(fields: EventFields): string {
  const value = jsonField(fields, "reason");
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") throw refuse("reason", value, "a reason");
  return value.replace(/^lease_closed_(reason_)?/, "");
}

export function unixSecondsField(fields: EventFields, name: string): bigint {
  const value = jsonField(fields, name);
  if (typeof value !== "string" && typeof value !== "number") throw refuse(name, value, "a time in seconds");
  if (!/^\d{1,19}$/.test(String(value))) throw refuse(name, value, "a time in seconds");
  return BigInt(value);
}
