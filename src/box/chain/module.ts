/** A module of the application, and the context of its messages, blocks and queries. */
import type { Codec } from "../../runtime/protobuf.ts";
import type { AbciEvent } from "./abci.ts";
import type { Store } from "./store.ts";

/** Where in the chain something happens. */
export interface BlockPoint {
  readonly chainId: string;
  readonly height: bigint;
  readonly timeNs: bigint;
}

export interface Context extends BlockPoint {
  readonly store: Store;
  /** Counts what the work costs; throws the chain's "out of gas" when the limit is passed. */
  useGas(amount: bigint, what: string): void;
  emit(event: AbciEvent): void;
}

/** An ABCI error with the code and codespace that clients match on. */
export class ChainError extends Error {
  override readonly name = "ChainError";
  readonly codespace: string;
  readonly code: number;

  constructor(codespace: string, code: number, log: string) {
    super(log);
    this.codespace = codespace;
    this.code = code;
  }
}

export interface Module {
  /** By type URL, for instance "/akash.market.v1beta5.MsgCreateBid". */
  readonly messages: Readonly<Record<string, MessageEntry>>;
  /** By path, for instance "/akash.market.v1beta5.Query/Orders". */
  readonly queries: Readonly<Record<string, QueryHandler>>;
  endBlock?(context: Context): void;
}

export type QueryHandler = (context: Context, request: Uint8Array) => Uint8Array;

export interface MessageEntry {
  /** The addresses that must have signed. */
  signers(message: Uint8Array): string[];
  /** Stateless validation (ValidateBasic); runs first, so that an invalid message costs no fee. */
  validate?(message: Uint8Array): void;
  /** Works on one message, given its protobuf bytes, and answers with the bytes of its response. */
  handle(context: Context, message: Uint8Array): Uint8Array;
}

interface MessageParts<Wire, Read> {
  signer(wire: NoInfer<Wire>): string;
  /** The message in the application's own words. Throws when it makes no sense by itself. */
  read(wire: NoInfer<Wire>): Read;
  handle(context: Context, message: NoInfer<Read>): void;
}

/** Every response but that of authz's MsgExec is a message without fields. */
const emptyResponse = new Uint8Array();

/** A message by its codec and what is done with it. */
export function messageEntry<Wire, Read>(
  codec: Pick<Codec<Wire>, "decode">,
  parts: MessageParts<Wire, Read>,
): MessageEntry {
  // Signers, validation and handler decode the same bytes one after the other.
  const wire = memoized((bytes) => codec.decode(bytes));
  const message = memoized((bytes) => parts.read(wire(bytes)));
  return {
    signers: (bytes) => [parts.signer(wire(bytes))],
    validate: (bytes) => void message(bytes),
    handle(context, bytes) {
      parts.handle(context, message(bytes));
      return emptyResponse;
    },
  };
}

/** Memoizes by the identity of the bytes. */
export function memoized<T>(make: (bytes: Uint8Array) => T): (bytes: Uint8Array) => T {
  const known = new WeakMap<Uint8Array, { value: T }>();
  return (bytes) => {
    const before = known.get(bytes);
    if (before) return before.value;
    const value = make(bytes);
    known.set(bytes, { value });
    return value;
  };
}
