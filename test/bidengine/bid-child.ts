/**
 * A provider that bids, in a process of its own, killed at a boundary if it is given one. Its chain is in the parent, and its
 * cluster is always the same snapshot. It ends when nothing is left to do but for some open bids, and reports what became of all.
 */
import { createSimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { createNodeTransport } from "../../src/chain/comet/http-transport.ts";
import { createSigner } from "../../src/chain/keys/signer.ts";
import type { OrderId } from "../../src/market/ids.ts";
import { realClock, sleep } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createKillingBoundary, type KillPoint } from "../support/boundary-kinds.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { startProvider } from "../support/stages/bid-stage.ts";
import { type BidHistory, type Fate, lookBack, settled } from "./bid-history.ts";

export interface ChildTask {
  readonly dir: string;
  readonly rpcUrl: string;
  readonly secret: Uint8Array;
  readonly bidTimeoutMs: number;
  /** By how much its time of day is ahead. */
  readonly aheadMs: number;
  readonly orders: Readonly<Record<Fate, OrderId>>;
  /** How many bids are open when it ends. */
  readonly openBids: number;
  readonly killAt?: KillPoint;
}

const lookMs = 20;

process.once("message", (task: ChildTask) => void live(task));

async function live({
  dir,
  rpcUrl,
  secret,
  bidTimeoutMs,
  aheadMs,
  orders,
  openBids,
  killAt,
}: ChildTask): Promise<void> {
  const clock = { ...realClock, now: () => realClock.now() + aheadMs };
  const cluster = createSimulatedCluster({ nodes: [] }, { clock, random: createSeededRandom(1), log: silentLog });
  const boundary = createKillingBoundary(killAt);
  const node = { transport: () => createNodeTransport({ url: rpcUrl }, clock) };
  const signer = createSigner(secret);
  const started = startProvider({ clock, node, cluster, dir, signer, boundary, options: { bidTimeoutMs } });
  const provider = await started.ready;
  process.send?.("ready");
  const { mirror, queries } = provider.chain;
  const until = async (_: string, isSo: () => boolean | Promise<boolean>) => {
    while (!(await isSo())) await sleep(clock, lookMs);
  };
  const blocks = async (count: number) => {
    const wanted = mirror.height + BigInt(count);
    await until("blocks", () => mirror.height >= wanted);
  };
  await settled({ until, blocks }, provider, openBids);
  const end = await lookBack({ queries }, provider, orders);
  await started.stop();
  await cluster.close();
  process.send?.({ ...end, faults: [], crossings: boundary.crossings, crashed: false } satisfies BidHistory);
  process.disconnect();
}
