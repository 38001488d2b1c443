/** Ids of the market. Each has one text, the chain's, which is also the key of queues, maps and the journal. */
import { type Address, parseAddress } from "./address.ts";
import { malformed, outOfRange } from "./value-errors.ts";

export interface DeploymentId {
  readonly owner: Address;
  /** A height or a time in milliseconds, as the tenant's tool likes it; 64 bits. */
  readonly dseq: bigint;
}

export interface GroupId extends DeploymentId {
  readonly gseq: number;
}

export interface OrderId extends GroupId {
  readonly oseq: number;
}

export interface BidId extends OrderId {
  readonly provider: Address;
  /** Always 0 so far: the chain has the field, demands 0 and leaves it out of the text. */
  readonly bseq: number;
}

/** A lease is named like the bid it grew out of. */
export type LeaseId = BidId;

const mostUint64 = 2n ** 64n - 1n;
const mostUint32 = 2n ** 32n - 1n;
const example = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/12345/1/1/akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6";
const shape = ["owner", "dseq", "gseq", "oseq", "provider", "bseq"] as const;

export function formatDeploymentId({ owner, dseq }: DeploymentId): string {
  return `${owner}/${dseq}`;
}

export function formatGroupId(id: GroupId): string {
  return `${formatDeploymentId(id)}/${id.gseq}`;
}

export function formatOrderId(id: OrderId): string {
  return `${formatGroupId(id)}/${id.oseq}`;
}

/** The one bid that a provider may ever make on an order. */
export function bidOn(order: OrderId, provider: Address): BidId {
  return { ...order, provider, bseq: 0 };
}

export function formatBidId(id: BidId): string {
  const text = `${formatOrderId(id)}/${id.provider}`;
  // Should the chain ever use bseq, two bids must not share a key.
  return id.bseq === 0 ? text : `${text}/${id.bseq}`;
}

export const formatLeaseId: (id: LeaseId) => string = formatBidId;

export function parseDeploymentId(text: string): DeploymentId {
  const [owner = "", dseq = ""] = partsOf(text, "a deployment id", 2);
  return { owner: parseAddress(owner), dseq: parseDseq(dseq) };
}

export function parseOrderId(text: string): OrderId {
  const [owner = "", dseq = "", gseq = "", oseq = ""] = partsOf(text, "an order id", 4);
  return { owner: parseAddress(owner), dseq: parseDseq(dseq), gseq: parseSeq(gseq), oseq: parseSeq(oseq) };
}

/** Whether this key of some id is that of an order. */
export function isOrderKey(key: string): boolean {
  return key.split("/").length === 4;
}

export function isLeaseKey(key: string): boolean {
  return key.split("/").length >= 5;
}

export function parseBidId(text: string): BidId {
  const parts = partsOf(text, "a bid or lease id", 5, 6);
  const [owner = "", dseq = "", gseq = "", oseq = "", provider = "", bseq] = parts;
  return {
    owner: parseAddress(owner),
    dseq: parseDseq(dseq),
    gseq: parseSeq(gseq),
    oseq: parseSeq(oseq),
    provider: parseAddress(provider),
    bseq: bseq === undefined ? 0 : parseSeq(bseq),
  };
}

export const parseLeaseId: (text: string) => LeaseId = parseBidId;

export function parseDseq(text: string): bigint {
  return parseSequence(text, "a deployment's number", mostUint64);
}

/** The number of a group in its deployment, or of an order in its group. */
export function parseSeq(text: string): number {
  return Number(parseSequence(text, "a group's or order's number", mostUint32));
}

export function deploymentOf({ owner, dseq }: DeploymentId): DeploymentId {
  return { owner, dseq };
}

export function groupOf({ owner, dseq, gseq }: GroupId): GroupId {
  return { owner, dseq, gseq };
}

export function orderOf({ owner, dseq, gseq, oseq }: OrderId): OrderId {
  return { owner, dseq, gseq, oseq };
}

/** One spelling per number ("1", never "01" or "+1"), or two texts would name one thing. The chain counts from 1. */
function parseSequence(text: string, expected: string, most: bigint): bigint {
  if (!/^(0|[1-9]\d*)$/.test(text)) throw malformed(text, expected, "it must be digits without leading zeros", "12345");
  // The length first: reading a number of a million digits takes long.
  const sequence = text.length > String(most).length ? most + 1n : BigInt(text);
  if (sequence < 1n || sequence > most) throw outOfRange(text, expected, { least: 1n, most });
  return sequence;
}

function partsOf(text: string, expected: string, least: number, most = least): string[] {
  const parts = text.split("/");
  if (parts.length >= least && parts.length <= most) return parts;
  const reason = `it has ${parts.length} parts instead of ${shape.slice(0, least).join("/")}`;
  throw malformed(text, expected, reason, example.split("/").slice(0, least).join("/"));
}
