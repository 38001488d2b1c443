/**
 * A provider that bids, in a process of its own, killed at a boundary if it is told one. Its chain is in the parent, and its
 * cluster is always the same picture. What became of all orders is told to the parent when nothing is left to do.
 */
import { createSimulatedCluster } from "../src/box/cluster/simulated-kube.ts";
import { createHttpTransport } from "../src/chain/comet/http-transport.ts";
import { createSigner } from "../src/chain/keys/signer.ts";
import type { OrderId } from "../src/market/ids.ts";
import type { Boundary } from "../src/runtime/boundary.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { type BidHistory, type Fate, lookBack, settled } from "./bid-history.ts";
import { startProvider } from "./bid-stage.ts";

export interface ChildTask {
  readonly dir: string;
  readonly rpcUrl: string;
  readonly secret: Uint8Array;
  readonly bidTimeoutMs: number;
  readonly orders: Readonly<Record<Fate, OrderId>>;
  /** The boundary to die at: a number counted from 1, or the first one that is called so. */
  readonly killAt?: number | RegExp;
}

const clock = realClock;
const lookMs = 20;

/** Block after block in which nothing happens is one boundary. */
const isCursor = (at: string) => at.startsWith("journal cursor commit");

process.once("message", (task: ChildTask) => void live(task));

async function live({ dir, rpcUrl, secret, bidTimeoutMs, orders, killAt }: ChildTask): Promise<void> {
  const cluster = createSimulatedCluster({ nodes: [] }, { clock, random: createSeededRandom(1), log: silentLog });
  const crossings: string[] = [];
  let last = "";
  const boundary: Boundary = {
    cross(kind, point) {
      const at = `${kind} ${point}`;
      const isIdle = isCursor(at) && isCursor(last);
      last = at;
      if (isIdle) return;
      crossings.push(at);
      if (killAt !== crossings.length && !(killAt instanceof RegExp && killAt.test(at))) return;
      process.kill(process.pid, "SIGKILL");
      // The signal arrives at once, but not before the next instruction.
      for (;;);
    },
  };
  const node = { transport: () => createHttpTransport({ url: rpcUrl }, clock) };
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
  await settled({ until, blocks }, provider);
  const end = await lookBack({ queries }, provider, orders);
  process.send?.({ ...end, faults: [], crossings, crashed: false } satisfies BidHistory);
  await started.stop();
  await cluster.close();
  process.disconnect();
}
