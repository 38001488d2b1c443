/** Scripted tenants for `npm start`: each plays one story after the other with real transactions. */
import type { Chain } from "../chain/chain.ts";
import type { Signer } from "../chain/keys/signer.ts";
import { closeDeployment } from "../chain/tx/messages.ts";
import { type SendDeps, sendMessages } from "../chain/tx/send.ts";
import { groupSummary } from "../market/group-spec.ts";
import { formatOrderId, type OrderId } from "../market/ids.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { type Service, untilAborted } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import { jitter, type Random } from "../runtime/random.ts";
import { playStory, type Story, type StoryDeps, type StoryEnd, type StoryStatus, storyEnds } from "./story.ts";
import { createDesk, type Proof } from "./tenant-desk.ts";
import type { Wish } from "./wishes.ts";

/** Stories that the live view can show; a terminal has room for about this many. */
export const demoStories = 16;

interface TenantsOptions extends Pick<SendDeps, "settings"> {
  /** One for each tenant. */
  readonly signers: readonly Signer[];
  /** The deployments they create, one after the other. */
  readonly wishes: readonly Wish[];
  /** Number of deployments of all tenants; unlimited if not given. */
  readonly stories?: number | undefined;
}

interface TenantsDeps {
  readonly chain: Promise<Pick<Chain, "chainId" | "provider" | "broadcaster" | "mirror" | "queries">>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface TenantsStatus {
  /** The newest stories, oldest first. */
  readonly stories: readonly StoryStatus[];
  readonly ended: Readonly<Record<StoryEnd, number>>;
  /** Requests to providers by kind of credentials. */
  readonly requests: Readonly<Record<Proof, number>>;
}

/** After a story that failed. */
const pauseMs = 1_000;

export function createTenantsService(
  { signers, wishes, settings, stories: most = Number.POSITIVE_INFINITY }: TenantsOptions,
  deps: TenantsDeps,
): Service<TenantsStatus> {
  const { clock, random, log } = deps;
  const stories: Story[] = [];
  const ended = Object.fromEntries(storyEnds.map((end) => [end, 0])) as Record<StoryEnd, number>;
  const requests: Record<Proof, number> = { token: 0, certificate: 0 };
  const onRequest = (proof: Proof) => {
    requests[proof] += 1;
  };
  let [begun, wished] = [0, 0];

  function begin(order: OrderId, { name, groups }: Wish): Story {
    const resources = groups.map(groupSummary).join(" + ");
    const nothingYet = { bids: 0, lease: undefined, namespace: undefined, manifest: undefined, error: undefined };
    const story = { order: formatOrderId(order), wish: name, resources, ...nothingYet, end: undefined };
    stories.push(story);
    if (stories.length > demoStories) stories.shift();
    return story;
  }

  async function live(number: number, storyDeps: StoryDeps): Promise<void> {
    const { sending, signal } = storyDeps;
    for (let round = 1; begun < most; round++) {
      begun += 1;
      const order = { owner: sending.signer.address, dseq: BigInt(number * 10_000 + round), gseq: 1, oseq: 1 };
      const wish = wishes[wished++ % wishes.length] as Wish;
      const story = begin(order, wish);
      try {
        story.end = await playStory(story, order, wish, storyDeps);
        ended[story.end] += 1;
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        // For instance after the laptop slept: this story has no end, another one takes its place.
        begun -= 1;
        log.error("tenant gave up on a deployment", { order: story.order, error: thrown });
        await sleep(clock, jitter(random, pauseMs), signal);
        await abandon(order, sending);
      }
    }
    await untilAborted(signal);
  }

  /** What it may have posted is closed, or its lease would be paid for until the money runs out. */
  async function abandon(order: OrderId, sending: SendDeps): Promise<void> {
    try {
      await sendMessages(sending, [closeDeployment(order)]);
    } catch (thrown) {
      log.info("tenant has no deployment to close", { order: formatOrderId(order), error: thrown });
    }
  }

  return {
    name: "tenants",
    async start(scope) {
      const chain = await deps.chain;
      const { chainId, broadcaster, queries } = chain;
      signers.forEach((signer, index) => {
        scope.task(`tenant ${index + 1}`, (signal) => {
          const sending = { chainId, chain: broadcaster, settings, clock, random, signer, signal };
          const desk = createDesk({ queries, sending, onRequest });
          return live(index + 1, { chain, desk, sending, clock, signal });
        });
      });
    },
    detail: () => `${signers.length} tenants: ${endsText(ended)}`,
    status: () => ({ stories, ended, requests }),
  };
}

/** "3 won, 2 lost, 1 no bids" */
export function endsText(ended: TenantsStatus["ended"]): string {
  return Object.entries(ended)
    .map(([end, count]) => `${count} ${end}`)
    .join(", ");
}
