/** What a module of the application is made of, and what it may use while it works on a message, a block or a query. */
import type { AbciEvent } from "./abci.ts";
import type { Store } from "./store.ts";

export interface Context {
  readonly chainId: string;
  readonly height: bigint;
  readonly timeNs: bigint;
  readonly store: Store;
  /** Counts what the work costs; throws the chain's "out of gas" when the limit is passed. */
  useGas(amount: bigint, what: string): void;
  emit(event: AbciEvent): void;
}

/** Whatever the chain refuses, with the code and codespace that clients know it by. */
export class ChainRefusal extends Error {
  override readonly name = "ChainRefusal";
  readonly codespace: string;
  readonly code: number;

  constructor(codespace: string, code: number, log: string) {
    super(log);
    this.codespace = codespace;
    this.code = code;
  }
}

/** Works on one message, given its protobuf bytes, and answers with the bytes of its response. */
export type MessageHandler = (context: Context, message: Uint8Array) => Uint8Array;

export type QueryHandler = (context: Context, request: Uint8Array) => Uint8Array;

export interface Module {
  readonly name: string;
  /** By type URL, for instance "/akash.market.v1beta5.MsgCreateBid". */
  readonly messages: Readonly<Record<string, MessageEntry>>;
  /** By path, for instance "/akash.market.v1beta5.Query/Orders". */
  readonly queries: Readonly<Record<string, QueryHandler>>;
  endBlock?(context: Context): void;
}

export interface MessageEntry {
  /** The addresses that must have signed. */
  signers(message: Uint8Array): string[];
  /** What the message must satisfy by itself; asked before anything else, so that nonsense never costs a fee. */
  validate?(message: Uint8Array): void;
  handle: MessageHandler;
}
