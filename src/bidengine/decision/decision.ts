/** A decision on an order: every check by name, with what it saw. `why`, `screen` and the journal show the same one. */
import type { JsonObject } from "../../bus/topics.ts";
import type { DecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";

export interface Decision {
  readonly verdict: "bid" | "no";
  readonly checks: readonly Check[];
  /** Of a bid, and of a no that comes only from what it would cost. */
  readonly price: DecCoin | undefined;
  /** What would be offered, where it fits. */
  readonly offer: Fits["offer"] | undefined;
}

export interface Check {
  readonly name: string;
  readonly verdict: "pass" | "fail" | "not asked";
  /** One sentence, also of a pass. */
  readonly reason: string;
  readonly evidence: JsonObject;
}
