/** What sending needs of the chain. */
import { ProviderError } from "../../runtime/errors.ts";
import { inParallel } from "../../runtime/in-parallel.ts";
import type { AbciEvent } from "../block.ts";
import { isOfChain } from "../chain-failure.ts";

/** Calls to the node at once. */
export const outboxAtOnce = 8;

/**
 * Every call rejects when nobody answered; what became of it is unknown then. An answer comes from a node of the right
 * chain, and where a height is given, from one that has reached it.
 */
export interface Broadcaster {
  head(): Promise<Head>;
  /** Undefined while the chain has never seen the address. */
  account(address: string, atOrAbove: bigint): Promise<SenderAccount | undefined>;
  simulate(tx: Uint8Array, atOrAbove: bigint): Promise<Simulation>;
  broadcast(tx: Uint8Array, reach?: Reach): Promise<Receipt>;
  /**
   * Undefined only when nodes that have every block from the first that may hold it up to the height know no transaction
   * with this hash: two of them if there are two, since an index can be late or stuck. Without that first height every node
   * is believed. Rejects with AKP_TX_UNPROVEN when nodes answered and none of them can know.
   */
  findTx(hash: string, atOrAbove: bigint, firstHeight?: bigint): Promise<Included | undefined>;
}

/** One node that takes it is enough the first time; later every node gets it, since one may keep it to itself. */
export type Reach = "one" | "all";

export interface Head {
  readonly height: bigint;
  /** Time of that block. */
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
  /**
   * It waits in a pool, or the node has seen it before. That says nothing about its fate. Another node may have had
   * something against it.
   */
  | { readonly kind: "taken"; readonly objection?: Refusal }
  /** The application said no, or every node found it too large for its mempool: then the codespace is `rpcCodespace`. */
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
