/** A block as we follow it: its height, its time, its transactions, and what happened on the market in it, in order. */
import type { Address } from "../market/address.ts";
import type { DecCoin } from "../market/coin.ts";
import type { BidId, DeploymentId, GroupId, LeaseId, OrderId } from "../market/ids.ts";
import type { ProviderError } from "../runtime/errors.ts";

export interface ChainBlock {
  readonly height: bigint;
  readonly timeNs: bigint;
  readonly txs: readonly BlockTx[];
  readonly events: readonly SourcedEvent[];
  /** Addresses whose coins came or went, also by the fee of a transaction that failed. */
  readonly coinsMovedOf: ReadonlySet<string>;
  readonly certificatesOf: ReadonlySet<string>;
  readonly otherEvents: number;
  /** Events of the market that cannot be read. State that they touch must be read from the chain. */
  readonly malformed: readonly ProviderError[];
}

export interface SourcedEvent {
  readonly source: EventSource;
  readonly event: MarketEvent;
}

/** The number of the transaction in its block, or where the chain itself did it. */
export type EventSource = number | "begin" | "end";

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

export interface BlockTx extends TxResult {
  /** Of its bytes, as nodes write it: SHA-256 in upper-case hex. */
  readonly hash: string;
}

export interface TxResult {
  /** 0 means that its messages took effect. If it is not 0, the fee may have been paid all the same. */
  readonly code: number;
  readonly codespace: string;
  readonly log: string;
  readonly gasWanted: bigint;
  readonly gasUsed: bigint;
  /** Of one that failed, those of the checks before its messages: the fee. */
  readonly events: readonly AbciEvent[];
}

/** An event as nodes write it, of whatever module. */
export interface AbciEvent {
  readonly type: string;
  readonly attributes?: readonly AbciAttribute[] | null;
}

export interface AbciAttribute {
  readonly key: string;
  readonly value: string;
}
