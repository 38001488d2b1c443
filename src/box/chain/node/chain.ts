/** The chain itself: blocks one after the other, recorded before they are made and announced once they are. */
import { largest } from "../../../runtime/bigint.ts";
import { type Clock, msToNs, type Timer } from "../../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { invariant } from "../../../runtime/invariant.ts";
import type { App, BlockInput } from "../abci.ts";
import { type Block, type BlockStore, createBlockStore } from "./block-store.ts";
import { makeBlock } from "./blocks.ts";
import { createMempool, type Mempool, type MempoolBounds, mempoolBounds } from "./mempool.ts";
import { upperHex } from "./merkle.ts";
import { type ChainFile, type Origin, openChainFile, type RecordedBlock } from "./persistence.ts";
import { createValidator, type Validator } from "./validator.ts";

/** Blocks in memory: over five hours of 1 s blocks, under 2 KB each while nothing happens. */
const chainBlocksKept = 20_000;
/** Recorded blocks replayed at start before yielding to the event loop. */
const chainReplaySliceBlocks = 256;

export interface ChainOptions {
  readonly app: App;
  /** Sets the time of blocks, and when the next one is due. */
  readonly clock: Clock;
  /** Where the chain survives a restart; without it the chain ends with the process. */
  readonly file?: string;
  /** What the application was built from, as JSON: shown as genesis and kept in the file. */
  readonly genesis?: Partial<Pick<Origin, "timeNs" | "initialHeight" | "state">>;
  readonly keepBlocks?: number;
  readonly mempool?: Partial<MempoolBounds>;
  /** How long after its block a transaction can be found; 0, which is also the default, is with it. */
  readonly indexMs?: number;
}

export interface BoxChain {
  readonly app: App;
  readonly store: BlockStore;
  readonly mempool: Mempool;
  readonly validator: Validator;
  /** Known once the chain is open. */
  readonly origin: Origin;
  /** Comes back to where the file says the chain was. */
  open(): Promise<void>;
  /** The next block, with what waits in the mempool. */
  step(): Block;
  onBlock(listener: (block: Block) => void): () => void;
  close(): void;
}

/** Time goes on from block to block, even when the clock was set back; CometBFT adds as much. */
const leastBlockNs = 1_000_000n;

export function createChain(options: ChainOptions): BoxChain {
  const { app, clock, file: path, indexMs = 0 } = options;
  const validator = createValidator(app.chainId);
  const store = createBlockStore(options.keepBlocks ?? chainBlocksKept);
  const mempool = createMempool(app, { ...mempoolBounds, ...options.mempool });
  const indexing = new Set<Timer>();
  const listeners = new Set<(block: Block) => void>();
  let origin: Origin = {
    chainId: app.chainId,
    timeNs: options.genesis?.timeNs ?? nowNs(),
    initialHeight: options.genesis?.initialHeight ?? 1n,
    appHash: upperHex(app.appHash),
    state: options.genesis?.state ?? {},
  };
  let file: ChainFile | undefined;
  let isOpen = false;
  let broken: { readonly reason: unknown } | undefined;

  function nowNs(): bigint {
    return msToNs(clock.now());
  }

  /** An application that threw in the middle of a block has an undefined state. */
  function make(input: BlockInput): Block {
    try {
      const block = makeBlock(app, validator, store.latest, input);
      store.add(block);
      return block;
    } catch (thrown) {
      broken = { reason: thrown };
      throw thrown;
    }
  }

  function nextHeight(): bigint {
    return app.height === 0n ? origin.initialHeight : app.height + 1n;
  }

  /** CometBFT writes its index after it publishes the block event, so an immediate query returns "not found". */
  function indexLater(block: Block): void {
    const timer = clock.timer(indexMs, () => {
      indexing.delete(timer);
      store.index(block);
    });
    indexing.add(timer);
  }

  async function replay(from: ChainFile, at: string): Promise<void> {
    for (const recorded of from.blocks()) {
      const height = nextHeight();
      const reason = remake(recorded, height);
      if (reason !== undefined) throw new ProviderError("AKP_CHAIN_REPLAY_DIVERGED", { path: at, height, reason });
      if (height % BigInt(chainReplaySliceBlocks) === 0n) await clock.yield();
    }
  }

  /** Why the recorded block cannot be the one to come, if it cannot. */
  function remake(recorded: RecordedBlock, height: bigint): string | undefined {
    if (recorded.height !== height) return `the record is of block ${recorded.height}`;
    if (!Buffer.from(app.appHash).equals(recorded.appHash)) return "the state before it is another one";
    try {
      store.index(make(recorded));
      return undefined;
    } catch (thrown) {
      return reasonOf(thrown);
    }
  }

  return {
    app,
    store,
    mempool,
    validator,
    get origin() {
      return origin;
    },
    async open() {
      if (path !== undefined) {
        file = openChainFile(path, origin);
        origin = file.origin;
        await replay(file, path);
      }
      isOpen = true;
    },
    step() {
      invariant(isOpen, "blocks are made between open and close");
      if (broken) throw broken.reason;
      const earliest = (store.latest?.header.timeNs ?? origin.timeNs) + leastBlockNs;
      const input = { height: nextHeight(), timeNs: largest(nowNs(), earliest), txs: mempool.nextBlock() };
      file?.append({ ...input, appHash: app.appHash });
      const block = make(input);
      mempool.settle(block);
      if (indexMs > 0) indexLater(block);
      else store.index(block);
      for (const listener of [...listeners]) listener(block);
      return block;
    },
    onBlock(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      isOpen = false;
      for (const timer of indexing) timer.cancel();
      file?.close();
      file = undefined;
    },
  };
}
