/**
 * A whole provider with its gateway in one process, on loopback and in real time: a chain with quick blocks, a cluster of one
 * machine, manifests, bids, and tenants who have accounts, keys and certificates on the chain.
 */
import { createPolicySource } from "../../../src/bidengine/policies/policy-source.ts";
import { createEmbeddedNode } from "../../../src/box/chain/embedded-node.ts";
import type { Node } from "../../../src/box/chain/node/node.ts";
import type { Behaviours } from "../../../src/box/cluster/components/kubelet/behaviour.ts";
import { createSimulatedCluster, type SimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import { createPool } from "../../../src/chain/comet/pool.ts";
import { createQueries } from "../../../src/chain/comet/queries/queries.ts";
import type { RpcTransport } from "../../../src/chain/comet/transport.ts";
import { createSigner, type Signer } from "../../../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../../../src/chain/tx/comet-broadcaster.ts";
import type { PackedMessage } from "../../../src/chain/tx/messages.ts";
import { sendMessages } from "../../../src/chain/tx/send.ts";
import type { LeaseOptions } from "../../../src/cluster/leases/lease-options.ts";
import { type CertificateSource, noCertificate } from "../../../src/gateway/certificate/file-certificate.ts";
import type { TenantGatewayOptions } from "../../../src/gateway/gateway-service.ts";
import type { Kube } from "../../../src/kube/kube.ts";
import { createKubeService } from "../../../src/kube/kube-service.ts";
import { createProvider, type ProviderServices, type ProviderStatus } from "../../../src/provider/provider.ts";
import { realClock } from "../../../src/runtime/clock.ts";
import { invariant } from "../../../src/runtime/invariant.ts";
import { untilAborted } from "../../../src/runtime/lifecycle.ts";
import { type Log, silentLog } from "../../../src/runtime/log.ts";
import { eventually } from "../eventually.ts";
import { memoryFolder } from "../folder.ts";
import { createGatewayTenant, type GatewayTenant } from "../gateway-tenant.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { simulateIpOperator } from "../simulated-ip-operator.ts";
import { makeCertificate } from "../test-certificate.ts";
import { fixedPricing, snapshotFeed } from "./bid-stage.ts";
import {
  declaredAddresses,
  fees,
  initialCoins,
  machine,
  marketOptions,
  prepareCluster,
  registration,
} from "./lease-stage.ts";

export interface GatewayStageOptions {
  /** How many tenants there are; the first is `tenant`. */
  readonly tenants?: number;
  /** For `publicHost`. */
  readonly publicCertificate?: CertificateSource;
  /** What it shows of itself; one that nobody has put on the chain if not said. */
  readonly ownCertificate?: CertificateSource;
  /** What it reaches the chain by. */
  readonly nodes?: (node: Node) => readonly RpcTransport[];
  readonly gateway?: Partial<TenantGatewayOptions>;
  readonly leases?: Partial<LeaseOptions>;
  readonly manifestTimeoutMs?: number;
  /** Another cluster than the simulated one; whoever brings it has prepared it. */
  readonly kube?: () => Kube;
  /** Why nothing may be promised by the inventory, while that is so. */
  readonly inventoryTrouble?: () => string | undefined;
  /** Of containers; quick ones if not said. */
  readonly behaviour?: Behaviours;
  /** Whether the chain is reached by other processes too. */
  readonly listens?: boolean;
  readonly log?: Log;
}

export interface GatewayStage {
  readonly node: Node;
  readonly cluster: SimulatedCluster;
  readonly provider: Signer;
  readonly tenants: readonly GatewayTenant[];
  readonly tenant: GatewayTenant;
  /** The private key of that one. */
  readonly tenantKey: Uint8Array;
  readonly services: ProviderServices;
  /** Of the gateway, on 127.0.0.1. */
  readonly port: number;
  /** The same for gRPC. */
  readonly grpcPort: number;
  readonly dir: string;
  status(): ProviderStatus;
  stop(): Promise<void>;
  /** Another provider on the same journal. */
  restart(): Promise<void>;
}

const blockMs = 50;

export async function startGatewayStage(owner: Owner, options: GatewayStageOptions = {}): Promise<GatewayStage> {
  const [clock, random] = [realClock, createSeededRandom(1)];
  const keys = Array.from({ length: 1 + (options.tenants ?? 1) }, () => random.bytes(32));
  const signers = keys.map(createSigner);
  const [signer, ...tenantSigners] = signers;
  invariant(signer, "the first is the provider");
  const node = createEmbeddedNode({
    chainId: "gateway-1",
    accounts: signers.map(({ address }) => ({ address, coins: initialCoins })),
    ...{ blockMs, listens: options.listens ?? false, clock, log: silentLog },
  });
  await node.start();
  const cluster = createSimulatedCluster(
    { nodes: [machine], behaviour: (...of) => ({ ...quick, ...options.behaviour?.(...of) }) },
    { clock, random, log: silentLog },
  );
  prepareCluster(cluster);
  simulateIpOperator(owner, cluster);
  const pool = createPool({ nodes: [node.transport("people's node")], clock, random, log: silentLog });
  await pool.open();
  const chain = createCometBroadcaster(pool);
  const send = async (by: Signer, ...messages: readonly PackedMessage[]) => {
    await sendMessages({ chainId: node.chainId, chain, settings: fees, clock, random, signer: by }, messages);
  };
  await send(signer, registration(signer.address));
  const dir = memoryFolder(owner);
  let life = await start();
  owner.after(async () => {
    await life.stop();
    pool.close();
    await cluster.close();
    await node.stop();
  });
  const queries = createQueries(pool);
  const tenants = tenantSigners.map((own) =>
    createGatewayTenant({
      signer: own,
      provider: signer.address,
      queries,
      services: () => life.services,
      send: (...sent) => send(own, ...sent),
    }),
  );
  const [tenant] = tenants;
  const [, tenantKey] = keys;
  invariant(tenant && tenantKey, "there is a tenant");
  const portsNow = async () => {
    const { port, grpcPort } = await eventually("a gateway", () => {
      const { gateway } = life.status();
      return gateway?.grpcPort === undefined ? undefined : gateway;
    });
    invariant(grpcPort, "it was waited for");
    return { port, grpcPort };
  };
  let ports = await portsNow();
  return {
    ...{ node, cluster, provider: signer, tenants, tenant, tenantKey, dir },
    get services() {
      return life.services;
    },
    get port() {
      return ports.port;
    },
    get grpcPort() {
      return ports.grpcPort;
    },
    status: () => life.status(),
    stop: () => life.stop(),
    async restart() {
      await life.stop();
      life = await start();
      ports = await portsNow();
    },
  };

  async function start() {
    invariant(signer, "the first is the provider");
    const { promise: opened, resolve } = Promise.withResolvers<ProviderServices>();
    const provider = createProvider({
      dataDir: dir,
      chain: { nodes: () => options.nodes?.(node) ?? [node.transport()], signer, settings: fees },
      kube: createKubeService(() => options.kube?.() ?? cluster.connect("akash-provider")),
      market: {
        ...marketOptions({ manifestTimeoutMs: options.manifestTimeoutMs }),
        cluster: {
          ...marketOptions({}).cluster,
          leases: { hosts, clusterPublicHostname: publicHost, ...options.leases },
        },
        inventory() {
          const feed = snapshotFeed(clock, machine.cpuMilli, [], ["beta3"]);
          const { inventoryTrouble: get } = options;
          return get ? Object.defineProperty(feed, "error", { get }) : feed;
        },
        ipOperator: () => declaredAddresses(cluster),
        pricing: () => ({ ...fixedPricing(), run: untilAborted }),
        policies: () => createPolicySource(undefined, { clock, log: silentLog }),
      },
      gateway: {
        listen: { host: "127.0.0.1", port: 0 },
        grpcListen: { host: "127.0.0.1", port: 0 },
        publicHost,
        version: "0.1.0",
        ...options.gateway,
        ...(!options.gateway?.certificate && {
          certificates: {
            own: options.ownCertificate ?? certificateOf(signer.address),
            public: options.publicCertificate ?? noCertificate,
          },
        }),
      },
      after: (services) => [{ name: "stage", start: () => resolve(services) }],
      ...{ clock, random, log: options.log ?? silentLog },
    });
    const stopping = new AbortController();
    const ended = provider.run(stopping.signal);
    const stop = async () => {
      stopping.abort();
      await ended;
    };
    const services = await Promise.race([opened, ended.then(died)]);
    return { services, status: provider.status, stop };
  }
}

export const publicHost = "provider.example.com";
const hosts = { blockedHosts: [], ingressDomain: undefined, staticHostDomain: "ingress.example.com" };
const quick = { pullMs: 10, startMs: 10, stopMs: 10 };

function died(): never {
  throw new Error("the provider has ended");
}

/** One for whoever that is, which does not change. */
export function certificateOf(name: string): CertificateSource {
  const { certPem, keyPem } = makeCertificate({ name });
  return { current: { certificate: certPem, key: keyPem }, onChange: () => undefined };
}
