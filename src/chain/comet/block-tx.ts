/** A transaction of a block with what came of it. */
import { hash } from "node:crypto";
import { isRecord } from "../../runtime/is-record.ts";
import { eventsIn } from "./abci-events.ts";
import type { AbciEvent } from "./events.ts";
import { readGas } from "./wire-text.ts";

export interface TxResult {
  /** 0 means that its messages took effect. If it is not 0, the fee may have been paid all the same. */
  readonly code: number;
  readonly codespace: string;
  readonly log: string;
  readonly gasWanted: bigint;
  readonly gasUsed: bigint;
  /** Of one that failed, those of the checks before its messages: the fee. */
  readonly events: readonly AbciEvent[];
}

export interface BlockTx extends TxResult {
  /** Of its bytes, as nodes write it: SHA-256 in upper-case hex. */
  readonly hash: string;
}

/** An entry of txs_results. */
export function readTxResult(result: unknown): TxResult {
  if (!isRecord(result)) throw new TypeError("a result of a transaction is not an object");
  const { code = 0, codespace = "", log = "" } = result;
  if (typeof code !== "number") throw new TypeError("a result of a transaction has no number as its code");
  return {
    code,
    codespace: String(codespace),
    log: String(log),
    gasWanted: readGas(result["gas_wanted"] ?? "0"),
    gasUsed: readGas(result["gas_used"] ?? "0"),
    events: eventsIn(result["events"]),
  };
}

/** Hashed when somebody asks: most of the time nobody waits for any transaction. */
export function blockTx(base64: string, result: TxResult): BlockTx {
  let known: string | undefined;
  return {
    ...result,
    get hash() {
      known ??= hash("sha256", Buffer.from(base64, "base64"), "hex").toUpperCase();
      return known;
    },
  };
}
