/**
 * Scripted tenants for `npm start`. Each posts a deployment, waits a few blocks for bids, leases from the cheapest bidder,
 * keeps the lease for a while and closes, over and over, with real transactions; providers see them as they would see
 * anybody. One deployment from beginning to end is a story.
 */
import type { Chain } from "../chain/chain.ts";
import type { Signer } from "../chain/keys/signer.ts";
import type { Bid } from "../chain/records.ts";
import { type SendDeps, sendMessages } from "../chain/tx/send.ts";
import { closeDeployment, createDeployment, createLease } from "../chain/tx/tenant-messages.ts";
import { askedFor } from "../market/asked-for.ts";
import { type DecCoin, parseCoin } from "../market/coin.ts";
import { compareDecimals } from "../market/decimal.ts";
import { formatOrderId, type OrderId } from "../market/ids.ts";
import { manifestHash } from "../market/manifest.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import { limits } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import { jitter, type Random } from "../runtime/random.ts";
import type { Wish } from "./wishes.ts";

interface TenantsOptions extends Pick<SendDeps, "settings"> {
  /** One for each tenant. */
  readonly signers: readonly Signer[];
  /** What they ask for, one after the other. */
  readonly wishes: readonly Wish[];
}

interface TenantsGround {
  readonly chain: Promise<Pick<Chain, "chainId" | "provider" | "broadcaster" | "mirror" | "queries">>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** How a story ended for the provider of the demo: with the lease, outbid, without a bid of it, or without any. */
type StoryEnd = "won" | "lost" | "elsewhere" | "no bids";

export interface StoryDocument {
  readonly order: string;
  readonly wish: string;
  readonly asked: string;
  readonly bids: number;
  /** Who has the lease, and for how much a block. */
  readonly lease: { readonly provider: string; readonly price: DecCoin } | undefined;
  readonly end: StoryEnd | undefined;
}

export interface TenantsDocument {
  /** The newest stories, oldest first. */
  readonly stories: readonly StoryDocument[];
  readonly ended: Readonly<Record<StoryEnd, number>>;
}

/** What the leases of a deployment are paid from: hours of the dearest one. */
const deposit = parseCoin("20000000uact");
/** A provider needs one block to hear of an order and one for its bid; the others are for a machine that is busy. */
const blocksForBids = 4n;
/** Long enough for a person to see it. */
const leasedBlocks = 8n;
/** After a story that had to be given up. */
const pauseMs = 1_000;

type Story = { -readonly [Key in keyof StoryDocument]: StoryDocument[Key] };

export function createTenantsService(
  { signers, wishes, settings }: TenantsOptions,
  ground: TenantsGround,
): Service<TenantsDocument> {
  const { clock, random, log } = ground;
  const stories: Story[] = [];
  const ended: Record<StoryEnd, number> = { won: 0, lost: 0, elsewhere: 0, "no bids": 0 };
  let told = 0;

  function begin(order: OrderId, { name, groups }: Wish): Story {
    const asked = groups.map(askedFor).join(" + ");
    const story = { order: formatOrderId(order), wish: name, asked, bids: 0, lease: undefined, end: undefined };
    stories.push(story);
    if (stories.length > limits.demoStories) stories.shift();
    return story;
  }

  async function live(deps: SendDeps, number: number, signal: AbortSignal): Promise<void> {
    for (let round = 1; ; round++) {
      const order = { owner: deps.signer.address, dseq: BigInt(number * 10_000 + round), gseq: 1, oseq: 1 };
      const wish = wishes[told++ % wishes.length] as Wish;
      const story = begin(order, wish);
      try {
        story.end = await tell(story, order, wish, deps, signal);
        ended[story.end] += 1;
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        // For instance after the laptop slept: this story has no end, the next one may.
        log.error("tenant gave up on a deployment", { order: story.order, error: thrown });
        await sleep(clock, jitter(random, pauseMs), signal);
      }
    }
  }

  async function tell(
    story: Story,
    order: OrderId,
    { groups, manifest }: Wish,
    deps: SendDeps,
    signal: AbortSignal,
  ): Promise<StoryEnd> {
    const { mirror, queries, provider } = await ground.chain;
    const hash = manifestHash(manifest);
    const posted = await sendMessages(deps, [createDeployment({ id: order, groups, hash, deposit })]);
    await mirror.reached(posted.height + blocksForBids, signal);
    const { items } = await queries.bids({ ...order, state: "open" }, { atOrAbove: mirror.height, signal });
    story.bids = items.length;
    const [best] = [...items].sort(byPrice);
    if (best) {
      const leased = await sendMessages(deps, [createLease(best.id)]);
      story.lease = { provider: best.id.provider, price: best.price };
      await mirror.reached(leased.height + leasedBlocks, signal);
    }
    await sendMessages(deps, [closeDeployment(order)]);
    if (!best) return "no bids";
    if (best.id.provider === provider) return "won";
    return items.some(({ id }) => id.provider === provider) ? "lost" : "elsewhere";
  }

  return {
    name: "tenants",
    async start(scope) {
      const { chainId, broadcaster } = await ground.chain;
      signers.forEach((signer, index) => {
        scope.task(`tenant ${index + 1}`, (signal) => {
          const deps = { chainId, chain: broadcaster, settings, clock, random, signer, signal };
          return live(deps, index + 1, signal);
        });
      });
    },
    detail: () => `${signers.length} tenants: ${endsText(ended)}`,
    status: () => ({ stories, ended }),
  };
}

/** "3 won, 2 lost, 1 no bids" */
export function endsText(ended: TenantsDocument["ended"]): string {
  return Object.entries(ended)
    .map(([end, count]) => `${count} ${end}`)
    .join(", ");
}

function byPrice(left: Bid, right: Bid): number {
  return compareDecimals(left.price.amount, right.price.amount);
}
