/** The chain over CometBFT RPC: nodes, follower, mirror and wake-up put together as one service. */
import type { Journal } from "../../journal/journal.ts";
import type { Address } from "../../market/address.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { exitCodes } from "../../runtime/catalogue.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Service } from "../../runtime/lifecycle.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import type { Chain } from "../chain.ts";
import { createFollower, type FollowerCounts, isOfChain, mustNotBeAhead } from "./follower.ts";
import { createMirror, type MirrorCounts } from "./mirror/mirror.ts";
import type { MirrorKey } from "./mirror/mirror-state.ts";
import { createPool, type Pool, unlessAborted } from "./pool.ts";
import { createQueries } from "./queries/queries.ts";
import { createTelling } from "./telling.ts";
import type { RpcTransport } from "./transport.ts";
import { createWakeup } from "./wakeup.ts";

export interface CometChainOptions {
  readonly nodes: readonly RpcTransport[];
  readonly chainId?: string;
  readonly provider: Address;
  readonly journal: Pick<Journal, "relaxed" | "read">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface CometChain extends Chain {
  readonly service: Service;
  /** For what else is asked of the nodes: simulating, sending and finding transactions. */
  readonly pool: Pool;
  /** Compares the mirror with the chain's lists now; else that happens now and then. */
  compareMirror(signal?: AbortSignal): Promise<readonly MirrorKey[]>;
  readonly counts: {
    readonly follower: Readonly<FollowerCounts>;
    readonly mirror: Readonly<MirrorCounts>;
  };
}

export function createCometChain(options: CometChainOptions): CometChain {
  const { provider, journal, clock, random, log } = options;
  const pool = createPool(options);
  const queries = createQueries(pool);
  const mirror = createMirror({ queries, provider, log });
  const telling = createTelling();
  let chainId: string | undefined;
  /** Until the start is over. */
  let startTrouble: string | undefined = "no RPC node has answered yet";

  const follower = createFollower({
    pool,
    journal,
    clock,
    log,
    consumer: {
      block: async (block) =>
        telling.tell({ block, changed: await mirror.apply(block, follower.head?.height ?? block.height) }),
      gap: async (gap) => telling.tell({ gap, changed: await mirror.build(gap.to) }),
    },
  });
  const wakeup = createWakeup({ node: () => pool.preferred, wake: follower.wake, clock, random, log });
  pool.onSwitch(wakeup.moveOn);

  async function compareMirror(signal?: AbortSignal): Promise<readonly MirrorKey[]> {
    const changed = await mirror.compare(signal);
    if (changed.length > 0) await telling.tell({ changed }, (unit) => journal.relaxed("mirror compared", unit));
    return changed;
  }

  async function compareNowAndThen(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(clock, jitter(random, limits.rpcMirrorRelistMs), signal);
      try {
        await compareMirror(signal);
      } catch (thrown) {
        if (signal.aborted || !mayPass(thrown)) throw thrown;
        log.error("cannot compare the mirror with the chain, retrying later", { error: thrown });
      }
    }
  }

  /** First the mirror, then the blocks after it: whoever follows from here misses nothing. */
  async function begin(signal: AbortSignal): Promise<void> {
    await pool.open(signal);
    chainId = pool.chainId;
    const cursor = journal.read.cursor.get(chainId) ?? 0n;
    mustNotBeAhead(chainId, cursor, pool.newest?.height ?? cursor);
    await mirror.build(cursor, signal);
  }

  /** Nodes that are away at our start come back; told once, and shown for as long as it lasts. */
  async function beginWhenPossible(signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await begin(signal);
        if (tries > 1) log.info("chain is readable, the start continues", { tries });
        startTrouble = undefined;
        return;
      } catch (thrown) {
        if (signal.aborted || !isOfChain(thrown) || thrown.entry.exit === exitCodes.settings) throw thrown;
        if (tries === 1) log.error("cannot read the chain, the start waits", { error: thrown });
        startTrouble = thrown.message;
      }
      await sleep(clock, growingPauseMs(limits.rpcRetryFirstMs, limits.rpcRetryMostMs, tries), signal);
    }
  }

  const service: Service = {
    name: "chain",
    waitsForOthers: true,
    async start(scope) {
      scope.onStop(() => pool.close());
      await beginWhenPossible(scope.signal);
      scope.task("nodes", pool.run);
      scope.task("follower", (signal) => follower.run(mirror.height, signal));
      scope.task("wake-up", wakeup.run);
      scope.task("mirror", (signal) => compareNowAndThen(signal).catch(unlessAborted(signal)));
    },
  };

  return {
    service,
    pool,
    provider,
    queries,
    mirror,
    get chainId() {
      return pool.chainId;
    },
    get height() {
      return follower.height;
    },
    get status() {
      const { head, blockTimeMs } = follower;
      const mirrorAgeMs = mirror.ready ? clock.now() - Number(mirror.timeNs / 1_000_000n) : undefined;
      const trouble = startTrouble ?? follower.trouble;
      return { chainId, nodes: pool.members, head: head?.height, blockTimeMs, mirrorAgeMs, trouble };
    },
    compareMirror,
    onStep: telling.add,
    counts: { follower: follower.counts, mirror: mirror.counts },
  };
}

/** The nodes' troubles, and a journal that another program holds for an instant. */
function mayPass(thrown: unknown): boolean {
  return isOfChain(thrown) || ProviderError.is(thrown, "AKP_JOURNAL_BUSY");
}
