/**
 * What happened on the market, as the chain tells it in its blocks. Names are matched without the version of their
 * package, so that an upgrade of the chain that only renumbers them goes unnoticed.
 */
import { type Address, parseAddress } from "../../market/address.ts";
import type { DecCoin } from "../../market/coin.ts";
import type { BidId, DeploymentId, GroupId, LeaseId, OrderId } from "../../market/ids.ts";
import {
  type AbciAttribute,
  bidIdField,
  deploymentIdField,
  type EventFields,
  eventFields,
  groupIdField,
  hashField,
  orderIdField,
  priceField,
  reasonField,
  textField,
  unixSecondsField,
} from "./event-fields.ts";

export type MarketEvent =
  | { readonly kind: "DeploymentCreated" | "DeploymentUpdated"; readonly id: DeploymentId; readonly hash: Uint8Array }
  | { readonly kind: "DeploymentClosed"; readonly id: DeploymentId }
  | { readonly kind: "GroupStarted" | "GroupPaused" | "GroupClosed"; readonly id: GroupId }
  | { readonly kind: "OrderCreated" | "OrderClosed"; readonly id: OrderId }
  | { readonly kind: "BidCreated"; readonly id: BidId; readonly price: DecCoin }
  | { readonly kind: "BidClosed"; readonly id: BidId }
  | { readonly kind: "LeaseCreated"; readonly id: LeaseId; readonly price: DecCoin }
  | { readonly kind: "LeaseClosed"; readonly id: LeaseId; readonly reason: string }
  | {
      readonly kind: "LeaseReclaimStarted";
      readonly id: LeaseId;
      readonly reason: string;
      /** Seconds since the epoch. */
      readonly deadline: bigint;
    }
  | { readonly kind: "ProviderCreated" | "ProviderUpdated" | "ProviderDeleted"; readonly owner: Address }
  | {
      readonly kind: "TrustedAuditorCreated" | "TrustedAuditorDeleted";
      readonly owner: Address;
      readonly auditor: Address;
    };

export type MarketEventKind = MarketEvent["kind"];

export interface AbciEvent {
  readonly type: string;
  readonly attributes?: readonly AbciAttribute[] | null;
}

type Reader = (fields: EventFields) => MarketEvent;

const address = (fields: EventFields, name: string) => parseAddress(textField(fields, name));

const readers: { readonly [module: string]: { readonly [Kind in MarketEventKind]?: Reader } } = {
  deployment: {
    DeploymentCreated: (fields) => ({
      kind: "DeploymentCreated",
      id: deploymentIdField(fields),
      hash: hashField(fields),
    }),
    DeploymentUpdated: (fields) => ({
      kind: "DeploymentUpdated",
      id: deploymentIdField(fields),
      hash: hashField(fields),
    }),
    DeploymentClosed: (fields) => ({ kind: "DeploymentClosed", id: deploymentIdField(fields) }),
    GroupStarted: (fields) => ({ kind: "GroupStarted", id: groupIdField(fields) }),
    GroupPaused: (fields) => ({ kind: "GroupPaused", id: groupIdField(fields) }),
    GroupClosed: (fields) => ({ kind: "GroupClosed", id: groupIdField(fields) }),
  },
  market: {
    OrderCreated: (fields) => ({ kind: "OrderCreated", id: orderIdField(fields) }),
    OrderClosed: (fields) => ({ kind: "OrderClosed", id: orderIdField(fields) }),
    BidCreated: (fields) => ({ kind: "BidCreated", id: bidIdField(fields), price: priceField(fields) }),
    BidClosed: (fields) => ({ kind: "BidClosed", id: bidIdField(fields) }),
    LeaseCreated: (fields) => ({ kind: "LeaseCreated", id: bidIdField(fields), price: priceField(fields) }),
    LeaseClosed: (fields) => ({ kind: "LeaseClosed", id: bidIdField(fields), reason: reasonField(fields) }),
    LeaseReclaimStarted: (fields) => ({
      kind: "LeaseReclaimStarted",
      id: bidIdField(fields),
      reason: reasonField(fields),
      deadline: unixSecondsField(fields, "deadline"),
    }),
  },
  provider: {
    ProviderCreated: (fields) => ({ kind: "ProviderCreated", owner: address(fields, "owner") }),
    ProviderUpdated: (fields) => ({ kind: "ProviderUpdated", owner: address(fields, "owner") }),
    ProviderDeleted: (fields) => ({ kind: "ProviderDeleted", owner: address(fields, "owner") }),
  },
  audit: {
    TrustedAuditorCreated: (fields) => ({
      kind: "TrustedAuditorCreated",
      owner: address(fields, "owner"),
      auditor: address(fields, "auditor"),
    }),
    TrustedAuditorDeleted: (fields) => ({
      kind: "TrustedAuditorDeleted",
      owner: address(fields, "owner"),
      auditor: address(fields, "auditor"),
    }),
  },
};

const typePattern = /^akash\.(\w+)\.\w+\.Event(\w+)$/;

/** Undefined for an event that is none of the market's; throws when it is one and cannot be read. */
export function readEvent({ type, attributes }: AbciEvent): MarketEvent | undefined {
  const [, module = "", name = ""] = typePattern.exec(type) ?? [];
  const kinds = Object.hasOwn(readers, module) ? readers[module] : undefined;
  if (!kinds || !Object.hasOwn(kinds, name)) return undefined;
  return kinds[name as MarketEventKind]?.(eventFields(attributes ?? []));
}
