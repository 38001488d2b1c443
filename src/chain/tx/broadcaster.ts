/** What sending needs of the chain. */
import { ProviderError } from "../../runtime/errors.ts";
import { inParallel } from "../../runtime/in-parallel.ts";
import type { AbciEvent } from "../block.ts";
import { isOfChain } from "../chain-failure.ts";

export const outboxAtOnce = 8;

/**
 * Calls reject when no node answered, with the result unknown. Answers come from the right chain, at the given height or above.
 */
export interface Broadcaster {
  head(): Promise<Head>;
  /** Undefined while the chain has never seen the address. */
  account(address: string, atOrAbove: bigint): Promise<SenderAccount | undefined>;
  simulate(tx: Uint8Array, atOrAbove: bigint): Promise<Simulation>;
  broadcast(tx: Uint8Array, reach?: BroadcastReach): Promise<Receipt>;
  /**
   * Undefined only if two nodes (or the only one) with all blocks from `firstHeight` do not know the hash; without that height
   * every node is believed. AKP_TX_UNPROVEN when no node can know.
   */
  findTx(hash: string, atOrAbove: bigint, firstHeight?: bigint): Promise<Included | undefined>;
}

/** One node that takes it is enough the first time; later every node gets it, since one may keep it to itself. */
export type BroadcastReach = "one" | "all";

export interface Head {
  readonly height: bigint;
  readonly timeNs: bigint;
}

export interface SenderAccount {
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
  /** In a mempool, or seen before. Another node may have objected. */
  | { readonly kind: "taken"; readonly objection?: TxRefusal }
  /** The application said no, or every node found it too large for its mempool: then the codespace is `rpcCodespace`. */
  | ({ readonly kind: "refused" } & TxRefusal);

/** No module of the chain bears this name. */
export const rpcCodespace = "rpc";

export interface TxRefusal {
  readonly code: number;
  readonly codespace: string;
  readonly log: string;
}

export interface Included extends TxRefusal {
  readonly height: bigint;
  readonly gasUsed: bigint;
  readonly events: readonly AbciEvent[];
  /** Passed the checks before its messages, so stamp or sequence are used up. If not, the same bytes may still succeed later. */
  readonly admitted: boolean;
}

/** Nodes are away, answer nonsense or cannot know, or the call was ended: a reason to try again, and no fault of ours. */
export function isSilence(thrown: unknown): thrown is Error {
  if (isOfChain(thrown) || ProviderError.is(thrown, "AKP_TX_UNPROVEN")) return true;
  if (ProviderError.is(thrown, "AKP_PROVIDER_NOT_EXCLUSIVE")) return true;
  return thrown instanceof Error && thrown.name === "AbortError";
}

/** Works on many things; that nobody answers about one, which may be its own fault, does not stop the others. */
export async function eachApart<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<Error | undefined> {
  const silences: Error[] = [];
  await inParallel(items, outboxAtOnce, async (item) => {
    try {
      await work(item);
    } catch (thrown) {
      if (!isSilence(thrown)) throw thrown;
      silences.push(thrown);
    }
  });
  return silences[0];
}
