/** The chain over CometBFT RPC: nodes, follower, mirror and wake-up put together. */
import type { Address } from "../../market/address.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { largest } from "../../runtime/bigint.ts";
import { exitCodes } from "../../runtime/catalogue.ts";
import { nsToMs, sleep } from "../../runtime/clock.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import { rpcRetryFirstMs, rpcRetryMostMs } from "../../runtime/limits.ts";
import { jitter } from "../../runtime/random.ts";
import type { ChainBlock } from "../block.ts";
import type { Chain, Gap, MirrorKey, Step, StepListener } from "../chain.ts";
import { isOfChain } from "../chain-failure.ts";
import { type Cursor, createFollower, type Follower, mustNotBeAhead } from "./follower.ts";
import { createMirror, type Mirror } from "./mirror/mirror.ts";
import { createPool, type Pool, unlessAborted } from "./pool.ts";
import { createQueries } from "./queries/queries.ts";
import { isUsable } from "./rpc-node.ts";
import type { RpcTransport } from "./transport.ts";
import { createWakeup } from "./wakeup.ts";

/** How often the mirror is compared with the chain's lists. */
export const rpcMirrorRelistMs = 10 * minute;

interface CometChainOptions extends RuntimeDeps {
  readonly nodes: readonly RpcTransport[];
  readonly chainId?: string;
  readonly provider: Address;
  readonly cursor: Cursor;
}

/** All of the chain but what sends. */
export interface CometChain extends Omit<Chain, "outbox" | "broadcaster"> {
  /** Resolves when the mirror was built; waits for nodes that are away. */
  open(scope: Scope): Promise<void>;
  /** Follows the blocks after the mirror from here on: a listener added before misses nothing. */
  follow(scope: Scope): void;
  /** For other calls to the nodes: simulating, sending and finding transactions. */
  readonly pool: Pool;
  readonly counts: {
    readonly follower: Readonly<Follower["counts"]>;
    readonly mirror: Readonly<Mirror["counts"]>;
  };
}

export function createCometChain(options: CometChainOptions): CometChain {
  const { provider, cursor, clock, random, log } = options;
  const pool = createPool(options);
  const queries = createQueries(pool);
  const mirror = createMirror({ queries, provider, log });
  const steps = createSteps(mirror);
  const follower = createFollower({ ...options, pool, consumer: steps });
  const wakeup = createWakeup({ ...options, node: () => pool.preferred, wake: () => follower.wake() });
  pool.onSwitch(wakeup.moveOn);
  let chainId: string | undefined;
  let resumedAt: bigint | undefined;
  /** Until the start is over. */
  let startError: string | undefined = "no RPC node has answered yet";

  async function comparePeriodically(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(clock, jitter(random, rpcMirrorRelistMs), signal);
      try {
        await steps.compare(signal);
      } catch (thrown) {
        if (signal.aborted || !isTransient(thrown)) throw thrown;
        log.warn("cannot compare the mirror with the chain, retrying later", { error: thrown });
      }
    }
  }

  async function openOnce(signal: AbortSignal): Promise<void> {
    await pool.open(signal);
    chainId = pool.chainId;
    resumedAt = cursor.load(chainId);
    const known = resumedAt ?? 0n;
    const reported = pool.nodes.filter(isUsable).flatMap(({ height }) => height ?? []);
    mustNotBeAhead(chainId, known, largest(0n, ...reported));
    await mirror.build(known, signal);
    pool.served(mirror);
  }

  return {
    /** Nodes that are away at our start come back; logged once, and in the status for as long as it lasts. */
    async open({ signal, onStop }) {
      onStop(() => pool.close());
      for (let tries = 1; ; tries += 1) {
        try {
          await openOnce(signal);
          if (tries > 1) log.info("chain is readable, the start continues", { tries });
          startError = undefined;
          return;
        } catch (thrown) {
          if (signal.aborted || !isOfChain(thrown) || thrown.entry.exit === exitCodes.settings) throw thrown;
          if (tries === 1) log.warn("cannot read the chain, the start waits", { error: thrown });
          startError = thrown.message;
        }
        await sleep(clock, growingPauseMs(rpcRetryFirstMs, rpcRetryMostMs, tries), signal);
      }
    },
    follow({ task }) {
      task("nodes", (signal) => pool.run(signal));
      task("follower", (signal) => follower.run(mirror.height, signal));
      task("wake-up", wakeup.run);
      task("mirror", (signal) => comparePeriodically(signal).catch(unlessAborted(signal)));
    },
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
    get resumedAt() {
      return resumedAt;
    },
    get status() {
      const { head, blockTimeMs } = follower;
      const mirrorAgeMs = mirror.ready ? clock.now() - nsToMs(mirror.timeNs) : undefined;
      const reason = startError ?? follower.reason;
      return { chainId, nodes: pool.nodes, head, blockTimeMs, mirrorAgeMs, reason };
    },
    compareMirror: steps.compare,
    onStep: steps.onStep,
    counts: { follower: follower.counts, mirror: mirror.counts },
  };
}

/** Errors of nodes, and a journal that another program holds for an instant. */
function isTransient(thrown: unknown): boolean {
  return isOfChain(thrown) || ProviderError.is(thrown, "AKP_JOURNAL_BUSY");
}

/** Steps along the chain, one at a time. The mirror finds a change once, so its key is owed until every listener took it. */
export function createSteps(mirror: Pick<Mirror, "apply" | "build" | "compare">) {
  const listeners: StepListener[] = [];
  const owed = new Map<string, MirrorKey>();
  let turn: Promise<unknown> = Promise.resolve();

  function take(make: () => Promise<Step>): Promise<readonly MirrorKey[]> {
    const mine = turn.then(async () => {
      const step = await make();
      if (step.block || step.gap || step.changed.length > 0) await notify(step);
      return step.changed;
    });
    turn = mine.catch(() => undefined);
    return mine;
  }

  async function notify(step: Step): Promise<void> {
    for (const each of step.changed) owed.set(`${each.kind} ${each.key}`, each);
    const whole = { ...step, changed: [...owed.values()] };
    for (const listener of listeners) await listener(whole);
    owed.clear();
  }

  return {
    onStep: (listener: StepListener) => void listeners.push(listener),
    block: (block: ChainBlock, head: bigint) => take(async () => ({ block, changed: await mirror.apply(block, head) })),
    gap: (gap: Gap) => take(async () => ({ gap, changed: await mirror.build(gap.to) })),
    /** Compares the mirror with the chain's lists and corrects it; gives what differed. */
    compare: (signal?: AbortSignal) => take(async () => ({ changed: await mirror.compare(signal) })),
  };
}
