/**
 * Everything in one process: the provider as it is, before it a chain in a box and a simulated cluster, after it the
 * inventory and scripted tenants.
 */
import { createHttpTransports } from "../chain/comet/http-transport.ts";
import { createSigner } from "../chain/keys/signer.ts";
import { createKubeService } from "../kube/kube-service.ts";
import { parseCoins, parseDecCoins } from "../market/coin.ts";
import { parseDecimal } from "../market/decimal.ts";
import type { ClusterView } from "../operators/inventory/cluster-view.ts";
import { createInventoryService } from "../operators/inventory/inventory-service.ts";
import { createProvider, type Provider, type ProviderStatus } from "../provider/provider.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import type { Random } from "../runtime/random.ts";
import { createEmbeddedNode } from "./chain/embedded-node.ts";
import { createClusterService, createDemoCluster, demoInventory } from "./demo-cluster.ts";
import { createNodeService } from "./node-service.ts";
import { createRegistrationService } from "./registration-service.ts";
import { createTenantsService, type TenantsDocument } from "./tenants-service.ts";

interface DemoOptions {
  readonly dataDir: string;
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Demo extends Provider {
  status(): DemoStatus;
}

export interface DemoStatus extends ProviderStatus {
  readonly inventory: ClusterView | undefined;
  readonly tenants: TenantsDocument | undefined;
}

/** Quick enough to watch, slow enough to follow. */
const blockMs = 500;
/** Four minutes of blocks: nobody asks for older ones, and the demo may run all day. */
const keepBlocks = 500;
const tenantCount = 3;
const purse = parseCoins("1000000000000uact,1000000000000uakt");
const settings = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };

export function createDemo({ dataDir, version, clock, random, log }: DemoOptions): Demo {
  const signer = createSigner(random.bytes(32));
  const tenantSigners = Array.from({ length: tenantCount }, () => createSigner(random.bytes(32)));
  const node = createEmbeddedNode({
    chainId: "akash-demo-1",
    accounts: [signer, ...tenantSigners].map(({ address }) => ({ address, coins: purse })),
    clock,
    log: log.with({ module: "node" }),
    blockMs,
    keepBlocks,
  });
  const cluster = createDemoCluster({ clock, random, log: log.with({ module: "cluster" }) });
  const kube = createKubeService(() => cluster.connect("akash-operator-inventory"));
  let inventory: Service<ClusterView> | undefined;
  let tenants: Service<TenantsDocument> | undefined;
  const provider = createProvider({
    dataDir,
    metricsListener: { host: "127.0.0.1", port: 0 },
    before: [createNodeService(node), createClusterService(cluster)],
    chain: { nodes: () => createHttpTransports([{ url: node.rpcUrl }], clock), signer, settings },
    kube,
    after(foundation) {
      inventory = createInventoryService(() => ({ ...demoInventory, version }), { ...foundation, kube: kube.opened });
      tenants = createTenantsService({ signers: tenantSigners, settings }, foundation);
      return [inventory, createRegistrationService(signer.address, foundation), tenants];
    },
    clock,
    random,
    log,
  });
  return {
    ...provider,
    status: () => ({ ...provider.status(), inventory: inventory?.status?.(), tenants: tenants?.status?.() }),
  };
}
