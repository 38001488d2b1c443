/** Where a node says it is. */
import { isRecord } from "../../runtime/is-record.ts";
import { reading } from "./rpc-call.ts";
import { readHeight, readTimeNs } from "./wire-text.ts";

export interface NodeStatus {
  readonly chainId: string;
  readonly height: bigint;
  readonly timeNs: bigint;
  /** The oldest block that it still has. */
  readonly earliestHeight: bigint;
  /** It is still loading older blocks and knows nothing of the present. */
  readonly catchingUp: boolean;
}

export function readStatus(endpoint: string, result: unknown): NodeStatus {
  const info = isRecord(result) ? result["node_info"] : undefined;
  const sync = isRecord(result) ? result["sync_info"] : undefined;
  return reading(endpoint, "status", () => {
    if (!isRecord(info) || !isRecord(sync)) throw new TypeError("node_info and sync_info are missing");
    const { network } = info;
    if (typeof network !== "string" || network === "") throw new TypeError("it names no chain");
    return {
      chainId: network,
      height: readHeight(sync["latest_block_height"]),
      timeNs: readTimeNs(sync["latest_block_time"]),
      earliestHeight: readHeight(sync["earliest_block_height"] ?? "0"),
      catchingUp: sync["catching_up"] === true,
    };
  });
}
