/**
 * Scripted tenants for `npm start`. Each creates a deployment, funds it, updates it and closes it, over and over, with
 * real transactions; the provider sees them as it would see anybody. One deployment from beginning to end is a story.
 */
import { createHash } from "node:crypto";
import type { Chain, Step } from "../chain/chain.ts";
import type { Signer } from "../chain/keys/signer.ts";
import type { PackedMessage } from "../chain/tx/messages.ts";
import { type SendDeps, sendMessages } from "../chain/tx/send.ts";
import { closeDeployment, createDeployment, fundDeployment, updateDeployment } from "../chain/tx/tenant-messages.ts";
import { parseCoin } from "../market/coin.ts";
import { decimalOf } from "../market/decimal.ts";
import type { GroupSpec } from "../market/group-spec.ts";
import { type DeploymentId, formatDeploymentId } from "../market/ids.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import { limits } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import { jitter, type Random } from "../runtime/random.ts";

interface TenantsOptions extends Pick<SendDeps, "settings"> {
  /** One for each tenant. */
  readonly signers: readonly Signer[];
}

interface TenantsGround {
  readonly chain: Promise<Pick<Chain, "chainId" | "broadcaster" | "onStep">>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A deployment of the demo on its way, with the stations it has passed and when. */
interface StoryStatus {
  readonly deployment: string;
  readonly stations: readonly { readonly name: string; readonly atMs: number }[];
  readonly complete: boolean;
}

export interface TenantsDocument {
  /** The newest stories, oldest first. */
  readonly stories: readonly StoryStatus[];
  readonly complete: number;
}

/** What an order asks for and may cost; small enough that any node could take it. */
const deposit = parseCoin("5000000uact");
const topUp = parseCoin("1000000uact");
/** Long enough for a person to see each step. */
const pauseMs = 800;

interface Story {
  readonly deployment: string;
  readonly stations: { name: string; atMs: number }[];
  complete: boolean;
}

export function createTenantsService(
  { signers, settings }: TenantsOptions,
  ground: TenantsGround,
): Service<TenantsDocument> {
  const { clock, random, log } = ground;
  const stories = new Map<string, Story>();
  let complete = 0;

  function pass(id: DeploymentId, name: string): Story {
    const deployment = formatDeploymentId(id);
    const story = stories.get(deployment) ?? { deployment, stations: [], complete: false };
    story.stations.push({ name, atMs: clock.now() });
    stories.set(deployment, story);
    const [oldest = ""] = stories.keys();
    if (stories.size > limits.demoStories) stories.delete(oldest);
    return story;
  }

  /** What the provider sees of them, by the same way as everything else. */
  function watch({ block }: Step): undefined {
    for (const { event } of block?.events ?? []) {
      if (event.kind === "OrderCreated") pass(event.id, "order seen");
      if (event.kind === "DeploymentClosed") {
        pass(event.id, "end seen").complete = true;
        complete += 1;
      }
    }
    return undefined;
  }

  async function live(
    number: number,
    signer: Signer,
    send: (message: PackedMessage) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    for (let round = 1; ; round++) {
      const id = { owner: signer.address, dseq: BigInt(number * 10_000 + round) };
      try {
        await tell(id, send, signal);
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        // For instance after the laptop slept: this story has no end, the next one may.
        log.error("tenant gave up on a deployment", { deployment: formatDeploymentId(id), error: thrown });
        await sleep(clock, jitter(random, pauseMs), signal);
      }
    }
  }

  async function tell(id: DeploymentId, send: (message: PackedMessage) => Promise<unknown>, signal: AbortSignal) {
    const pause = () => sleep(clock, jitter(random, pauseMs), signal);
    pass(id, "posted");
    await send(createDeployment({ id, groups: [groupFor(random)], hash: hashOf(id, 1), deposit }));
    await pause();
    await send(fundDeployment(id, topUp));
    pass(id, "funded");
    await pause();
    await send(updateDeployment(id, hashOf(id, 2)));
    pass(id, "updated");
    await pause();
    await send(closeDeployment(id));
  }

  return {
    name: "tenants",
    async start(scope) {
      const { chainId, broadcaster, onStep } = await ground.chain;
      onStep(watch);
      signers.forEach((signer, index) => {
        scope.task(`tenant ${index + 1}`, (signal) => {
          const deps = { chainId, chain: broadcaster, settings, clock, random, signer, signal };
          return live(index + 1, signer, (message) => sendMessages(deps, [message]), signal);
        });
      });
    },
    detail: () => `${signers.length} tenants, ${complete} deployments from beginning to end`,
    status: () => ({ stories: [...stories.values()], complete }),
  };
}

/** Stands for the hash of a manifest, which nobody sends in the demo yet. */
function hashOf(id: DeploymentId, version: number): Uint8Array {
  return createHash("sha256")
    .update(`${formatDeploymentId(id)} ${version}`)
    .digest();
}

function groupFor(random: Random): GroupSpec {
  const bytes = 128n * (1n + BigInt(random.int(32))) * 2n ** 20n;
  const unit = {
    id: 1,
    cpu: { milli: 100n * (1n + BigInt(random.int(40))), attributes: [] },
    gpu: { count: 0n, attributes: [] },
    memory: { bytes, attributes: [] },
    storage: [{ name: "default", bytes, attributes: [] }],
    endpoints: [{ kind: "shared-http" as const, sequenceNumber: 0 }],
    count: 1 + random.int(3),
    price: { denom: deposit.denom, amount: decimalOf(1_000n + BigInt(random.int(9_000))) },
  };
  const requirements = { attributes: [{ key: "region", value: "box" }], allOf: [], anyOf: [] };
  return { name: "web", requirements, units: [unit] };
}
