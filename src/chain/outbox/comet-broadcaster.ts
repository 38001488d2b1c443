/** The chain as the outbox needs it, over the RPC of CometBFT nodes. */
import { SimulateRequest, SimulateResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { parseAddress } from "../../market/address.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Pool } from "../comet/pool.ts";
import { ask, type Query } from "../comet/queries/abci-query.ts";
import { accountQuery } from "../comet/queries/account-queries.ts";
import { isRecord } from "../comet/rpc-answer.ts";
import { readHeight } from "../comet/wire-text.ts";
import type { Broadcaster, Included, Receipt } from "./broadcaster.ts";

export function createCometBroadcaster(pool: Pool): Broadcaster {
  return {
    async head() {
      const { height, timeNs } = await pool.head();
      return { height, timeNs };
    },
    async account(address, atOrAbove) {
      const { value } = await ask(pool, accountQuery, parseAddress(address), { atOrAbove });
      return value && { number: value.number, sequence: value.sequence };
    },
    async simulate(tx, atOrAbove) {
      try {
        const { value: gasUsed } = await ask(pool, simulateQuery, tx, { atOrAbove });
        if (gasUsed === undefined) throw new TypeError("the node does not know how to simulate");
        return { kind: "ran", gasUsed };
      } catch (thrown) {
        if (!ProviderError.is(thrown, "AKP_CHAIN_QUERY_REFUSED")) throw thrown;
        const log = String(thrown.details["reason"]);
        if (!isAboutTheTransaction.test(log)) throw thrown;
        return { kind: "refused", log };
      }
    },
    async broadcast(tx) {
      const params = { tx: Buffer.from(tx).toString("base64") };
      try {
        const { result } = await pool.call("broadcast_tx_sync", params, checked("broadcast_tx_sync", readReceipt));
        return result;
      } catch (thrown) {
        if (refusalReason(thrown)?.includes("tx already exists in cache")) return { kind: "taken" };
        throw thrown;
      }
    },
    async findTx(hash, atOrAbove) {
      const params = { hash: Buffer.from(hash, "hex").toString("base64"), prove: false };
      try {
        const { result } = await pool.call("tx", params, checked("tx", readIncluded), { atOrAbove });
        return result;
      } catch (thrown) {
        if (refusalReason(thrown)?.includes(`tx (${hash}) not found`)) return undefined;
        throw thrown;
      }
    },
  };
}

/** The application ran it, or could not read it; anything else is a node in trouble. */
const isAboutTheTransaction = /with gas used|errUnknownField|tx parse error/;

const simulateQuery: Query<Uint8Array, bigint> = {
  path: "/cosmos.tx.v1beta1.Service/Simulate",
  encode: (txBytes) => SimulateRequest.encode(SimulateRequest.fromPartial({ txBytes })).finish(),
  decode(bytes) {
    const gasUsed = SimulateResponse.decode(bytes).gasInfo?.gasUsed;
    if (!gasUsed) throw new TypeError("a simulation without gas");
    return gasUsed.toBigInt();
  },
};

function refusalReason(thrown: unknown): string | undefined {
  return ProviderError.is(thrown, "AKP_CHAIN_CALL_REFUSED") ? String(thrown.details["reason"]) : undefined;
}

/** An answer that cannot be read is the node's failure, so that another one is asked. */
function checked<T>(method: string, read: (result: unknown) => T): (result: unknown, endpoint: string) => T {
  return (result, endpoint) => {
    try {
      return read(result);
    } catch (thrown) {
      if (!(thrown instanceof TypeError)) throw thrown;
      throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { endpoint, method, reason: thrown.message });
    }
  };
}

function readReceipt(result: unknown): Receipt {
  const { code, codespace, log } = readResult(result);
  return code === 0 ? { kind: "taken" } : { kind: "refused", code, codespace, log };
}

function readIncluded(result: unknown): Included {
  const body = isRecord(result) ? result["tx_result"] : undefined;
  if (!isRecord(result) || !isRecord(body)) throw new TypeError("it holds no result of a transaction");
  const events = body["events"];
  return {
    ...readResult(body),
    height: readHeight(result["height"]),
    gasUsed: readHeight(body["gas_used"] ?? "0"),
    // A transaction that fails in the checks before its messages leaves no event behind.
    admitted: Array.isArray(events) && events.length > 0,
  };
}

function readResult(result: unknown): { code: number; codespace: string; log: string } {
  if (!isRecord(result)) throw new TypeError("it is no result");
  const { code = 0, codespace = "", log = "" } = result;
  if (typeof code !== "number") throw new TypeError("its code is no number");
  return { code, codespace: String(codespace), log: String(log) };
}
