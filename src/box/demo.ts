/**
 * Everything in one process: a chain in a box with scripted tenants on it, a simulated cluster, and a registered provider
 * that watches both.
 */

import { createHttpTransports } from "../chain/comet/http-transport.ts";
import { createSigner, type Signer } from "../chain/keys/signer.ts";
import { packMessage } from "../chain/tx/messages.ts";
import { createKubeService } from "../kube/kube-service.ts";
import { parseCoins, parseDecCoins } from "../market/coin.ts";
import { parseDecimal } from "../market/decimal.ts";
import { createInventoryService } from "../operators/inventory/inventory-service.ts";
import { createProvider, type Foundation, type Provider } from "../provider/provider.ts";
import type { Clock } from "../runtime/clock.ts";
import { invariant } from "../runtime/invariant.ts";
import { type Service, untilAborted } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import type { Random } from "../runtime/random.ts";
import { createEmbeddedNode } from "./chain/embedded-node.ts";
import { createDemoCluster, demoInventory } from "./demo-cluster.ts";
import { type StoryStatus, startTenants, type Tenants } from "./tenants.ts";

export interface DemoOptions {
  readonly dataDir: string;
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Demo extends Provider {
  readonly stories: readonly StoryStatus[];
  readonly storiesComplete: number;
}

/** Quick enough to watch, slow enough to follow. */
const blockMs = 500;
/** Four minutes of blocks: nobody asks for older ones, and the demo may run all day. */
const keepBlocks = 500;
const tenantCount = 3;
const purse = parseCoins("1000000000000uact,1000000000000uakt");
const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };

export function createDemo({ dataDir, version, clock, random, log }: DemoOptions): Demo {
  const provider = newSigner(random);
  const tenantSigners = Array.from({ length: tenantCount }, () => newSigner(random));
  const node = createEmbeddedNode({
    chainId: "akash-demo-1",
    accounts: [provider, ...tenantSigners].map(({ address }) => ({ address, coins: purse })),
    clock,
    log: log.with({ module: "node" }),
    blockMs,
    keepBlocks,
  });
  const cluster = createDemoCluster({ clock, random, log: log.with({ module: "cluster" }) });
  let tenants: Tenants | undefined;

  const nodePart: Service = {
    name: "node",
    async start(scope) {
      scope.onStop(() => node.stop());
      await node.start();
      scope.task("blocks", (signal) => Promise.race([untilAborted(signal), node.failed]));
    },
    detail: () => `${node.rpcUrl}, gRPC ${node.grpcUrl}`,
  };

  const clusterPart: Service = {
    name: "cluster",
    start: (scope) => scope.onStop(() => cluster.close()),
    detail: () => `simulated, ${cluster.counts.requests} requests, ${cluster.counts.watching} watches`,
  };

  const registrationPart = (foundation: Foundation): Service => ({
    name: "registration",
    async start() {
      const { outbox } = foundation.chain;
      const entry = {
        owner: provider.address,
        hostUri: "https://provider.example.com:8443",
        attributes: [{ key: "region", value: "box" }],
        info: { email: "", website: "" },
      };
      const message = packMessage("createProvider", entry);
      const id = await outbox.file({ subject: provider.address, why: "demo", message, priority: "account" });
      const { state, result } = await outbox.wait(id);
      invariant(state === "done", "the demo's provider could not be registered", { result });
    },
    detail: () => provider.address,
  });

  const tenantsPart = (foundation: Foundation): Service => ({
    name: "tenants",
    start(scope) {
      const { chain: follow } = foundation;
      const deps = { chainId: node.chainId, chain: follow.broadcaster, settings: fees, clock, random, log, follow };
      tenants = startTenants({ ...deps, signers: tenantSigners }, scope);
    },
    detail: () => `${tenantCount} tenants, ${tenants?.complete ?? 0} deployments from beginning to end`,
  });

  const running = createProvider({
    dataDir,
    metricsListener: { host: "127.0.0.1", port: 0 },
    before: [nodePart, clusterPart],
    chain: { nodes: () => createHttpTransports([{ url: node.rpcUrl }], clock), signer: provider, settings: fees },
    after: (foundation) => [
      createKubeService(() => cluster.connect("akash-operator-inventory"), foundation),
      createInventoryService(() => ({ ...demoInventory, version }), foundation),
      registrationPart(foundation),
      tenantsPart(foundation),
    ],
    clock,
    random,
    log,
  });
  return {
    ...running,
    get stories() {
      return tenants?.stories ?? [];
    },
    get storiesComplete() {
      return tenants?.complete ?? 0;
    },
  };
}

function newSigner(random: Random): Signer {
  return createSigner(random.bytes(32));
}
