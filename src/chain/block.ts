/** A block as we follow it: its height, its time, its transactions, and what happened on the market in it, in order. */
import type { ProviderError } from "../runtime/errors.ts";
import type { AbciEvent, SourcedEvent } from "./comet/events.ts";

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
