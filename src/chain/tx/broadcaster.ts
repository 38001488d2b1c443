/** What sending needs of the chain. */
import { ProviderError } from "../../runtime/errors.ts";
import { inParallel } from "../../runtime/in-parallel.ts";
import type { TxResult } from "../block.ts";
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
  /** The block of this state: the requested one or a later one. */
  readonly height: bigint;
}

export type Simulation =
  | { readonly kind: "ran"; readonly gasUsed: bigint }
  /** The code is lost on the way of a simulation; its words are all there is. */
  | { readonly kind: "refused"; readonly log: string };

export type Receipt =
  /** In a mempool, or seen before. Another node may have objected. */
  | { readonly kind: "taken"; readonly objection?: TxRejection }
  /** The application said no, or every node found it too large for its mempool: then the codespace is `rpcCodespace`. */
  | ({ readonly kind: "refused" } & TxRejection);

/** No module of the chain bears this name. */
export const rpcCodespace = "rpc";

export interface TxRejection {
  readonly code: number;
  readonly codespace: string;
  readonly log: string;
}

export interface Included extends TxRejection {
  readonly height: bigint;
  readonly gasUsed: bigint;
  readonly events: TxResult["events"];
  /** Passed the checks before its messages, so timeout timestamp or sequence are used up. If not, the same bytes may still succeed later. */
  readonly admitted: boolean;
}

/** Nodes are away, answer with errors or cannot know, or the call was ended: retried, and no fault of ours. */
export function isSilence(thrown: unknown): thrown is Error {
  if (isOfChain(thrown) || ProviderError.is(thrown, "AKP_TX_UNPROVEN")) return true;
  if (ProviderError.is(thrown, "AKP_PROVIDER_NOT_EXCLUSIVE")) return true;
  return thrown instanceof Error && thrown.name === "AbortError";
}

/** Works on many things; that no node answers about one, which may be its own fault, does not stop the others. */
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

// What the chain's errors mean for the messages of a transaction.

/** Why a transaction was rejected, as far as it matters for what to do next. */
type Cause =
  /** This message, and it alone, cannot be done. */
  | { readonly kind: "message"; readonly index: number }
  | { readonly kind: "gas" }
  /** The money is not there: for what this message costs, or without an index for the fee. A deposit may arrive. */
  | { readonly kind: "funds"; readonly index: number | undefined }
  /** The chain's program stumbled, as over a second withdrawal from one account in a block. Another time it may do. */
  | { readonly kind: "not now"; readonly index: number | undefined }
  /** The node wants a higher price for gas. */
  | { readonly kind: "price" }
  | { readonly kind: "account" }
  /** The chain takes no transaction without a sequence. */
  | { readonly kind: "unordered" }
  /** Its timeout timestamp, height or sequence is used up or has passed: another one with the same messages may do. */
  | { readonly kind: "stale" }
  | { readonly kind: "unexplained" };

const messageIndex = /message index: (\d+)/;

/** By words, because a simulation gives no code. The SDK puts the kind of an error at the end of its log. */
const words: readonly [RegExp, Exclude<Cause["kind"], "message" | "unexplained">][] = [
  [/unordered transactions are not enabled|errUnknownField "\/?cosmos\.tx\.v1beta1\.TxBody/, "unordered"],
  [
    /incorrect account sequence|tx timeout|timeout_timestamp that has already passed|unordered nonce|ttl exceeds/,
    "stale",
  ],
  [/unknown address/, "account"],
  [/out of gas/, "gas"],
  // The allowance is exceeded, has expired, or is not there. One that does not cover a message is that message's fault.
  [/does not allow to pay fees(?!.*message not allowed)|fee allowance|fee-grant/, "funds"],
  [/insufficient fee/, "price"],
];

/** Said of any message, or of none: they mean the same either way. */
const wordsOfAny: readonly [RegExp, "funds" | "not now"][] = [
  [/insufficient (funds|balance)/, "funds"],
  [/recovered: .*panic|^panic\b/s, "not now"],
  // Said of a close by a node whose last block is older than the one that we know: time alone helps.
  [/reclamation window has not elapsed/, "not now"],
];

export function causeOf(log: string): Cause {
  const found = messageIndex.exec(log)?.[1];
  const index = found === undefined ? undefined : Number(found);
  for (const [pattern, kind] of wordsOfAny) if (pattern.test(log)) return { kind, index };
  if (index !== undefined) return { kind: "message", index };
  for (const [pattern, kind] of words) if (pattern.test(log)) return { kind, index };
  return { kind: "unexplained" };
}

type Fate =
  | { readonly kind: "done" }
  /** This message failed, and with it the others, whose turn may come. */
  | { readonly kind: "blamed"; readonly index: number }
  /** It failed for what may be different another time; the message to blame for that, if it was named. */
  | { readonly kind: "later"; readonly index: number | undefined }
  | { readonly kind: "out of gas" }
  | { readonly kind: "unexplained" }
  /** It failed before its messages: the same bytes may be in a later block again. */
  | { readonly kind: "undecided" };

/** The code of a panic in every codespace. */
const panicCode = 111222;

export function fateOf(included: Included): Fate {
  if (included.code === 0) return { kind: "done" };
  if (!included.admitted) return { kind: "undecided" };
  const cause = causeOf(included.log);
  if (cause.kind === "funds" || cause.kind === "not now") return { kind: "later", index: cause.index };
  if (included.code === panicCode) return { kind: "later", index: undefined };
  if (cause.kind === "message") return { kind: "blamed", index: cause.index };
  return { kind: cause.kind === "gas" ? "out of gas" : "unexplained" };
}

/** What failed in the checks before its messages has left no event behind. */
export function includedAt(height: bigint, { code, codespace, log, gasUsed, events }: TxResult): Included {
  return { height, code, codespace, log, gasUsed, events, admitted: events.length > 0 };
}
