/** Nobody answered: a reason to try again later, told apart from every fault of our own. */
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { inParallel } from "../../runtime/in-parallel.ts";
import { limits } from "../../runtime/limits.ts";
import { isOfChain } from "../comet/follower.ts";
import type { Broadcaster } from "./broadcaster.ts";

export class ChainSilence extends Error {
  override readonly name = "ChainSilence";
}

/**
 * The same chain, whose every failure to answer is a ChainSilence; what else goes wrong is ours and is thrown as it is.
 * Calls end with the signal that `until` gives.
 */
export function withSilence(chain: Broadcaster, until: () => AbortSignal | undefined = () => undefined): Broadcaster {
  async function hear<T>(ask: (signal?: AbortSignal) => Promise<T>): Promise<T> {
    const signal = until();
    try {
      return await ask(signal);
    } catch (thrown) {
      const isEnd = signal?.aborted && thrown instanceof Error && thrown.name === "AbortError";
      if (!isEnd && !isOfNodes(thrown)) throw thrown;
      throw new ChainSilence(reasonOf(thrown), { cause: thrown });
    }
  }

  return {
    head: () => hear((signal) => chain.head(signal)),
    account: (address, atOrAbove) => hear((signal) => chain.account(address, atOrAbove, signal)),
    simulate: (tx, atOrAbove) => hear((signal) => chain.simulate(tx, atOrAbove, signal)),
    broadcast: (tx, reach) => hear((signal) => chain.broadcast(tx, reach, signal)),
    findTx: (hash, atOrAbove, firstHeight) => hear((signal) => chain.findTx(hash, atOrAbove, firstHeight, signal)),
  };
}

/** All that nodes do to us: they are away, answer nonsense, or cannot know. */
function isOfNodes(thrown: unknown): boolean {
  return isOfChain(thrown) || ProviderError.is(thrown, "AKP_TX_UNPROVEN");
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
