/** A price of the chain's oracle. The npm package knows the first version of it only; both write what we read of it alike. */
import {
  type Decoded,
  int32,
  messageOf,
  nanoseconds,
  optional,
  plain,
  repeated,
  required,
  text,
} from "../../runtime/protobuf.ts";

export const queryAggregatedPriceRequest = messageOf({ denom: plain(1, text, "") });

/** In dollars. The average over the oracle's own window, as a whole number of 10⁻¹⁸ths, and when that was reckoned. */
const aggregatedPrice = messageOf({
  denom: plain(1, text, ""),
  average: required(2, text, ""),
  reckonedAtNs: optional(6, nanoseconds),
});

/** `healthy` is a bool, which is written like a number. */
const priceHealth = messageOf({ healthy: int32(3), failures: repeated(8, text) });

export const queryAggregatedPriceResponse = messageOf({
  price: optional(1, aggregatedPrice),
  health: optional(2, priceHealth),
});
export type QueryAggregatedPriceResponse = Decoded<typeof queryAggregatedPriceResponse>;
