/**
 * What happened on the market, as the chain tells it in its blocks. Names are matched without the version of their
 * package, so that an upgrade of the chain that only renumbers them goes unnoticed. The values of attributes are JSON,
 * with 64-bit numbers as text and bytes in base64.
 */
import { type Address, parseAddress } from "../../market/address.ts";
import { type DecCoin, decCoinOf } from "../../market/coin.ts";
import { parseDecimal } from "../../market/decimal.ts";
import { type BidId, type DeploymentId, type GroupId, type OrderId, parseDseq, parseSeq } from "../../market/ids.ts";
import { malformed } from "../../market/refusal.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import type { AbciEvent, MarketEvent } from "../block.ts";
import { shown } from "./wire-text.ts";

type Kind = MarketEvent["kind"];
type Fields = ReadonlyMap<string, string>;

/** What an event of this kind holds beside its name. */
type ContentOf<K extends Kind, Event = MarketEvent> = Event extends { readonly kind: infer Kinds }
  ? K extends Kinds
    ? Omit<Event, "kind">
    : never
  : never;

const typePattern = /^akash\.(\w+)\.\w+\.Event(\w+)$/;

const version = (fields: Fields) => ({ id: deploymentId(record(fields, "id")), hash: bytes(fields, "hash") });
const group = (fields: Fields) => ({ id: groupId(record(fields, "id")) });
const order = (fields: Fields) => ({ id: orderId(record(fields, "id")) });
const bid = (fields: Fields) => ({ id: bidId(record(fields, "id")) });
const priced = (fields: Fields) => ({ ...bid(fields), price: price(record(fields, "price")) });
const ended = (fields: Fields) => ({ ...bid(fields), reason: reason(fields) });
const provider = (fields: Fields) => ({ owner: address(fields, "owner") });
const audit = (fields: Fields) => ({ ...provider(fields), auditor: address(fields, "auditor") });

/** The module that tells of each kind, and how it is read. */
const readers: { readonly [K in Kind]: readonly [module: string, read: (fields: Fields) => ContentOf<K>] } = {
  DeploymentCreated: ["deployment", version],
  DeploymentUpdated: ["deployment", version],
  DeploymentClosed: ["deployment", (fields) => ({ id: deploymentId(record(fields, "id")) })],
  GroupStarted: ["deployment", group],
  GroupPaused: ["deployment", group],
  GroupClosed: ["deployment", group],
  OrderCreated: ["market", order],
  OrderClosed: ["market", order],
  BidCreated: ["market", priced],
  BidClosed: ["market", bid],
  LeaseCreated: ["market", priced],
  LeaseClosed: ["market", ended],
  LeaseReclaimStarted: ["market", (fields) => ({ ...ended(fields), deadline: unixSeconds(fields, "deadline") })],
  ProviderCreated: ["provider", provider],
  ProviderUpdated: ["provider", provider],
  ProviderDeleted: ["provider", provider],
  TrustedAuditorCreated: ["audit", audit],
  TrustedAuditorDeleted: ["audit", audit],
};

/** Undefined for an event that is none of the market's; throws when it is one and cannot be read. */
export function readEvent({ type, attributes }: AbciEvent): MarketEvent | undefined {
  const [, module, name = ""] = typePattern.exec(type) ?? [];
  if (!Object.hasOwn(readers, name)) return undefined;
  const kind = name as Kind;
  const [from, read] = readers[kind];
  if (module !== from) return undefined;
  const fields: Fields = new Map(attributes?.map(({ key, value }) => [key, value]));
  return { kind, ...read(fields) } as MarketEvent;
}

function refuse(name: string, found: unknown, expected: string): Error {
  return malformed(shown(found), expected, `the field ${name} does not hold one`, "the chain's own events");
}

function json(fields: Fields, name: string): unknown {
  const text = fields.get(name);
  if (text === undefined) throw refuse(name, undefined, "a field of an event");
  const value = parseJson(text);
  if (value === undefined) throw refuse(name, text, "JSON");
  return value;
}

function text(fields: Fields, name: string): string {
  const value = json(fields, name);
  if (typeof value !== "string") throw refuse(name, value, "a text");
  return value;
}

function record(fields: Fields, name: string): Record<string, unknown> {
  const value = json(fields, name);
  if (!isRecord(value)) throw refuse(name, value, "an object");
  return value;
}

function address(fields: Fields, name: string): Address {
  return parseAddress(text(fields, name));
}

function bytes(fields: Fields, name: string): Uint8Array {
  return new Uint8Array(Buffer.from(text(fields, name), "base64"));
}

/** "lease_closed_reason_unstable" is "unstable" for short; a number stands for a reason that the node cannot name. */
function reason(fields: Fields): string {
  const value = json(fields, "reason");
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") throw refuse("reason", value, "a reason");
  return value.replace(/^lease_closed_(reason_)?/, "");
}

function unixSeconds(fields: Fields, name: string): bigint {
  const value = json(fields, name);
  const isNumber = typeof value === "string" || typeof value === "number";
  if (!isNumber || !/^\d{1,19}$/.test(String(value))) throw refuse(name, value, "a time in seconds");
  return BigInt(value);
}

function price({ denom, amount }: Record<string, unknown>): DecCoin {
  if (typeof denom !== "string" || typeof amount !== "string") throw refuse("price", amount, "a price");
  return decCoinOf(parseDecimal(amount), denom);
}

/** Numbers of 32 bits are JSON numbers, those of 64 are text; both are read as the digits they show. */
function digits(id: Record<string, unknown>, name: string): string {
  const value = id[name];
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw refuse(name, value, "a whole number");
}

function account(id: Record<string, unknown>, name: string): Address {
  const value = id[name];
  if (typeof value !== "string") throw refuse(name, value, "an address");
  return parseAddress(value);
}

function deploymentId(id: Record<string, unknown>): DeploymentId {
  return { owner: account(id, "owner"), dseq: parseDseq(digits(id, "dseq")) };
}

function groupId(id: Record<string, unknown>): GroupId {
  return { ...deploymentId(id), gseq: parseSeq(digits(id, "gseq")) };
}

function orderId(id: Record<string, unknown>): OrderId {
  return { ...groupId(id), oseq: parseSeq(digits(id, "oseq")) };
}

function bidId(id: Record<string, unknown>): BidId {
  const { bseq = 0 } = id;
  if (typeof bseq !== "number" || !Number.isInteger(bseq) || bseq < 0) throw refuse("bseq", bseq, "a whole number");
  return { ...orderId(id), provider: account(id, "provider"), bseq };
}
