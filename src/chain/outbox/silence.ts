/** Nobody answered: a reason to try again later, told apart from every fault of our own. */

import { reasonOf } from "../../runtime/errors.ts";
import { InvariantError } from "../../runtime/invariant.ts";
import type { Broadcaster } from "./broadcaster.ts";

export class ChainSilence extends Error {
  override readonly name = "ChainSilence";
}

/** The same chain, whose every failure to answer is a ChainSilence. */
export function withSilence(chain: Broadcaster): Broadcaster {
  return {
    head: () => hear(() => chain.head()),
    account: (...args) => hear(() => chain.account(...args)),
    simulate: (...args) => hear(() => chain.simulate(...args)),
    broadcast: (...args) => hear(() => chain.broadcast(...args)),
    findTx: (...args) => hear(() => chain.findTx(...args)),
  };
}

async function hear<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    if (thrown instanceof InvariantError) throw thrown;
    throw new ChainSilence(reasonOf(thrown), { cause: thrown });
  }
}
