import type { TxResult } from "../comet/block-tx.ts";
import type { AbciEvent } from "../comet/events.ts";

/**
 * What the outbox needs of the chain. Every call rejects when nobody answered; what became of it is unknown then. An
 * answer comes from a node of the right chain, and where a height is given, from one that has reached it. A call ends as
 * soon as its signal is aborted.
 */
export interface Broadcaster {
  head(signal?: AbortSignal): Promise<Head>;
  /** Undefined while the chain has never seen the address. */
  account(address: string, atOrAbove: bigint, signal?: AbortSignal): Promise<Account | undefined>;
  simulate(tx: Uint8Array, atOrAbove: bigint, signal?: AbortSignal): Promise<Simulation>;
  broadcast(tx: Uint8Array, reach?: Reach, signal?: AbortSignal): Promise<Receipt>;
  /**
   * Undefined only when nodes that have every block from the first that may hold it up to the height know no transaction
   * with this hash: two of them if there are two, since an index can be late or stuck. Without that first height every node
   * is believed. Rejects with AKP_TX_UNPROVEN when nodes answered and none of them can know.
   */
  findTx(hash: string, atOrAbove: bigint, firstHeight?: bigint, signal?: AbortSignal): Promise<Included | undefined>;
}

/** One node that takes it is enough the first time; later every node gets it, since one may keep it to itself. */
export type Reach = "one" | "all";

export interface Head {
  readonly height: bigint;
  /** Time of that block. */
  readonly timeNs: bigint;
}

export interface Account {
  readonly number: bigint;
  readonly sequence: bigint;
  /** The block after which it was so: the one asked for, or a later one. */
  readonly height: bigint;
}

export type Simulation =
  | { readonly kind: "ran"; readonly gasUsed: bigint }
  /** The code is lost on the way of a simulation; its words are all there is. */
  | { readonly kind: "refused"; readonly log: string };

export type Receipt =
  /**
   * It waits in a pool, or the node has seen it before. That says nothing about its fate. Another node may have had
   * something against it.
   */
  | { readonly kind: "taken"; readonly objection?: Refusal }
  /** The application said no, or every node did before it asked the application: then the codespace is `rpcCodespace`. */
  | ({ readonly kind: "refused" } & Refusal);

/** No module of the chain bears this name. */
export const rpcCodespace = "rpc";

export interface Refusal {
  readonly code: number;
  readonly codespace: string;
  readonly log: string;
}

/** A transaction in a block. */
export interface Included extends Refusal {
  readonly height: bigint;
  readonly gasUsed: bigint;
  readonly events: readonly AbciEvent[];
  /**
   * Whether it got past the checks before its messages. If so its stamp or sequence is used up, and it has done all that
   * it ever will. If not, the same bytes might still succeed in a later block.
   */
  readonly admitted: boolean;
}

/** What failed in the checks before its messages has left no event behind. */
export function includedAt(height: bigint, { code, codespace, log, gasUsed, events }: TxResult): Included {
  return { height, code, codespace, log, gasUsed, events, admitted: events.length > 0 };
}
