/** The provider's side of the chain: it follows the blocks, mirrors what concerns us, and sends what we decided. */
import type { Bus } from "../bus/bus.ts";
import type { Chain } from "../chain/chain.ts";
import { createCometChain } from "../chain/comet/comet-chain.ts";
import type { EndpointOptions } from "../chain/comet/endpoint.ts";
import { showEvent } from "../chain/comet/event-text.ts";
import type { Signer } from "../chain/keys/signer.ts";
import type { Broadcaster } from "../chain/outbox/broadcaster.ts";
import { createCometBroadcaster } from "../chain/outbox/comet-broadcaster.ts";
import { createOutbox, type Outbox, troubleOf } from "../chain/outbox/outbox.ts";
import type { SendSettings } from "../chain/outbox/preparation.ts";
import type { Journal } from "../journal/journal.ts";
import type { Clock } from "../runtime/clock.ts";
import { invariant } from "../runtime/invariant.ts";
import type { Scope } from "../runtime/lifecycle.ts";
import { limits } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Random } from "../runtime/random.ts";
import { announce } from "./announce.ts";
import { measureChain, measureOutbox } from "./measures.ts";
import type { ChainView } from "./status.ts";

export interface ChainLinkOptions {
  /** Asked at start, since the node of the demo knows its port only then. */
  readonly endpoints: () => readonly EndpointOptions[];
  readonly chainId?: string;
  readonly signer: Signer;
  readonly settings: SendSettings;
}

export interface ChainLinkDeps {
  readonly journal: Journal;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface ChainLink {
  start(scope: Scope): Promise<void>;
  readonly chain: Chain;
  readonly broadcaster: Broadcaster;
  /** There once the link has started. */
  readonly outbox: Outbox;
  measure(metrics: Metrics): void;
  detail(): string;
  view(): ChainView;
}

export function createChainLink(options: ChainLinkOptions, deps: ChainLinkDeps): ChainLink {
  const { journal, bus, clock, random, log } = deps;
  const { signer, chainId, settings } = options;
  const chain = createCometChain({
    endpoints: options.endpoints(),
    ...(chainId !== undefined && { chainId }),
    provider: signer.address,
    journal,
    clock,
    random,
    log,
  });
  const broadcaster = createCometBroadcaster(chain.pool);
  const lastEvents: string[] = [];
  let outbox: Outbox | undefined;
  let lastView: ChainView | undefined;
  announce(chain, bus);
  chain.onStep(async (step) => {
    const { block, gap } = step;
    // The cursor moves past what the outbox would never see.
    invariant(outbox || !(block || gap), "the outbox is there before blocks are followed");
    await outbox?.onStep(step);
    if (!block) return undefined;
    for (const { event } of block.events.slice(-limits.viewEvents))
      lastEvents.push(`${block.height} ${showEvent(event)}`);
    lastEvents.splice(0, lastEvents.length - limits.viewEvents);
    return undefined;
  });

  function lookNow(): ChainView {
    const { chainId = "", head, trouble } = chain.status;
    const { owed = 0, done = 0, failed = 0 } = outbox?.counts ?? {};
    return {
      chainId,
      height: chain.height,
      head,
      orders: sizeOf(chain.mirror.orders()),
      bids: sizeOf(chain.mirror.bids()),
      leases: sizeOf(chain.mirror.leases()),
      owed,
      landed: done,
      failed,
      trouble: trouble ?? (outbox && troubleOf(outbox.state)),
      events: lastEvents,
    };
  }

  return {
    async start(scope) {
      await chain.service.start(scope);
      const own = createOutbox({ chainId: chain.chainId, signer, chain: broadcaster, journal, clock, log, settings });
      outbox = own;
      scope.task("outbox", own.run);
      // Whoever asks after the end gets the last word; the journal is closed by then.
      scope.onStop(() => {
        lastView = lookNow();
      });
    },
    chain,
    broadcaster,
    get outbox() {
      if (!outbox) throw new Error("the outbox is not open yet");
      return outbox;
    },
    measure(metrics) {
      measureChain(metrics, chain);
      if (outbox) measureOutbox(metrics, outbox);
    },
    detail() {
      const { trouble, nodes } = chain.status;
      const ours = outbox && troubleOf(outbox.state);
      return ours ?? trouble ?? `${chain.chainId}, block ${chain.height}, ${nodes.length} node(s)`;
    },
    view: () => lastView ?? lookNow(),
  };
}

function sizeOf(items: Iterable<unknown>): number {
  let size = 0;
  for (const _ of items) size += 1;
  return size;
}
