/** Price from the chain's oracle, of whichever version the chain has. */
import { decimalFromAtto } from "../../../market/decimal.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { int32, messageOf, nanoseconds, optional, plain, repeated, required, text } from "../../../runtime/protobuf.ts";
import type { Queries } from "../../chain.ts";
import { type OraclePrice, present, strange } from "../../records.ts";
import type { Pool } from "../pool.ts";
import { type Query, queryOne } from "./abci-query.ts";

type OracleAnswer = OraclePrice & { readonly denom: string; readonly unhealthy: string | undefined };

/** So many digits have a million dollars in 10⁻¹⁸ths, and room to spare. */
const wireDecimal = /^\d{1,40}$/;
/** The year 10000: what is later, or before 1970, is no time that a block was made at. */
const endOfTimeNs = 253_402_300_800n * 1_000_000_000n;
const unknownPath = /unknown query path/;
/** Its store has no such key; that comes with the code of an invalid request. */
const noneYet = /collections: not found/;

export const oraclePriceQueries: readonly Query<string, OracleAnswer>[] = ["v2", "v1"].map((version) => ({
  path: `/akash.oracle.${version}.Query/AggregatedPrice`,
  encode: (denom) => queryAggregatedPriceRequest.encode({ denom }),
  decode: readAnswer,
  // A chain without this version is no node failing.
  rejection: unknownPath,
}));

function readAnswer(bytes: Uint8Array): OracleAnswer {
  const { price, health } = queryAggregatedPriceResponse.decode(bytes);
  const { denom, average, reckonedAtNs: timeNs = -1n } = present(price, "a price");
  const { healthy, failures } = present(health, "the health of a price");
  if (!wireDecimal.test(average)) throw strange("a price that is no whole number of 10⁻¹⁸ths");
  if (timeNs < 0n || timeNs >= endOfTimeNs) throw strange("a price without a time");
  return {
    denom,
    dollars: decimalFromAtto(BigInt(average)),
    timeNs,
    unhealthy: healthy === 1 ? undefined : failures.join("; ") || "it does not say why",
  };
}

export function createOraclePrice(pool: Pool): Queries["oraclePrice"] {
  // The version that answered is tried first from then on; an upgrade of the chain may change it.
  let queries = oraclePriceQueries;
  return async (denom, options) => {
    const none = (reason: string) => new ProviderError("AKP_CHAIN_NO_ORACLE_PRICE", { denom, reason });
    for (const query of queries) {
      const found = await queryOne(pool, query, denom, options).catch(rejectionIn);
      if (typeof found === "string" && unknownPath.test(found)) continue;
      queries = [query, ...oraclePriceQueries.filter((other) => other !== query)];
      if (typeof found === "string" || found.value === undefined) throw none("it has none yet");
      const { denom: priced, unhealthy, ...price } = found.value;
      if (priced !== denom) throw none(`it answered with that of ${JSON.stringify(priced)}`);
      if (unhealthy !== undefined) throw none(`it does not vouch for it (${unhealthy})`);
      return { ...found, value: price };
    }
    throw none("this chain has no oracle that we know");
  };
}

/** The chain's own error if it is one of the two that are expected; any other is an error of the node. */
function rejectionIn(thrown: unknown): string {
  if (!ProviderError.is(thrown, "AKP_CHAIN_QUERY_REFUSED")) throw thrown;
  const { codespace, reason } = thrown.details;
  const said = codespace === "sdk" ? String(reason) : "";
  if (unknownPath.test(said) || noneYet.test(said)) return said;
  throw thrown;
}

/** A price of the chain's oracle. The npm package knows the first version of it only; both write what we read of it alike. */
const queryAggregatedPriceRequest = messageOf({ denom: plain(1, text, "") });

/** In dollars. The average over the oracle's own window, as a whole number of 10⁻¹⁸ths, and when that was reckoned. */
const aggregatedPrice = messageOf({
  denom: plain(1, text, ""),
  average: required(2, text, ""),
  reckonedAtNs: optional(6, nanoseconds),
});

/** `healthy` is a bool, which is written like a number. */
const priceHealth = messageOf({ healthy: int32(3), failures: repeated(8, text) });

const queryAggregatedPriceResponse = messageOf({
  price: optional(1, aggregatedPrice),
  health: optional(2, priceHealth),
});
