/** A chain over RPC with its mirror, running, and every step that it tells. */
import { join } from "node:path";
import type { Step, StepListener } from "../../../src/chain/chain.ts";
import { cursorIn } from "../../../src/chain/chain-service.ts";
import { type CometChain, createCometChain } from "../../../src/chain/comet/comet-chain.ts";
import { createHttpTransports } from "../../../src/chain/comet/http-transport.ts";
import { openJournal } from "../../../src/journal/open.ts";
import type { BidId, DeploymentId, OrderId } from "../../../src/market/ids.ts";
import { type Clock, realClock } from "../../../src/runtime/clock.ts";
import { createLifecycle, type Scope, type Service } from "../../../src/runtime/lifecycle.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { eventually } from "../eventually.ts";
import { memoryFolder } from "../folder.ts";
import { type MarketChain, providerAddress, tenantAddress } from "../market-chain.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";

export interface Watched {
  readonly chain: CometChain;
  readonly steps: readonly Step[];
  /** Rejects when the service failed. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export interface WatchOptions {
  readonly dir?: string;
  readonly urls?: readonly string[];
  readonly clock?: Clock;
  readonly listener?: StepListener;
}

export async function watch(t: Owner, market: MarketChain, options: WatchOptions = {}): Promise<Watched> {
  const { dir = memoryFolder(t), urls = [market.node.rpcUrl] } = options;
  const { journal } = await openJournal({ dir: join(dir, "journal"), clock: realClock, log: silentLog });
  const chain = createCometChain({
    nodes: createHttpTransports(
      urls.map((url) => ({ url })),
      realClock,
    ),
    provider: providerAddress,
    cursor: cursorIn(journal),
    clock: options.clock ?? realClock,
    random: createSeededRandom(1),
    log: silentLog,
  });
  const steps: Step[] = [];
  chain.onStep((step) => void steps.push(step));
  if (options.listener) chain.onStep(options.listener);
  const stopping = new AbortController();
  const lifecycle = createLifecycle({ services: [serviceOf(chain)], clock: realClock, log: silentLog });
  const ended = lifecycle.run(stopping.signal);
  async function stop(): Promise<void> {
    stopping.abort();
    try {
      await ended;
    } finally {
      await journal.close();
    }
  }
  t.after(stop);
  await Promise.race([ended, eventually("the mirror", () => chain.mirror.ready)]);
  return { chain, steps, ended, stop };
}

export function serviceOf({ open, follow }: CometChain): Service {
  async function start(scope: Scope): Promise<void> {
    await open(scope);
    follow(scope);
  }
  return { name: "chain", waitsForOthers: true, start };
}

export const deployment = (dseq: bigint): DeploymentId => ({ owner: tenantAddress, dseq });
export const order = (dseq: bigint): OrderId => ({ ...deployment(dseq), gseq: 1, oseq: 1 });
export const bid = (dseq: bigint, provider = providerAddress): BidId => ({ ...order(dseq), provider, bseq: 0 });

export async function upToDate({ chain }: Watched, { node }: MarketChain): Promise<void> {
  await eventually("the newest block", () => chain.height === node.height && chain.mirror.height === node.height);
}

/** The reported keys, as "kind id". */
export function changedKeys(steps: readonly Step[]): string[] {
  return steps.flatMap(({ changed }) => changed.map(({ kind, key }) => `${kind} ${key}`));
}
