/** What the chain's refusals mean for the messages of a transaction. */
import type { TxResult } from "../block.ts";
import type { Included } from "./broadcaster.ts";

/** Why a transaction was refused, as far as it matters for what to do next. */
type Cause =
  /** This message, and it alone, cannot be done. */
  | { readonly kind: "message"; readonly index: number }
  | { readonly kind: "gas" }
  /** The money is not there: for what this message costs, or without an index for the fee. Somebody may send some. */
  | { readonly kind: "funds"; readonly index: number | undefined }
  /** The chain's program stumbled, as over a second withdrawal from one account in a block. Another time it may do. */
  | { readonly kind: "not now"; readonly index: number | undefined }
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
