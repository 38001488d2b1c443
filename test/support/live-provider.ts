/** A provider that bids on a chain of its own in real time, to be asked by commands in a process of their own. */
import { join } from "node:path";
import { after } from "node:test";
import { createEmbeddedNode } from "../../src/box/chain/embedded-node.ts";
import { createSimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { createPool } from "../../src/chain/comet/pool.ts";
import { createSigner } from "../../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../../src/chain/tx/comet-broadcaster.ts";
import { createDeployment, createLease, type PackedMessage, packMessage } from "../../src/chain/tx/messages.ts";
import { sendMessages } from "../../src/chain/tx/send.ts";
import { readDefinitions } from "../../src/kube/definitions.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { parseCoin, parseCoins, parseDecCoins } from "../../src/market/coin.ts";
import { parseDecimal } from "../../src/market/decimal.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";
import { type BidId, formatOrderId } from "../../src/market/ids.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { type CommandResult, createCommandRunner } from "./command-runner.ts";
import { eventually } from "./eventually.ts";
import { memoryFolder } from "./folder.ts";
import type { Owner } from "./owner.ts";
import { createSeededRandom } from "./seeded-random.ts";
import { type BiddingProvider, startProvider } from "./stages/bid-stage.ts";

export interface LiveProvider {
  readonly dataDir: string;
  readonly tenant: string;
  /** The one that runs now. */
  readonly running: BiddingProvider;
  /** Posts a deployment; resolves with the ids of its orders when they were decided on. */
  post(dseq: bigint, ...groups: GroupSpec[]): Promise<string[]>;
  accept(bid: BidId): Promise<void>;
  stop(): Promise<void>;
  restart(): Promise<void>;
}

const blockMs = 100;
const purse = parseCoins("1000000000000uact,1000000000000uakt");
const settings = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };

export async function startLiveProvider(owner: Owner): Promise<LiveProvider> {
  const random = createSeededRandom(7);
  const [provider, tenant] = [createSigner(random.bytes(32)), createSigner(random.bytes(32))];
  const dataDir = join(memoryFolder(owner), "data");
  const deps = { clock: realClock, random, log: silentLog };
  const accounts = [provider, tenant].map(({ address }) => ({ address, coins: purse }));
  const node = createEmbeddedNode({ chainId: "asked-1", accounts, ...deps, listens: false, blockMs });
  owner.after(() => node.stop());
  await node.start();
  const pool = createPool({ nodes: [node.transport("the tenant's")], ...deps });
  owner.after(() => pool.close());
  await pool.open();
  const chain = createCometBroadcaster(pool);
  const send = async (signer: typeof tenant, message: PackedMessage) => {
    await sendMessages({ chainId: node.chainId, chain, signer, settings, ...deps }, [message]);
  };
  const entry = { owner: provider.address, hostUri: "https://p.example.com:8443", attributes: [], info: undefined };
  await send(provider, packMessage("createProvider", entry));
  const cluster = createSimulatedCluster({ nodes: [] }, deps);
  for (const definition of readDefinitions())
    cluster.server.create(kinds.customResourceDefinition, definition, "install");
  cluster.server.create(kinds.namespace, { metadata: { name: "lease" } }, "install");
  const start = () => startProvider({ clock: realClock, node, cluster, dir: dataDir, signer: provider, control: true });
  let process = start();
  let running = await process.ready;
  owner.after(() => process.stop());
  return {
    dataDir,
    tenant: tenant.address,
    get running() {
      return running;
    },
    async post(dseq, ...groups) {
      const id = { owner: tenant.address, dseq };
      const deposit = parseCoin("5000000uact");
      await send(tenant, createDeployment({ id, groups, hash: new Uint8Array(32).fill(1), deposit }));
      const orders = groups.map((_, at) => formatOrderId({ ...id, gseq: at + 1, oseq: 1 }));
      const isDecided = (key: string) => running.engine.why(key)[0]?.verdict !== undefined;
      await eventually("they are decided on", () => orders.every(isDecided));
      return orders;
    },
    accept: (bid) => send(tenant, createLease(bid)),
    stop: () => process.stop(),
    async restart() {
      await process.stop();
      process = start();
      running = await process.ready;
    },
  };
}

const giveCommand = createCommandRunner({ after });

/** Gives a command and waits for its end. */
export function runCommand(...args: readonly string[]): Promise<CommandResult> {
  return giveCommand(args);
}
