/** The query that runs a transaction without keeping anything, so that a client learns what it would cost. */
import {
  GasInfo,
  SimulateRequest,
  SimulateResponse,
  Tx,
  TxMsgData,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { TxResult } from "./abci.ts";
import { invalidArgument, sdkRefusal } from "./refusals.ts";

export const simulatePath = "/cosmos.tx.v1beta1.Service/Simulate";

/** 2⁶⁴ - 1, which is what the SDK calls the limit of a meter without one: zero with all its bits turned round. */
const unlimited = GasInfo.fromPartial({}).gasWanted.not();

export function answerSimulation(bytes: Uint8Array, run: (tx: Uint8Array) => TxResult): Uint8Array {
  const request = SimulateRequest.decode(bytes);
  const tx = request.txBytes.length > 0 || !request.tx ? request.txBytes : Tx.encode(request.tx).finish();
  if (tx.length === 0) throw invalidArgument("empty txBytes is not allowed");
  const { code, log, gasUsed, data, events } = run(tx);
  if (code !== 0) {
    // The code is lost on this way: clients match on the words.
    const reason = `rpc error: code = Unknown desc = ${log} with gas used: '${gasUsed}'`;
    throw sdkRefusal("unknownRequest", reason);
  }
  const { msgResponses } = TxMsgData.decode(data);
  return SimulateResponse.encode(
    SimulateResponse.fromPartial({
      gasInfo: { gasWanted: unlimited, gasUsed },
      result: {
        data,
        events: events.map(({ type, attributes }) => ({ type, attributes: [...attributes] })),
        msgResponses,
      },
    }),
  ).finish();
}
