/** A running outbox before the embedded chain, with faults on the way between them. */

import type { Block } from "../src/chain/embedded/node/block-store.ts";
import { type Broadcaster, type Receipt, rpcCodespace } from "../src/chain/outbox/broadcaster.ts";
import { createOutbox, type Outbox, type OutboxOptions } from "../src/chain/outbox/outbox.ts";
import type { Journal } from "../src/journal/journal.ts";
import { openJournal } from "../src/journal/open.ts";
import { parseDecCoins } from "../src/market/coin.ts";
import { parseDecimal } from "../src/market/decimal.ts";
import type { Boundary } from "../src/runtime/boundary.ts";
import { createVirtualClock, type VirtualClock } from "../src/runtime/clock.ts";
import { ProviderError } from "../src/runtime/errors.ts";
import { silentLog } from "../src/runtime/log.ts";
import { chainId, createOutboxStage, type OutboxStage, providerSigner, type StageOptions } from "./outbox-stage.ts";
import type { Owner } from "./owner.ts";

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
  /** What happens to the next broadcast. */
  mishap: () => Mishap;
  /** A factor on the gas that simulations tell. */
  gasFactor: number;
  beforeSimulation: () => Promise<void>;
  /** What a node says against the next simulation, right or wrong. */
  refusal: () => string | undefined;
  /** What every node's RPC says against a transaction, before the application sees it. */
  rpcRefusal: (tx: Uint8Array) => string | undefined;
  /** No node that answers has the blocks that could hold a transaction. */
  shortHistory: boolean;
  /** Nobody answers. */
  silent: boolean;
}

export interface OutboxRun {
  readonly clock: VirtualClock;
  readonly stage: OutboxStage;
  readonly faults: Faults;
  readonly dir: string;
  readonly journal: Journal;
  readonly outbox: Outbox;
  /** The outbox ended by itself. */
  readonly crashed: boolean;
  /** A block, which the outbox is told about and works on. */
  block(afterMs?: number): Promise<Block>;
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
    refusal: () => undefined,
    rpcRefusal: () => undefined,
    shortHistory: false,
    silent: false,
  };
}

export async function startOutbox(owner: Owner, options: RunOptions): Promise<OutboxRun> {
  const clock = createVirtualClock();
  const stage = await createOutboxStage({ clock, ...options.stage });
  return runOutbox(owner, { clock, stage, faults: noFaults() }, options);
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
  const chain = withFaults(stage, faults);
  const options = { chainId, signer: providerSigner, chain, journal, clock, log, settings: sendSettings, ...more };
  const outbox = createOutbox({ ...options, ...(boundary && { boundary }) });
  const abort = new AbortController();
  let crash: unknown;
  const running = outbox.run(abort.signal).catch((thrown: unknown) => {
    crash = thrown;
  });
  let stopped: Promise<void> | undefined;

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
    async block(afterMs) {
      const made = await stage.step(afterMs);
      outbox.onBlock(made.header.height, made.header.timeNs);
      await clock.settle();
      return made;
    },
    // Longer than intents wait for company.
    settle: () => clock.advance(100),
    stop,
    async restart() {
      await stop();
      return runOutbox(owner, world, { dir, ...(more && { outbox: more }) });
    },
  };
}

/** More than it takes until a transaction is handed over again. */
const lateBlocks = 3;

function withFaults({ broadcaster: chain, delay }: OutboxStage, faults: Faults): Broadcaster {
  return {
    ...chain,
    async head() {
      if (faults.silent) throw new Error("no route to host");
      return chain.head();
    },
    async simulate(...args) {
      await faults.beforeSimulation();
      const log = faults.refusal();
      if (log !== undefined) return { kind: "refused", log };
      const answer = await chain.simulate(...args);
      if (answer.kind === "refused") return answer;
      return { ...answer, gasUsed: BigInt(Math.floor(Number(answer.gasUsed) * faults.gasFactor)) };
    },
    async broadcast(tx): Promise<Receipt> {
      const log = faults.rpcRefusal(tx);
      if (log !== undefined) return { kind: "refused", code: -32603, codespace: rpcCodespace, log };
      const mishap = faults.mishap();
      if (mishap === "lost on the way") throw new Error("connection reset");
      if (mishap === "taken, but late") delay(tx, lateBlocks);
      if (mishap === "taken, but forgotten" || mishap === "taken, but late") return { kind: "taken" };
      const receipt = await chain.broadcast(tx);
      if (mishap === "taken, but the answer is lost") throw new Error("connection reset");
      return receipt;
    },
    async findTx(hash, ...more) {
      if (!faults.shortHistory) return chain.findTx(hash, ...more);
      throw new ProviderError("AKP_TX_UNPROVEN", { hash, height: more[1] ?? 0n, reasons: "no node has that block" });
    },
  };
}
