/** What the chain's refusals mean for the messages of a transaction. */
import { limits } from "../../runtime/limits.ts";
import type { Included } from "./broadcaster.ts";

/** Why a transaction was refused, as far as it matters for what to do next. */
export type Cause =
  /** This message, and it alone, cannot be done. */
  | { readonly kind: "message"; readonly index: number }
  | { readonly kind: "gas" }
  /** Whoever pays the fee cannot. */
  | { readonly kind: "funds" }
  /** The node wants a higher price for gas. */
  | { readonly kind: "price" }
  | { readonly kind: "account" }
  /** The chain takes no transaction without a sequence. */
  | { readonly kind: "unordered" }
  /** Its stamp, height or sequence is used up or has passed: another one with the same messages may do. */
  | { readonly kind: "stale" }
  | { readonly kind: "unexplained" };

const messageIndex = /message index: (\d+)/;

/** By words, because a simulation gives no code. The SDK puts the kind of an error at the end of its log. */
const words: readonly [RegExp, Cause["kind"] & ("funds" | "price" | "account" | "unordered" | "stale" | "gas")][] = [
  [/unordered transactions are not enabled|errUnknownField "\/?cosmos\.tx\.v1beta1\.TxBody/, "unordered"],
  [
    /incorrect account sequence|tx timeout|timeout_timestamp that has already passed|unordered nonce|ttl exceeds/,
    "stale",
  ],
  [/unknown address/, "account"],
  [/out of gas/, "gas"],
  [/insufficient funds|fee allowance|fee-grant/, "funds"],
  [/insufficient fee/, "price"],
];

export function causeOf(log: string): Cause {
  const index = messageIndex.exec(log)?.[1];
  if (index !== undefined) return { kind: "message", index: Number(index) };
  for (const [pattern, kind] of words) if (pattern.test(log)) return { kind };
  return { kind: "unexplained" };
}

/** What became of a transaction that a block holds. */
export type Fate =
  | { readonly kind: "done" }
  /** This message failed, and with it the others, whose turn may come. */
  | { readonly kind: "blamed"; readonly index: number }
  | { readonly kind: "out of gas" }
  | { readonly kind: "unexplained" }
  /** It failed before its messages: the same bytes may be in a later block again. */
  | { readonly kind: "undecided" };

export function fateOf(included: Included): Fate {
  if (included.code === 0) return { kind: "done" };
  if (!included.admitted) return { kind: "undecided" };
  const cause = causeOf(included.log);
  if (cause.kind === "message") return { kind: "blamed", index: cause.index };
  return { kind: cause.kind === "gas" ? "out of gas" : "unexplained" };
}

/** The chain's logs can be long; whoever reads an intent needs the beginning. */
export function shortLog(log: string): string {
  return log.slice(0, limits.outboxLogChars);
}
