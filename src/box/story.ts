/**
 * One deployment of a scripted tenant from beginning to end: it is posted, bids come, the cheapest bidder gets the lease.
 * Where that is the provider of the demo, a manifest is sent, pods come up, some are updated, and when the lease is closed
 * all of it goes.
 */
import type { Chain } from "../chain/chain.ts";
import type { Bid } from "../chain/records.ts";
import { closeDeployment, createDeployment, createLease, updateDeployment } from "../chain/tx/messages.ts";
import { type SendDeps, sendMessages } from "../chain/tx/send.ts";
import { type Coin, type DecCoin, parseCoin } from "../market/coin.ts";
import { compareDecimals } from "../market/decimal.ts";
import type { BidId, OrderId } from "../market/ids.ts";
import { leaseNamespace } from "../market/lease-namespace.ts";
import { type Manifest, manifestHash } from "../market/manifest.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { Desk, LeaseAnswer, LeaseDesk } from "./tenant-desk.ts";
import type { Wish } from "./wishes.ts";

/**
 * How a story ended for the provider of the demo: it ran what it had won; it was outbid, did not bid, or there were no bids; it
 * rejected the manifest, or none came in time; it ran what it had won until the escrow ran out.
 */
export const storyEnds = ["won", "lost", "elsewhere", "no bids", "rejected", "no manifest", "out of funds"] as const;
export type StoryEnd = (typeof storyEnds)[number];

export interface StoryStatus {
  readonly order: string;
  readonly wish: string;
  readonly resources: string;
  readonly bids: number;
  /** The lease's provider and price per block. */
  readonly lease: { readonly provider: string; readonly price: DecCoin } | undefined;
  /** Namespace of the lease, if the demo's provider won it. */
  readonly namespace: string | undefined;
  /** The provider's answer to the manifest: accepted, updated, or the reason of the rejection. */
  readonly manifest: string | undefined;
  /** The image error that the provider reported. */
  readonly error: string | undefined;
  readonly end: StoryEnd | undefined;
}

export type Story = { -readonly [Key in keyof StoryStatus]: StoryStatus[Key] };

export interface StoryDeps {
  readonly chain: Pick<Chain, "provider" | "mirror" | "queries">;
  /** The tenant's only access to a provider. */
  readonly desk: Desk;
  readonly sending: SendDeps;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Escrow deposits: hours of the dearest lease, or half a minute at most. */
export const deposits: Record<Wish["funds"], Coin> = {
  plenty: parseCoin("20000000uact"),
  least: parseCoin("500000uact"),
};
/** A provider needs one block to see an order and one for its bid; the others are for a busy machine. */
const blocksForBids = 4n;
/** Long enough for a viewer to see it. */
const leasedBlocks = 8n;
const lookMs = 200;
/** More than pod start or namespace deletion takes on a busy machine. */
const waitLimitMs = 60_000;

export async function playStory(story: Story, order: OrderId, wish: Wish, deps: StoryDeps): Promise<StoryEnd> {
  const { chain, sending, signal } = deps;
  const { mirror, queries, provider } = chain;
  const hash = manifestHash(wish.manifest);
  const deposit = deposits[wish.funds];
  const posted = await sendMessages(sending, [createDeployment({ id: order, groups: wish.groups, hash, deposit })]);
  await mirror.reached(posted.height + blocksForBids, signal);
  const { items } = await queries.bids({ ...order, state: "open" }, { atOrAbove: mirror.height, signal });
  story.bids = items.length;
  const [best] = [...items].sort(byPrice);
  if (!best) {
    await sendMessages(sending, [closeDeployment(order)]);
    return "no bids";
  }
  const leased = await sendMessages(sending, [createLease(best.id)]);
  story.lease = { provider: best.id.provider, price: best.price };
  if (best.id.provider === provider) return runWon(story, best.id, wish, deps);
  await mirror.reached(leased.height + leasedBlocks, signal);
  await sendMessages(sending, [closeDeployment(order)]);
  return items.some(({ id }) => id.provider === provider) ? "lost" : "elsewhere";
}

/** Plays the tenant of a lease that the demo's provider has won. */
async function runWon(story: Story, lease: BidId, wish: Wish, deps: StoryDeps): Promise<StoryEnd> {
  const { chain, sending, signal } = deps;
  const { mirror } = chain;
  story.namespace = leaseNamespace(lease);
  const desk = await deps.desk.open(lease, wish.proof);
  try {
    const end = await use(story, lease, wish, desk, deps);
    if (end === "won") await mirror.reached(mirror.height + leasedBlocks, signal);
    // Without money it is closed already.
    if (end !== "out of funds") await sendMessages(sending, [closeDeployment(lease)]);
    await until("nothing runs for it any more", deps, async () => (await desk.status()) === "gone");
    return end;
  } finally {
    desk.close();
  }
}

async function use(story: Story, lease: BidId, wish: Wish, desk: LeaseDesk, deps: StoryDeps): Promise<StoryEnd> {
  const { chain, sending } = deps;
  const isOver = () => chain.mirror.lease(lease)?.state !== "active";
  // A wallet may be quicker than the provider's own node.
  await until("the lease is known", deps, () => !isOver());
  if (wish.sends === "nothing") {
    await until("the lease is closed", deps, isOver);
    return "no manifest";
  }
  const sent = wish.sends === "lie" ? withOtherImage(wish.manifest) : wish.manifest;
  const rejection = await rejectionOf(desk.sendManifest(sent));
  story.manifest = rejection === undefined ? "accepted" : `rejected: ${rejection}`;
  if (rejection !== undefined) return "rejected";
  if (wish.misspelt) await until("its image error is reported", deps, async () => hasError(story, await desk.status()));
  // On a busy machine the least deposit may be spent before they are.
  else {
    const isEnough = async () => isUp(await desk.status()) || (wish.funds === "least" && isOver());
    await until("its replicas are ready", deps, isEnough);
  }
  if (wish.update) {
    const { manifest } = wish.update;
    const before = await desk.status();
    const { height } = await sendMessages(sending, [updateDeployment(lease, manifestHash(manifest))]);
    await chain.mirror.reached(height, deps.signal);
    await desk.sendManifest(manifest);
    story.manifest = "updated";
    await until("its new replicas are ready", deps, async () => isUp(await desk.status(), before));
  }
  if (wish.funds !== "least") return "won";
  // Without money the provider has to end the lease.
  await until("its lease is closed for want of money", deps, isOver);
  const { value } = await chain.queries.lease(lease, { atOrAbove: chain.mirror.height, signal: deps.signal });
  if (value?.state !== "insufficient_funds") throw new Error(`a lease without money ended as ${value?.state}`);
  return "out of funds";
}

/** Whether all replicas are ready, of newer generations than those `before` the update. */
function isUp(answer: LeaseAnswer, before?: LeaseAnswer): boolean {
  if (typeof answer === "string") return false;
  const services = Object.entries(answer.services);
  const seen = typeof before === "object" ? before.services : {};
  return (
    services.length > 0 &&
    services.every(([name, { total, observed_generation: generation, updated_replicas, ready_replicas }]) => {
      const isNew = generation > (seen[name]?.observed_generation ?? 0);
      return isNew && total > 0 && updated_replicas === total && ready_replicas === total;
    })
  );
}

/** Stores the image error that the provider reports to the tenant. */
function hasError(story: Story, answer: LeaseAnswer): boolean {
  const errors = typeof answer === "object" ? (answer.errors ?? []) : [];
  story.error = errors.find((text) => text.includes("ImageError"));
  return story.error !== undefined;
}

/** The provider's reason for rejecting the manifest, or undefined. */
async function rejectionOf(submitted: Promise<void>): Promise<string | undefined> {
  try {
    await submitted;
    return undefined;
  } catch (thrown) {
    if (!ProviderError.is(thrown, "AKP_PROVIDER_REFUSED")) throw thrown;
    return String(thrown.details["body"]);
  }
}

/** Does not match the hash on the chain. */
function withOtherImage(manifest: Manifest): Manifest {
  const other = (image: string) => image.replace("example/", "elsewhere/");
  return manifest.map((group) => ({
    ...group,
    services: group.services.map((service) => ({ ...service, image: other(service.image) })),
  }));
}

async function until(what: string, { clock, signal }: StoryDeps, isSo: () => boolean | Promise<boolean>) {
  const limitMs = clock.now() + waitLimitMs;
  while (!(await isSo())) {
    if (clock.now() > limitMs) throw new Error(`a tenant waited ${waitLimitMs} ms for: ${what}`);
    await sleep(clock, lookMs, signal);
  }
}

function byPrice(left: Bid, right: Bid): number {
  return compareDecimals(left.price.amount, right.price.amount);
}
