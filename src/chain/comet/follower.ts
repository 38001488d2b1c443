/** Follows the chain height by height without gaps. After a crash the last blocks come again: consumers must be idempotent. */
import { growingPauseMs } from "../../runtime/back-off.ts";
import { largest } from "../../runtime/bigint.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { rpcRetryFirstMs, rpcRetryMostMs } from "../../runtime/limits.ts";
import { createWakeSignal } from "../../runtime/wake-signal.ts";
import type { ChainBlock } from "../block.ts";
import type { Gap } from "../chain.ts";
import { isOfChain } from "../chain-failure.ts";
import { createBlockTime, createClockCheck } from "./block-times.ts";
import { type Fetching, fetchBlock, readAhead } from "./blocks.ts";
import { createGapJudge, hasRejection } from "./gap.ts";
import type { Pool, ReportedHead } from "./pool.ts";
import { type RpcLimits, rpcCallMs } from "./rpc-call.ts";
import { isNotYet, rpcLagBlocks } from "./rpc-node.ts";

/** A call on the way to the next block is given up after a block time, but never sooner than this. */
const rpcCallLeastMs = 500;
/** Blocks that are fetched at once to catch up: hides the way to a far node, and holds a few megabytes. */
const rpcReadAheadBlocks = 16;
/** The same in bytes of answers, for large blocks: as objects they take several times as much. */
const rpcReadAheadBytes = 16 * 1024 * 1024;
/** Block times without a new height after which another node is queried. */
const rpcStandStillBlocks = 3;
/** Bounds of the pause between two looks at the head, which is a third of a block time. */
const rpcPollLeastMs = 20;
const rpcPollMostMs = 2 * second;
/** A block that a node has announced may take this long before a warning: a full one takes seconds to execute. */
const rpcNotYetMs = 10 * second;

export interface Cursor {
  /** The last height that was processed; undefined on a chain never followed. */
  load(chainId: string): bigint | undefined;
  save(chainId: string, height: bigint): Promise<void>;
}

export interface BlockConsumer {
  /** `head` is how far the chain is. A failure of the chain's makes the block come again. */
  block(block: ChainBlock, head: bigint): Promise<unknown>;
  /** These blocks are lost: their changes must be read from the chain's lists. */
  gap(gap: Gap): Promise<unknown>;
}

interface FollowerDeps extends Pick<RuntimeDeps, "clock" | "log"> {
  readonly pool: Pool;
  readonly cursor: Cursor;
  readonly consumer: BlockConsumer;
}

const aheadBounds = { width: rpcReadAheadBlocks, bytes: rpcReadAheadBytes };

export class Follower {
  readonly #deps: FollowerDeps;
  readonly #blockTime = createBlockTime();
  readonly #pause: ReturnType<typeof createWakeSignal>;
  readonly #gaps: ReturnType<typeof createGapJudge>;
  readonly #clockCheck: ReturnType<typeof createClockCheck>;
  #reported: ReportedHead | undefined;
  #lastBlockAtMs = 0;
  #failuresInRow = 0;
  #reason: string | undefined;
  #loggedHaltAt: bigint | undefined;
  /** Since when the block after this height has been announced without results. */
  #notReady: { readonly height: bigint; readonly sinceMs: number } | undefined;
  height = 0n;
  readonly counts = {
    ...{ blocks: 0, events: 0, otherEvents: 0, malformedEvents: 0 },
    ...{ gaps: 0, standStills: 0, retries: 0 },
  };

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
    this.#pause = createWakeSignal(deps.clock);
    this.#gaps = createGapJudge(deps.pool, deps.clock);
    this.#clockCheck = createClockCheck(deps.clock, deps.log);
  }

  /** Follows until the signal; rejects when the cursor or the consumer fails. `start` is where a chain never followed begins. */
  async run(start: bigint, signal: AbortSignal): Promise<void> {
    const { pool, cursor: kept, clock } = this.#deps;
    const { chainId } = pool;
    const cursor = createCursorWriter(kept, chainId);
    const known = kept.load(chainId);
    this.height = known ?? start;
    this.#lastBlockAtMs = clock.monotonicMs();
    // Written at once: were we to die before the next block, the next start would begin later and miss some.
    if (known === undefined) cursor.moveTo(start);
    try {
      while (!signal.aborted) {
        try {
          await this.#poll(cursor, signal);
        } catch (thrown) {
          if (signal.aborted) break;
          if (!isOfChain(thrown)) throw thrown;
          if (this.#isExpectedSoon(thrown)) await this.#pause.wait(Math.min(this.#pollMs(), rpcRetryFirstMs), signal);
          else await this.#retryLater(thrown, signal);
        }
      }
    } finally {
      await cursor.flush();
    }
  }

  wake(): void {
    this.#pause.notify();
  }

  /** How far the chain is: what was served, or what most nodes report if that is more. */
  get head(): bigint | undefined {
    return this.#reported && largest(this.height, this.#reported.height);
  }

  get blockTimeMs(): number {
    return this.#blockTime.averageMs;
  }

  get reason(): string | undefined {
    return this.#reason ?? this.#clockCheck.doubt?.message;
  }

  /** A call may take a block time, and twice as long after each failure: large blocks come over slow lines. */
  #bounds(signal: AbortSignal, onBytes: (bytes: number) => void = () => undefined): RpcLimits {
    const timeoutMs = Math.max(this.blockTimeMs, rpcCallLeastMs) * 2 ** this.#failuresInRow;
    return { signal, onBytes, timeoutMs: Math.min(timeoutMs, rpcCallMs) };
  }

  #fetch(at: bigint, { signal, took }: Fetching): Promise<ChainBlock> {
    return fetchBlock(this.#deps.pool, at, this.#bounds(signal, took), this.#deps.clock);
  }

  async #poll(cursor: CursorWriter, signal: AbortSignal): Promise<void> {
    const { pool, clock } = this.#deps;
    const seen = await pool.head(this.#bounds(signal));
    this.#noteHead();
    if (seen.height > this.height) return this.#follow(seen.height, cursor, signal);
    mustNotBeAhead(pool.chainId, this.height, seen.height);
    this.#recovered();
    if (clock.monotonicMs() - this.#lastBlockAtMs > rpcStandStillBlocks * this.blockTimeMs)
      await this.#changeNode(signal);
    await this.#pause.wait(this.#pollMs(), signal);
  }

  #pollMs(): number {
    return Math.min(Math.max(this.blockTimeMs / 3, rpcPollLeastMs), rpcPollMostMs);
  }

  /** Kept while no node answers. */
  #noteHead(): void {
    const { agreed } = this.#deps.pool;
    if (!agreed || agreed.height === this.#reported?.height) return;
    // The first may be of long ago: the chain may stand still.
    if (this.#reported) this.#clockCheck.note(agreed.timeNs);
    this.#reported = agreed;
  }

  async #follow(to: bigint, cursor: CursorWriter, signal: AbortSignal): Promise<void> {
    /** The consumer's own failures must not be taken for a block that no node gives. */
    let isHandedOver = false;
    const fetch = (at: bigint, fetching: Fetching) => this.#fetch(at, fetching);
    try {
      for await (const block of readAhead(this.height + 1n, to, aheadBounds, fetch, signal)) {
        isHandedOver = true;
        await this.#handOver(block);
        this.height = block.height;
        cursor.moveTo(block.height);
        this.#recovered();
        // A replay may take long, and the head moves on meanwhile.
        this.#noteHead();
        isHandedOver = false;
      }
      this.#lastBlockAtMs = this.#deps.clock.monotonicMs();
    } catch (thrown) {
      if (isHandedOver || !isOfChain(thrown) || isNotYet(thrown)) throw thrown;
      const has = (at: bigint) => fetch(at, { signal, took: () => undefined }).then(() => true, isRejection);
      const gap = await this.#gaps.judge(this.height + 1n, thrown, has, signal);
      if (!gap) throw thrown;
      await this.#skip(gap, reasonOf(thrown), cursor);
    }
  }

  async #handOver(block: ChainBlock): Promise<void> {
    const { consumer, pool, log } = this.#deps;
    await consumer.block(block, this.head ?? block.height);
    pool.served(block);
    for (const error of block.malformed) log.error("cannot read an event of a block", { error });
    this.#blockTime.note(block.height, block.timeNs);
    this.counts.blocks += 1;
    this.counts.events += block.events.length;
    this.counts.otherEvents += block.otherEvents;
    this.counts.malformedEvents += block.malformed.length;
  }

  async #skip(gap: Gap, reason: string, cursor: CursorWriter): Promise<void> {
    const { consumer, log } = this.#deps;
    log.error("blocks lost", { error: new ProviderError("AKP_CHAIN_GAP", { ...gap, reason }) });
    await consumer.gap(gap);
    this.counts.gaps += 1;
    this.height = gap.to;
    cursor.moveTo(gap.to);
  }

  async #changeNode(signal: AbortSignal): Promise<void> {
    const { pool, clock, log } = this.#deps;
    const { height } = this;
    this.counts.standStills += 1;
    // A halted chain is logged once, not every few seconds.
    if (this.#loggedHaltAt !== height) {
      log.warn("no new block, probing other RPC nodes", { node: pool.preferred.name, height });
      this.#loggedHaltAt = height;
    }
    await pool.standsStill(this.#bounds(signal));
    this.#lastBlockAtMs = clock.monotonicMs();
  }

  #recovered(): void {
    if (this.#failuresInRow > 0) this.#deps.log.info("following the chain again", { height: this.height });
    this.#failuresInRow = 0;
    this.#reason = undefined;
  }

  /** A node announces a block before its results can be read, for as long as the block takes to execute. */
  #isExpectedSoon(thrown: unknown): boolean {
    if (!isNotYet(thrown)) return false;
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#notReady?.height !== this.height) this.#notReady = { height: this.height, sinceMs: nowMs };
    return nowMs - this.#notReady.sinceMs < rpcNotYetMs;
  }

  /** Logged once, then retried with exponential back-off. */
  async #retryLater(error: ProviderError, signal: AbortSignal): Promise<void> {
    if (this.#failuresInRow === 0)
      this.#deps.log.warn("cannot follow the chain, retrying", { error, height: this.height });
    this.#reason = reasonOf(error);
    this.counts.retries += 1;
    this.#failuresInRow += 1;
    await this.#pause.wait(growingPauseMs(rpcRetryFirstMs, rpcRetryMostMs, this.#failuresInRow), signal);
  }
}

export const createFollower = (deps: FollowerDeps) => new Follower(deps);

type CursorWriter = ReturnType<typeof createCursorWriter>;

/** Writes behind what was handed over, never ahead; after a power cut the last blocks come again. */
export function createCursorWriter(cursor: Cursor, chainId: string) {
  let moved = 0n;
  let saving = Promise.resolve();
  let failure: unknown;

  function save(): void {
    const setFailure = (thrown?: unknown) => {
      failure = thrown;
    };
    saving = cursor.save(chainId, moved).then(() => setFailure(), setFailure);
  }

  /** Another program holds the journal for an instant: nothing was written, and the next move tries again. */
  const isPassing = () => ProviderError.is(failure, "AKP_JOURNAL_BUSY");

  return {
    /** This height was handed over. Throws when an earlier move could not be written. */
    moveTo(height: bigint): void {
      if (failure && !isPassing()) throw failure;
      moved = height;
      save();
    },
    /** Resolves when all that was moved is written; throws when it could not be. */
    async flush(): Promise<void> {
      await saving;
      if (isPassing()) save();
      await saving;
      if (failure) throw failure;
    },
  };
}

/** False when nodes answered that they do not have it; any other failure says nothing and is thrown on. */
function isRejection(thrown: unknown): false {
  if (isOfChain(thrown) && hasRejection(thrown)) return false;
  throw thrown;
}

/** A node may be a few blocks behind the one that we followed before. */
export function mustNotBeAhead(chainId: string, cursor: bigint, head: bigint): void {
  if (cursor < head + rpcLagBlocks) return;
  throw new ProviderError("AKP_CHAIN_CURSOR_AHEAD", { chainId, cursor, head });
}
