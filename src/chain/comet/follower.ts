/**
 * Follows the chain block by block, by height, from the cursor: no height is ever left out. A block is handed
 * over and only then counts as done; after a crash the last ones come again, so consumers must not mind that.
 */
import { growingPauseMs } from "../../runtime/back-off.ts";
import { largest } from "../../runtime/bigint.ts";
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { rpcRetryFirstMs, rpcRetryMostMs } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { createPause } from "../../runtime/pause.ts";
import type { ChainBlock } from "../block.ts";
import type { Gap } from "../chain.ts";
import { isOfChain } from "../chain-failure.ts";
import { createBlockTime, createClockCheck } from "./block-times.ts";
import { type Fetching, fetchBlock, readAhead } from "./blocks.ts";
import { type Cursor, type CursorWriter, createCursorWriter } from "./cursor.ts";
import { createGapJudge, hasRefusal } from "./gap.ts";
import type { Pool, ReportedHead } from "./pool.ts";
import type { CallLimits } from "./rpc-call.ts";
import { rpcCallMs } from "./rpc-call.ts";
import { isNotYet, rpcLagBlocks } from "./rpc-node.ts";

/** A call on the way to the next block is given up after a block time, but never sooner than this. */
const rpcCallLeastMs = 500;
/** Blocks that are fetched at once to catch up: hides the way to a far node, and holds a few megabytes. */
const rpcReadAheadBlocks = 16;
/** The same in bytes of answers, for large blocks: as objects they take several times as much. */
const rpcReadAheadBytes = 16 * 1024 * 1024;
/** Block times without a new height after which another node is asked. */
const rpcStandStillBlocks = 3;
/** Bounds of the pause between two looks at the head, which is a third of a block time. */
const rpcPollLeastMs = 20;
const rpcPollMostMs = 2 * second;
/** A block of which a node has told is waited for in silence this long: a full one takes seconds to run. */
const rpcNotYetMs = 10 * second;

export interface BlockConsumer {
  /** `head` is how far the chain is. A failure of the chain's makes the block come again. */
  block(block: ChainBlock, head: bigint): Promise<unknown>;
  /** These blocks are lost: whatever they changed must be read from the chain's lists. */
  gap(gap: Gap): Promise<unknown>;
}

export interface FollowerCounts {
  blocks: number;
  events: number;
  otherEvents: number;
  malformedEvents: number;
  gaps: number;
  standStills: number;
  retries: number;
}

export interface Follower {
  /** Follows until the signal; rejects when the cursor or the consumer fails. `start` is where a chain never followed begins. */
  run(start: bigint, signal: AbortSignal): Promise<void>;
  /** There may be a new block. */
  wake(): void;
  /** The last height that was handed over. */
  readonly height: bigint;
  /** How far the chain is: what was served, or what most nodes report if that is more. */
  readonly head: bigint | undefined;
  readonly blockTimeMs: number;
  /** Why nothing comes just now, in words. */
  readonly trouble: string | undefined;
  readonly counts: Readonly<FollowerCounts>;
}

interface FollowerDeps {
  readonly pool: Pool;
  readonly cursor: Cursor;
  readonly consumer: BlockConsumer;
  readonly clock: Clock;
  readonly log: Log;
}

const aheadBounds = { width: rpcReadAheadBlocks, bytes: rpcReadAheadBytes };

export function createFollower({ pool, cursor: kept, consumer, clock, log }: FollowerDeps): Follower {
  const counts: FollowerCounts = {
    blocks: 0,
    events: 0,
    otherEvents: 0,
    malformedEvents: 0,
    gaps: 0,
    standStills: 0,
    retries: 0,
  };
  const blockTime = createBlockTime();
  const pause = createPause(clock);
  const gaps = createGapJudge(pool, clock);
  const clockCheck = createClockCheck(clock, log);
  let height = 0n;
  let reported: ReportedHead | undefined;
  let newsAtMs = 0;
  let failuresInRow = 0;
  let trouble: string | undefined;
  /** The height at which it was told that no block comes. */
  let toldStillAt: bigint | undefined;
  /** Since when the block after this height has been there in name only. */
  let unready: { readonly height: bigint; readonly sinceMs: number } | undefined;

  /**
   * A node that takes longer than a block for a call is as good as dead. After a failure it may take longer: a large
   * block over a slow line is no reason to try for ever.
   */
  function bounds(signal: AbortSignal, onBytes: (bytes: number) => void = () => undefined): CallLimits {
    const patienceMs = Math.max(blockTime.averageMs, rpcCallLeastMs) * 2 ** failuresInRow;
    return { signal, onBytes, timeoutMs: Math.min(patienceMs, rpcCallMs) };
  }

  function fetch(at: bigint, { signal, took }: Fetching): Promise<ChainBlock> {
    return fetchBlock(pool, at, bounds(signal, took), clock);
  }

  async function look(cursor: CursorWriter, signal: AbortSignal): Promise<void> {
    const seen = await pool.head(bounds(signal));
    noteHead();
    if (seen.height > height) return follow(seen.height, cursor, signal);
    mustNotBeAhead(pool.chainId, height, seen.height);
    settleDown();
    if (clock.monotonicMs() - newsAtMs > rpcStandStillBlocks * blockTime.averageMs) await changeNode(signal);
    await pause.wait(pollMs(), signal);
  }

  function pollMs(): number {
    return Math.min(Math.max(blockTime.averageMs / 3, rpcPollLeastMs), rpcPollMostMs);
  }

  /** Kept while no node answers. */
  function noteHead(): void {
    const { agreed } = pool;
    if (!agreed || agreed.height === reported?.height) return;
    // The first may be of long ago: the chain may stand still.
    if (reported) clockCheck.note(agreed.timeNs);
    reported = agreed;
  }

  function head(): bigint | undefined {
    return reported && largest(height, reported.height);
  }

  async function follow(to: bigint, cursor: CursorWriter, signal: AbortSignal): Promise<void> {
    /** The consumer's own failures must not be taken for a block that no node gives. */
    let isHandedOver = false;
    try {
      for await (const block of readAhead(height + 1n, to, aheadBounds, fetch, signal)) {
        isHandedOver = true;
        await handOver(block);
        height = block.height;
        cursor.moveTo(height);
        settleDown();
        // A replay may take long, and how far the chain has come meanwhile matters to whoever follows it.
        noteHead();
        isHandedOver = false;
      }
      newsAtMs = clock.monotonicMs();
    } catch (thrown) {
      if (isHandedOver || !isOfChain(thrown) || isNotYet(thrown)) throw thrown;
      const has = (at: bigint) => fetch(at, { signal, took: () => undefined }).then(() => true, isRefused);
      const gap = await gaps.judge(height + 1n, thrown, has, signal);
      if (!gap) throw thrown;
      await skip(gap, reasonOf(thrown), cursor);
    }
  }

  async function handOver(block: ChainBlock): Promise<void> {
    await consumer.block(block, head() ?? block.height);
    pool.served(block);
    for (const error of block.malformed) log.error("cannot read an event of a block", { error });
    blockTime.note(block.height, block.timeNs);
    counts.blocks += 1;
    counts.events += block.events.length;
    counts.otherEvents += block.otherEvents;
    counts.malformedEvents += block.malformed.length;
  }

  async function skip(gap: Gap, reason: string, cursor: CursorWriter): Promise<void> {
    log.error("blocks lost", { error: new ProviderError("AKP_CHAIN_GAP", { ...gap, reason }) });
    await consumer.gap(gap);
    counts.gaps += 1;
    height = gap.to;
    cursor.moveTo(height);
  }

  async function changeNode(signal: AbortSignal): Promise<void> {
    counts.standStills += 1;
    // A halted chain is told once, and not every few seconds for as long as it is halted.
    if (toldStillAt !== height) {
      log.warn("no new block, probing other RPC nodes", { node: pool.preferred.name, height });
      toldStillAt = height;
    }
    await pool.standsStill(bounds(signal));
    newsAtMs = clock.monotonicMs();
  }

  function settleDown(): void {
    if (failuresInRow > 0) log.info("following the chain again", { height });
    failuresInRow = 0;
    trouble = undefined;
  }

  /** A node tells of a block before its results can be read: after every large one, for as long as it takes to run it. */
  function comesSoon(thrown: unknown): boolean {
    if (!isNotYet(thrown)) return false;
    if (unready?.height !== height) unready = { height, sinceMs: clock.monotonicMs() };
    return clock.monotonicMs() - unready.sinceMs < rpcNotYetMs;
  }

  /** Told once; then tried again in silence, ever more slowly. */
  async function retryLater(error: ProviderError, signal: AbortSignal): Promise<void> {
    if (failuresInRow === 0) log.warn("cannot follow the chain, retrying", { error, height });
    trouble = reasonOf(error);
    counts.retries += 1;
    const pauseMs = growingPauseMs(rpcRetryFirstMs, rpcRetryMostMs, failuresInRow + 1);
    failuresInRow += 1;
    await pause.wait(pauseMs, signal);
  }

  return {
    async run(start, signal) {
      const { chainId } = pool;
      const cursor = createCursorWriter(kept, chainId);
      const known = kept.load(chainId);
      height = known ?? start;
      newsAtMs = clock.monotonicMs();
      // Written at once: were we to die before the next block, the next start would begin later and miss some.
      if (known === undefined) cursor.moveTo(start);
      try {
        while (!signal.aborted) {
          try {
            await look(cursor, signal);
          } catch (thrown) {
            if (signal.aborted) break;
            if (!isOfChain(thrown)) throw thrown;
            if (comesSoon(thrown)) await pause.wait(Math.min(pollMs(), rpcRetryFirstMs), signal);
            else await retryLater(thrown, signal);
          }
        }
      } finally {
        await cursor.flush();
      }
    },
    wake: pause.ring,
    get height() {
      return height;
    },
    get head() {
      return head();
    },
    get blockTimeMs() {
      return blockTime.averageMs;
    },
    get trouble() {
      return trouble ?? clockCheck.doubt?.message;
    },
    counts,
  };
}

/** False when nodes answered that they do not have it; any other failure says nothing and is thrown on. */
function isRefused(thrown: unknown): false {
  if (isOfChain(thrown) && hasRefusal(thrown)) return false;
  throw thrown;
}

/** A node may be a few blocks behind the one that we followed before. */
export function mustNotBeAhead(chainId: string, cursor: bigint, head: bigint): void {
  if (cursor < head + rpcLagBlocks) return;
  throw new ProviderError("AKP_CHAIN_CURSOR_AHEAD", { chainId, cursor, head });
}
