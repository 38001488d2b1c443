/** A running outbox before the embedded chain, with faults on the way between them. */
import type { Block } from "../../src/box/chain/node/block-store.ts";
import type { SettledResult } from "../../src/chain/chain.ts";
import { isAnswer } from "../../src/chain/comet/rpc-node.ts";
import { createOutbox, type OutboxLoop, type OutboxOptions, outboxBatchMs } from "../../src/chain/outbox/outbox.ts";
import { type Broadcaster, type BroadcastReach, type Receipt, rpcCodespace } from "../../src/chain/tx/broadcaster.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { openJournal } from "../../src/journal/open.ts";
import { parseDecCoins } from "../../src/market/coin.ts";
import { parseDecimal } from "../../src/market/decimal.ts";
import type { OrderId } from "../../src/market/ids.ts";
import type { Boundary } from "../../src/runtime/boundary.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { memoryFolder } from "./folder.ts";
import type { Owner } from "./owner.ts";
import {
  bidOn,
  chainId,
  createOutboxStage,
  followedBlock,
  type OutboxStage,
  providerSigner,
  type StageOptions,
} from "./stages/outbox-stage.ts";
import { createVirtualClock, type VirtualClock } from "./virtual-clock.ts";

export const sendSettings = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };

/** What may happen to a broadcast. Either way the sender cannot tell which it was. */
export type Mishap = (typeof mishaps)[number] | undefined;
export const mishaps = [
  "lost on the way",
  "taken, but the answer is lost",
  "taken, but forgotten",
  "taken, but late",
] as const;

export interface Faults {
  /** What happens to the next broadcast, which goes to one node or to all. */
  mishap: (reach: BroadcastReach) => Mishap;
  /** A factor on the gas that simulations tell. */
  gasFactor: number;
  beforeSimulation: () => Promise<void>;
  beforeAccount: () => void;
  /** Error of the next simulation, if any. */
  simulationError: (tx: Uint8Array) => string | undefined;
  /** Error of every node's RPC for a transaction, before it reaches the application. */
  rpcError: (tx: Uint8Array) => string | undefined;
  /** What becomes of blocks on their way to the outbox: handed over, lost for good, or not followed at all. */
  blocks: "followed" | "lost" | "unfollowed";
  /** No node that answers has the blocks that could hold a transaction. */
  shortHistory: boolean;
  /** What nodes say when they are asked for a transaction that they have: nothing, when their index is stuck. */
  stuckIndex: boolean;
  /** Nobody answers. */
  silent: boolean;
}

export interface OutboxRun {
  readonly clock: VirtualClock;
  readonly stage: OutboxStage;
  readonly faults: Faults;
  readonly dir: string;
  readonly journal: Journal;
  readonly outbox: OutboxLoop;
  /** The outbox ended by itself. */
  readonly crashed: boolean;
  /** A block, which the outbox is told about and works on. */
  block(afterMs?: number): Promise<Block>;
  blocks(count: number, afterMs?: number): Promise<void>;
  /** Lets the outbox work on what there is. */
  settle(): Promise<void>;
  /** Ends outbox and journal in order. */
  stop(): Promise<void>;
  /** Ends both and starts them anew on the same journal and chain. */
  restart(): Promise<OutboxRun>;
}

export interface RunOptions {
  readonly dir: string;
  readonly stage?: Omit<StageOptions, "clock">;
  readonly outbox?: Partial<OutboxOptions>;
}

export function noFaults(): Faults {
  return {
    mishap: () => undefined,
    gasFactor: 1,
    beforeSimulation: async () => undefined,
    beforeAccount: () => undefined,
    simulationError: () => undefined,
    rpcError: () => undefined,
    blocks: "followed",
    shortHistory: false,
    stuckIndex: false,
    silent: false,
  };
}

export async function startOutbox(owner: Owner, options: Omit<RunOptions, "dir"> = {}): Promise<OutboxRun> {
  const dir = memoryFolder(owner);
  const clock = createVirtualClock();
  const stage = await createOutboxStage({ clock, ...options.stage });
  return runOutbox(owner, { clock, stage, faults: noFaults() }, { dir, ...options });
}

type World = Pick<OutboxRun, "clock" | "stage" | "faults">;

/** On a world that is there already. A boundary that crashes ends the run; what is left is looked at by the next one. */
export async function runOutbox(
  owner: Owner,
  world: World,
  { dir, outbox: more, boundary }: RunOptions & { readonly boundary?: Boundary },
): Promise<OutboxRun> {
  const { clock, stage, faults } = world;
  const log = silentLog;
  const { journal } = await openJournal({ dir, clock, log, ...(boundary && { boundary }) });
  const { store } = stage.chain;
  // As a follower does that begins here.
  if (faults.blocks !== "unfollowed" && journal.read.cursor.get(chainId) === undefined) {
    await moveCursor(store.height).catch(async (thrown: unknown) => {
      await journal.close().catch(() => undefined);
      throw thrown;
    });
  }
  const chain = withFaults(stage, faults);
  const options = { chainId, signer: providerSigner, chain, journal, clock, log, settings: sendSettings, ...more };
  const outbox = createOutbox({ ...options, ...(boundary && { boundary }) });
  const abort = new AbortController();
  let crash: unknown;
  const running = outbox.run(abort.signal).catch((thrown: unknown) => {
    crash = thrown;
  });
  let stopped: Promise<void> | undefined;

  async function moveCursor(height: bigint): Promise<void> {
    await journal.durable("cursor", ({ cursor }) => cursor.set(chainId, height));
  }

  /** What a follower does with every block after the cursor. */
  async function follow(): Promise<void> {
    const from = (journal.read.cursor.get(chainId) ?? 0n) + 1n;
    if (faults.blocks === "lost") {
      await outbox.onStep({ gap: { from, to: store.height } });
      await moveCursor(store.height);
    }
    for (let height = from; faults.blocks === "followed" && height <= store.height; height += 1n) {
      const block = store.at(height);
      if (block) await outbox.onStep({ block: followedBlock(block) });
      await moveCursor(height);
    }
  }

  async function block(afterMs?: number): Promise<Block> {
    const made = await stage.step(afterMs);
    await follow();
    // Where blocks are not handed over it would look only at its next poll.
    if (faults.blocks !== "followed") {
      outbox.wake();
      await clock.advance(outboxBatchMs);
    }
    await clock.settle();
    return made;
  }

  async function end(): Promise<void> {
    abort.abort();
    await running;
    await journal.close().catch((thrown: unknown) => {
      crash ??= thrown;
    });
    if (crash !== undefined && !boundary) throw crash;
  }

  const stop = () => {
    stopped ??= end();
    return stopped;
  };
  owner.after(stop);

  return {
    ...world,
    dir,
    journal,
    outbox,
    get crashed() {
      return crash !== undefined;
    },
    block,
    async blocks(count, afterMs) {
      for (let made = 0; made < count; made++) await block(afterMs);
    },
    async settle() {
      await follow();
      // Longer than intents wait for others.
      await clock.advance(100);
    },
    stop,
    async restart() {
      await stop();
      return runOutbox(owner, world, { dir, ...(more && { outbox: more }) });
    },
  };
}

export async function fileBids({ outbox }: OutboxRun, orders: readonly OrderId[]): Promise<number[]> {
  return Promise.all(orders.map((order) => outbox.file(bidOn(order))));
}

export function statesOf({ journal }: OutboxRun, ids: readonly number[]): string[] {
  return ids.map((id) => journal.read.intents.get(id)?.state ?? "gone");
}

/** The stamp of the transaction that carries the intent now. */
export function stampOf({ journal: { read } }: OutboxRun, id: number): bigint | undefined {
  const hash = read.intents.get(id)?.txHash;
  return read.transactions.all().find((tx) => tx.hash === hash)?.timeoutNs;
}

export async function resultsOf({ outbox }: OutboxRun, ids: readonly number[]): Promise<SettledResult[]> {
  return (await Promise.all(ids.map(outbox.wait))).map(({ result }) => result);
}

/** Blocks until nothing is owed any more. */
export async function settleAll(run: OutboxRun): Promise<void> {
  for (let blocks = 0; run.outbox.counts.owed > 0 && blocks < 40; blocks++) await run.block();
}

export const all = (count: number, state: string) => Array.from({ length: count }, () => state);

/** More than it takes until a transaction is handed over again. */
const lateBlocks = 3;

function withFaults({ broadcaster: chain, delay }: OutboxStage, faults: Faults): Broadcaster {
  return {
    ...chain,
    async head() {
      if (faults.silent) throw unreachable("no route to host");
      return chain.head();
    },
    async account(...args) {
      faults.beforeAccount();
      return chain.account(...args);
    },
    async simulate(...args) {
      await faults.beforeSimulation();
      const log = faults.simulationError(args[0]);
      if (log !== undefined) return { kind: "refused", log };
      const answer = await chain.simulate(...args);
      if (answer.kind === "refused") return answer;
      return { ...answer, gasUsed: BigInt(Math.floor(Number(answer.gasUsed) * faults.gasFactor)) };
    },
    async broadcast(tx, reach = "one"): Promise<Receipt> {
      const log = faults.rpcError(tx);
      if (log !== undefined && !isAnswer("broadcast_tx_sync", log)) {
        throw new ProviderError("AKP_CHAIN_CALL_REFUSED", { node: "node 1", method: "broadcast_tx_sync", reason: log });
      }
      if (log !== undefined) return { kind: "refused", code: -32603, codespace: rpcCodespace, log };
      const mishap = faults.mishap(reach);
      if (mishap === "lost on the way") throw unreachable("connection reset");
      if (mishap === "taken, but late") delay(tx, lateBlocks);
      if (mishap === "taken, but forgotten" || mishap === "taken, but late") return { kind: "taken" };
      const receipt = await chain.broadcast(tx);
      if (mishap === "taken, but the answer is lost") throw unreachable("connection reset");
      return receipt;
    },
    async findTx(hash, ...more) {
      if (faults.stuckIndex) return undefined;
      if (!faults.shortHistory) return chain.findTx(hash, ...more);
      throw new ProviderError("AKP_TX_UNPROVEN", { hash, height: more[1] ?? 0n, reasons: "no node has that block" });
    },
  };
}

export function unreachable(reason: string): ProviderError {
  return new ProviderError("AKP_CHAIN_UNREACHABLE", { node: "node 1", reason });
}
