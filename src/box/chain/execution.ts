/** One transaction from its bytes to its result, in each of the three ways in which a node runs it. */
import * as cosmos from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { ProviderError } from "../../runtime/errors.ts";
import { type AbciEvent, noTxResult, type TxResult } from "./abci.ts";
import { anteChecks, type Mode } from "./ante.ts";
import { createContext } from "./context.ts";
import { invalidArgument, Panic, sdkError } from "./errors.ts";
import { plainEvent, withAttribute } from "./events.ts";
import { createGasMeter, OutOfGas, unlimitedGas } from "./gas.ts";
import { type BlockPoint, ChainError, type Context } from "./module.ts";
import type { Store } from "./store.ts";
import { decodeError, type Transaction, type TxMessage } from "./transaction.ts";

export interface Rules {
  /** Throws when the bytes are no transaction. */
  readonly decode: (bytes: Uint8Array) => Transaction;
  readonly unorderedEnabled: boolean;
}

const noGas = { limit: 0n, used: 0n };

/** Never throws for what the transaction says; what a stage before the failing one changed stays. */
export function runTransaction(bytes: Uint8Array, mode: Mode, store: Store, at: BlockPoint, rules: Rules): TxResult {
  let meter: { readonly limit: bigint; readonly used: bigint } = noGas;
  let anteEvents: AbciEvent[] = [];
  const result = (answer: Partial<TxResult>): TxResult => ({
    ...noTxResult,
    gasWanted: meter.limit,
    gasUsed: meter.used,
    ...answer,
  });
  try {
    const tx = decode(bytes, mode, rules);
    checkMessages(tx.messages);
    const gas = createGasMeter(mode === "simulate" ? unlimitedGas : (tx.fee?.gasLimit ?? 0n));
    meter = gas;
    anteEvents = store.transaction(() => {
      const events: AbciEvent[] = [];
      runAnte(tx, mode, createContext(at, store, events, gas), rules);
      return events;
    });
    if (mode === "check") return result({});
    const done = store.transaction(() => runMessages(tx.messages, (events) => createContext(at, store, events, gas)));
    return result({ data: done.data, events: [...anteEvents, ...done.events] });
  } catch (error) {
    const { code, codespace, message } = chainErrorOf(error);
    return result({ code, codespace, log: message, events: anteEvents });
  }
}

function decode(bytes: Uint8Array, mode: Mode, rules: Rules): Transaction {
  try {
    return rules.decode(bytes);
  } catch (error) {
    // A block that holds garbage says no more about it than that.
    throw mode === "finalize" ? sdkError("txDecode") : decodeError(error);
  }
}

/** What the messages say by themselves; a rejection here costs nothing. */
function checkMessages(messages: readonly TxMessage[]): void {
  if (messages.length === 0) throw sdkError("invalidRequest", "must contain at least one message");
  for (const { entry, value } of messages) entry.validate?.(value);
}

function runAnte(tx: Transaction, mode: Mode, context: Context, rules: Rules): void {
  for (const check of anteChecks) check({ tx, context, mode, ...rules });
}

/** All of them or none. */
function runMessages(
  messages: readonly TxMessage[],
  contextFor: (events: AbciEvent[]) => Context,
): Pick<TxResult, "data" | "events"> {
  const events: AbciEvent[] = [];
  const msgResponses = messages.map((message, index) => {
    const own: AbciEvent[] = [];
    const value = runMessage(message, index, contextFor(own));
    events.push(...[messageEvent(message), ...own].map((each) => withAttribute(each, "msg_index", `${index}`)));
    return { typeUrl: `${message.typeUrl}Response`, value };
  });
  return { data: cosmos.TxMsgData.encode({ data: [], msgResponses }).finish(), events };
}

function runMessage({ entry, value }: TxMessage, index: number, context: Context): Uint8Array {
  try {
    return entry.handle(context, value);
  } catch (error) {
    if (!(error instanceof ChainError) || error instanceof OutOfGas || error instanceof Panic) throw error;
    const log = `failed to execute message; message index: ${index}: ${error.message}`;
    throw new ChainError(error.codespace, error.code, log);
  }
}

/** "/akash.market.v1beta5.MsgCreateBid" belongs to the module "market". */
function messageEvent({ typeUrl, signers }: TxMessage): AbciEvent {
  return plainEvent("message", { action: typeUrl, sender: signers[0] ?? "", module: typeUrl.split(".")[1] ?? "" });
}

/** A value that our own parsers reject is the sender's fault; anything else is ours and must be seen. */
function chainErrorOf(error: unknown): ChainError {
  if (error instanceof ChainError) return error;
  if (error instanceof ProviderError) return new Panic(error.message);
  throw error;
}

/** 2⁶⁴ - 1, which is what the SDK calls the limit of a meter without one: zero with all its bits turned round. */
const unlimited = cosmos.GasInfo.fromPartial({}).gasWanted.not();

/** Runs a transaction without keeping anything, so that a client learns what it would cost. */
export function answerSimulation(bytes: Uint8Array, run: (tx: Uint8Array) => TxResult): Uint8Array {
  const request = cosmos.SimulateRequest.decode(bytes);
  const tx = request.txBytes.length > 0 || !request.tx ? request.txBytes : cosmos.Tx.encode(request.tx).finish();
  if (tx.length === 0) throw invalidArgument("empty txBytes is not allowed");
  const { code, log, gasUsed, data, events } = run(tx);
  if (code !== 0) {
    // The code is lost on this way: clients match on the words.
    const reason = `rpc error: code = Unknown desc = ${log} with gas used: '${gasUsed}'`;
    throw sdkError("unknownRequest", reason);
  }
  const { msgResponses } = cosmos.TxMsgData.decode(data);
  return cosmos.SimulateResponse.encode(
    cosmos.SimulateResponse.fromPartial({
      gasInfo: { gasWanted: unlimited, gasUsed },
      result: {
        data,
        events: events.map(({ type, attributes }) => ({ type, attributes: [...attributes] })),
        msgResponses,
      },
    }),
  ).finish();
}
