/**
 * The world of the balance checker: a chain on which a tenant has deployments in two denominations, another provider that
 * is paid out of the same accounts, and a provider of ours that lives there once or several times on one journal. It has
 * no cluster: it bids on every order that is not meant for the other, and takes a bid back that nobody wants.
 */
import type { Block } from "../../../src/box/chain/node/block-store.ts";
import type { Node } from "../../../src/box/chain/node/node.ts";
import type { Coin } from "../../../src/market/coin.ts";
import { type Clock, realClock, sleep, type Timer } from "../../../src/runtime/clock.ts";
import { advanceUntilSettled } from "../advance-until-settled.ts";
import { createDeployment, deposit, spec, unit } from "../market-messages.ts";
import { deploymentOf, type MoneyChain, openMoneyChain, us } from "../money-chain.ts";
import { type Life, type LifeParts, startLife } from "../money-life.ts";
import { createOwner } from "../owner.ts";
import { createVirtualClock } from "../virtual-clock.ts";
import type { Message } from "./market-stage.ts";

const patienceMs = 3_600_000;

interface Pace {
  readonly clock: Clock;
  readonly blockMs: number;
  readonly lookMs: number;
  readonly listens: boolean;
}

export interface MoneyStage extends MoneyChain {
  readonly clock: Clock;
  /** Our balances before the provider's start. */
  readonly initialBalance: readonly Coin[];
  /** All since then. */
  readonly blocks: readonly Block[];
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** Until so many more blocks are made. */
  pass(count: number): Promise<void>;
  /** No more blocks. */
  freeze(): void;
  live(parts: LifeParts): Life;
}

export async function onMoneyStage(blockMs: number, play: (stage: MoneyStage) => Promise<void>): Promise<void> {
  const clock = createVirtualClock();
  const pace = { clock, blockMs, lookMs: blockMs, listens: false };
  await advanceUntilSettled(clock, setUp(pace, play), 365 * 86_400_000);
}

/** In real time, for providers that are processes of their own. */
export async function onRealMoneyStage(blockMs: number, play: (stage: MoneyStage) => Promise<void>): Promise<void> {
  await setUp({ clock: realClock, blockMs, lookMs: 20, listens: true }, play);
}

async function setUp(pace: Pace, play: (stage: MoneyStage) => Promise<void>): Promise<void> {
  await using owner = createOwner();
  const { clock, blockMs, lookMs } = pace;
  const chain = await openMoneyChain(owner, pace);
  const { node, queries } = chain;
  let blockTimer: Timer | undefined;
  const makeBlocks = () => {
    blockTimer = clock.timer(blockMs, () => {
      makeBlocks();
      node.step();
    });
  };
  makeBlocks();
  owner.after(() => blockTimer?.cancel());
  const blocks: Block[] = [];
  const lives: Life[] = [];
  owner.after(async () => {
    for (const life of lives) await life.stop().catch(() => undefined);
  });
  node.onBlock((block) => void blocks.push(block));
  await play({
    ...chain,
    clock,
    initialBalance: (await queries.balances(us)).items,
    blocks,
    async until(what, isSo) {
      const limitMs = clock.now() + patienceMs;
      while (!(await isSo())) {
        if (clock.now() > limitMs) throw new Error(`waited in vain: ${what}`);
        await sleep(clock, lookMs);
      }
    },
    async pass(count) {
      for (let made = 0; made < count; made++) await nextBlock(node);
    },
    freeze: () => blockTimer?.cancel(),
    live(parts) {
      const life = startLife({ clock, transport: () => node.transport(), ...parts });
      lives.push(life);
      return life;
    },
  });
}

/** Whoever waits for it comes before our provider, which has to ask for the block first. */
function nextBlock(node: Node): Promise<void> {
  return new Promise((resolve) => {
    const end = node.onBlock(() => {
      end();
      resolve();
    });
  });
}

export interface Wish {
  readonly dseq: bigint;
  readonly denom: string;
  readonly funds: bigint;
  /** Of each group what it pays per block, and who may bid on it. */
  readonly groups: readonly { readonly rate: string; readonly name: "ours" | "theirs" | "anybody's" }[];
}

export function deploymentMessage({ dseq, denom, funds, groups }: Wish): Message {
  return createDeployment({
    id: deploymentOf(dseq),
    groups: groups.map(({ rate, name }, index) =>
      spec({ name: `${name}-${index + 1}`, resources: [unit(1, rate, denom)] }),
    ),
    deposit: deposit(funds, denom),
  });
}
