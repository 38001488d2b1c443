/** Nobody answered: a reason to try again later, told apart from every fault of our own. */
import { reasonOf } from "../../runtime/errors.ts";
import { inParallel } from "../../runtime/in-parallel.ts";
import { InvariantError } from "../../runtime/invariant.ts";
import { limits } from "../../runtime/limits.ts";
import type { Broadcaster } from "./broadcaster.ts";

export class ChainSilence extends Error {
  override readonly name = "ChainSilence";
}

/** The same chain, whose every failure to answer is a ChainSilence. Calls end with the signal that `until` gives. */
export function withSilence(chain: Broadcaster, until: () => AbortSignal | undefined = () => undefined): Broadcaster {
  return {
    head: () => hear(() => chain.head(until())),
    account: (address, atOrAbove) => hear(() => chain.account(address, atOrAbove, until())),
    simulate: (tx, atOrAbove) => hear(() => chain.simulate(tx, atOrAbove, until())),
    broadcast: (tx) => hear(() => chain.broadcast(tx, until())),
    findTx: (hash, atOrAbove, firstHeight) => hear(() => chain.findTx(hash, atOrAbove, firstHeight, until())),
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

/** Works on many things; that nobody answers about one, which may be its own fault, does not stop the others. */
export async function eachApart<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<ChainSilence | undefined> {
  const silences: ChainSilence[] = [];
  await inParallel(items, limits.outboxAtOnce, async (item) => {
    try {
      await work(item);
    } catch (thrown) {
      if (!(thrown instanceof ChainSilence)) throw thrown;
      silences.push(thrown);
    }
  });
  return silences[0];
}
