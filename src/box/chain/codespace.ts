/** How a module names its refusals: a code of its own, and the words that clients match on. */
import { ChainRefusal } from "./module.ts";

export type Refuse<Name extends string> = (error: Name, detail?: string) => ChainRefusal;

export function codespace<Name extends string>(
  name: string,
  errors: Readonly<Record<Name, readonly [code: number, text: string]>>,
): Refuse<Name> {
  return (error, detail) => {
    const [code, text] = errors[error];
    return new ChainRefusal(name, code, detail === undefined ? text : `${detail}: ${text}`);
  };
}

/** An error that the chain gives no code of its own, or whose code is lost because of how it was wrapped. */
export function uncoded(text: string): ChainRefusal {
  return new ChainRefusal("undefined", 1, text);
}

/**
 * Where the chain's own program runs into a wall: the transaction fails, the node goes on. The chain does not know which
 * message it was, but prints the stack; ours is the same on every machine, for results are part of the app's hash.
 */
export class Panic extends ChainRefusal {
  constructor(text: string) {
    super("undefined", 111222, `recovered: ${text}\nstack:\ngoroutine 1 [running]:\n: panic`);
  }
}
