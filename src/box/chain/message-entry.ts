/** A message by its codec and what is done with it, as the application wants it: all in bytes. */
import type { Codec } from "../../chain/codec/message.ts";
import type { Context, MessageEntry } from "./module.ts";

export interface MessageParts<Wire, Read> {
  readonly codec: Pick<Codec<Wire>, "decode">;
  signer(wire: NoInfer<Wire>): string;
  /** The message in the application's own words. Throws when it makes no sense by itself. */
  read(wire: NoInfer<Wire>): Read;
  handle(context: Context, message: NoInfer<Read>): void;
}

/** Every response of deployment, market and escrow is a message without fields. */
const emptyResponse = new Uint8Array();

export function messageEntry<Wire, Read>(parts: MessageParts<Wire, Read>): MessageEntry {
  // Signers, validation and work ask for the same bytes one after the other.
  const wire = remembered((bytes) => parts.codec.decode(bytes));
  const message = remembered((bytes) => parts.read(wire(bytes)));
  return {
    signers: (bytes) => [parts.signer(wire(bytes))],
    validate: (bytes) => void message(bytes),
    handle(context, bytes) {
      parts.handle(context, message(bytes));
      return emptyResponse;
    },
  };
}

function remembered<T>(make: (bytes: Uint8Array) => T): (bytes: Uint8Array) => T {
  const known = new WeakMap<Uint8Array, { value: T }>();
  return (bytes) => {
    const before = known.get(bytes);
    if (before) return before.value;
    const value = make(bytes);
    known.set(bytes, { value });
    return value;
  };
}
