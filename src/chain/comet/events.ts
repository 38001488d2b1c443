/** Market events of blocks. Names match without their package's version, so a renumbering upgrade goes unnoticed. */
import { type Address, parseAddress } from "../../market/address.ts";
import { type DecCoin, decCoinOf, showDecCoin } from "../../market/coin.ts";
import { parseDecimal } from "../../market/decimal.ts";
import {
  type BidId,
  type DeploymentId,
  formatBidId,
  formatDeploymentId,
  formatGroupId,
  formatOrderId,
  type GroupId,
  type OrderId,
  parseDseq,
  parseSeq,
} from "../../market/ids.ts";
import { malformed } from "../../market/value-errors.ts";
import { formatTime, nsToMs } from "../../runtime/clock.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { shownValue } from "./rpc-call.ts";

type Fields = ReadonlyMap<string, string>;

export interface SourcedEvent {
  readonly source: EventSource;
  readonly event: MarketEvent;
}

/** The number of the transaction in its block, or where the chain itself did it. */
export type EventSource = number | "begin" | "end";

/** An event as nodes write it, of whatever module. */
export interface AbciEvent {
  readonly type: string;
  readonly attributes?: readonly AbciAttribute[] | null;
}

export interface AbciAttribute {
  readonly key: string;
  readonly value: string;
}

const typePattern = /^akash\.(\w+)\.\w+\.Event(\w+)$/;

const version = (fields: Fields) => ({ id: deploymentId(record(fields, "id")), hash: bytes(fields, "hash") });
const group = (fields: Fields) => ({ id: groupId(record(fields, "id")) });
const order = (fields: Fields) => ({ id: orderId(record(fields, "id")) });
const bid = (fields: Fields) => ({ id: bidId(record(fields, "id")) });
const priced = (fields: Fields) => ({ ...bid(fields), price: price(record(fields, "price")) });
const ended = (fields: Fields) => ({ ...bid(fields), reason: reason(fields) });
const provider = (fields: Fields) => ({ owner: address(fields, "owner") });
const audit = (fields: Fields) => ({ ...provider(fields), auditor: address(fields, "auditor") });

/** The module that emits each kind, and its decoder. */
const readers = {
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
} as const satisfies Record<string, readonly [module: string, read: (fields: Fields) => object]>;

type Kind = keyof typeof readers;

export type MarketEvent = { [K in Kind]: { readonly kind: K } & ReturnType<(typeof readers)[K][1]> }[Kind];

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

function unreadable(name: string, found: unknown, expected: string): Error {
  return malformed(shownValue(found), expected, `the field ${name} does not hold one`, "the chain's own events");
}

function json(fields: Fields, name: string): unknown {
  const text = fields.get(name);
  if (text === undefined) throw unreadable(name, undefined, "a field of an event");
  const value = parseJson(text);
  if (value === undefined) throw unreadable(name, text, "JSON");
  return value;
}

function text(fields: Fields, name: string): string {
  const value = json(fields, name);
  if (typeof value !== "string") throw unreadable(name, value, "a text");
  return value;
}

function record(fields: Fields, name: string): Record<string, unknown> {
  const value = json(fields, name);
  if (!isRecord(value)) throw unreadable(name, value, "an object");
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
  if (typeof value !== "string") throw unreadable("reason", value, "a reason");
  return value.replace(/^lease_closed_(reason_)?/, "");
}

function unixSeconds(fields: Fields, name: string): bigint {
  const value = json(fields, name);
  const isNumber = typeof value === "string" || typeof value === "number";
  if (!isNumber || !/^\d{1,19}$/.test(String(value))) throw unreadable(name, value, "a time in seconds");
  return BigInt(value);
}

function price({ denom, amount }: Record<string, unknown>): DecCoin {
  if (typeof denom !== "string" || typeof amount !== "string") throw unreadable("price", amount, "a price");
  return decCoinOf(parseDecimal(amount), denom);
}

/** Numbers of 32 bits are JSON numbers, those of 64 are text; both are read as the digits they show. */
function digits(id: Record<string, unknown>, name: string): string {
  const value = id[name];
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw unreadable(name, value, "a whole number");
}

function account(id: Record<string, unknown>, name: string): Address {
  const value = id[name];
  if (typeof value !== "string") throw unreadable(name, value, "an address");
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
  if (typeof bseq !== "number" || !Number.isInteger(bseq) || bseq < 0) throw unreadable("bseq", bseq, "a whole number");
  return { ...orderId(id), provider: account(id, "provider"), bseq };
}

// An event in one line, for people.

function nameOf({ kind }: MarketEvent): string {
  return kind.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

/** "order created      akash1…/1794730957394/1/1" */
export function showEvent(event: MarketEvent): string {
  return `${nameOf(event).padEnd(23)} ${detailsOf(event)}`.trimEnd();
}

function detailsOf(event: MarketEvent): string {
  if ("owner" in event) return "auditor" in event ? `${event.owner}  auditor ${event.auditor}` : event.owner;
  const id = idText(event.id);
  if ("hash" in event) return `${id}  manifest ${Buffer.from(event.hash).toString("hex").slice(0, 16)}`;
  if ("price" in event) return `${id}  ${showDecCoin(event.price)} a block`;
  if ("deadline" in event) return `${id}  reason ${event.reason}, until ${formatTime(Number(event.deadline) * 1_000)}`;
  return "reason" in event ? `${id}  reason ${event.reason}` : id;
}

function idText(id: DeploymentId | GroupId | OrderId | BidId): string {
  if ("provider" in id) return formatBidId(id);
  if ("oseq" in id) return formatOrderId(id);
  return "gseq" in id ? formatGroupId(id) : formatDeploymentId(id);
}

/** "337 2026-11-15T08:22:38.000Z tx 0" in front of each event of a block. */
export function showBlock({
  height,
  timeNs,
  events,
}: {
  height: bigint;
  timeNs: bigint;
  events: readonly SourcedEvent[];
}): string[] {
  const time = formatTime(nsToMs(timeNs));
  return events.map(({ source, event }) => `${height} ${time} ${sourceText(source).padEnd(5)} ${showEvent(event)}`);
}

function sourceText(source: EventSource): string {
  return typeof source === "number" ? `tx ${source}` : source;
}
