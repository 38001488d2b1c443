/**
 * The thinnest way through the whole: an order becomes a bid, the bid a lease, the lease a container, and the container
 * goes when the lease closes. Fixed price, no checks, the manifest handed over in process. It uses only the interfaces
 * that the services will use, so that they can take its place one by one.
 */
import { join } from "node:path";
import { MsgCreateBid, ResourceOffer } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { createEmbeddedNode } from "../src/box/chain/embedded-node.ts";
import type { Node } from "../src/box/chain/node/node.ts";
import type { ChainWithOutbox } from "../src/chain/chain-service.ts";
import { writeId } from "../src/chain/codec/wire64.ts";
import { createHttpTransports } from "../src/chain/comet/http-transport.ts";
import { createSigner } from "../src/chain/keys/signer.ts";
import type { Order } from "../src/chain/records.ts";
import { packMessage } from "../src/chain/tx/messages.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../src/kube/kube.ts";
import { parseCoins, parseDecCoins } from "../src/market/coin.ts";
import { parseDecimal } from "../src/market/decimal.ts";
import { type BidId, formatLeaseId, formatOrderId, parseLeaseId, parseOrderId } from "../src/market/ids.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { createProvider, type Foundation } from "../src/provider/provider.ts";
import { realClock } from "../src/runtime/clock.ts";
import type { Service } from "../src/runtime/lifecycle.ts";
import { silentLog } from "../src/runtime/log.ts";
import { done, type Outcome, waiting } from "../src/runtime/outcome.ts";
import { createQueue } from "../src/runtime/queue.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { eventually } from "./eventually.ts";
import { temporaryFolder } from "./folder.ts";
import type { Owner } from "./owner.ts";

const random = createSeededRandom(1);
const providerSigner = createSigner(random.bytes(32));
export const tenantSigner = createSigner(random.bytes(32));
const purse = parseCoins("1000000000uact,1000000000uakt");
export const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };
const price = { denom: "uact", amount: "10" };
const deposit = { amount: { denom: "uakt", amount: "500000" }, sources: [1] };

export interface Skeleton {
  readonly node: Node;
  readonly chain: ChainWithOutbox;
  bidOn(order: Omit<BidId, "provider" | "bseq">): BidId;
}

/** A provider on a chain of its own and the given cluster. `workloadOf` stands for the manifest of a lease. */
export async function startSkeleton(t: Owner, kube: Kube, workloadOf: (lease: BidId) => KubeObject): Promise<Skeleton> {
  const clock = realClock;
  const node = createEmbeddedNode({
    chainId: "skeleton-1",
    accounts: [providerSigner, tenantSigner].map(({ address }) => ({ address, coins: purse })),
    clock,
    log: silentLog,
    blockMs: 100,
  });
  t.after(() => node.stop());
  await node.start();
  const stopping = new AbortController();
  const ready = Promise.withResolvers<ChainWithOutbox>();
  const provider = createProvider({
    dataDir: join(temporaryFolder(t), "data"),
    chain: { nodes: () => createHttpTransports([{ url: node.rpcUrl }], clock), signer: providerSigner, settings: fees },
    after: (foundation) => [skeletonPart(foundation, kube, workloadOf, ready.resolve)],
    clock,
    random,
    log: silentLog,
  });
  const running = provider.run(stopping.signal);
  t.after(() => {
    stopping.abort();
    return running;
  });
  const chain = await Promise.race([ready.promise, running.then(() => Promise.reject(new Error("it ended")))]);
  return { node, chain, bidOn };
}

function bidOn(order: Omit<BidId, "provider" | "bseq">): BidId {
  return { ...order, provider: providerSigner.address, bseq: 0 };
}

function skeletonPart(
  foundation: Foundation,
  kube: Kube,
  workloadOf: (lease: BidId) => KubeObject,
  onReady: (chain: ChainWithOutbox) => void,
): Service {
  async function bid(key: string): Promise<Outcome> {
    const [chain, journal] = await Promise.all([foundation.chain, foundation.journal]);
    const order = chain.mirror.order(parseOrderId(key));
    if (!order || journal.read.intents.about(key).length > 0) return done();
    const message = packMessage("createBid", bidFor(order));
    await chain.outbox.file({ subject: key, why: "an open order", message, priority: "bid" });
    return done();
  }

  async function serve(key: string): Promise<Outcome> {
    const { mirror, queries } = await foundation.chain;
    const id = parseLeaseId(key);
    const lease = mirror.lease(id);
    const name = leaseNamespace(id);
    if (lease?.state === "active") {
      await kube.apply(kinds.namespace, { metadata: { name } });
      await kube.apply(kinds.deployment, workloadOf(id));
      return done();
    }
    // What destroys asks the chain itself.
    const proof = await queries.lease(id, { atOrAbove: mirror.height });
    if (proof.value?.state !== "closed") return waiting("chain", "no proof that the lease is closed");
    const { uid } = (await kube.get(kinds.namespace, { name }))?.metadata ?? {};
    if (uid !== undefined) await kube.delete(kinds.namespace, { name }, { uid });
    return done();
  }

  return {
    name: "skeleton",
    async start(scope) {
      const chain = await foundation.chain;
      const deps = { clock: realClock, random, log: silentLog };
      const orders = createQueue({ name: "orders", work: bid, ...deps });
      const leases = createQueue({ name: "leases", work: serve, ...deps });
      chain.onStep(({ changed }) => {
        for (const { kind, key } of changed) {
          if (kind === "order") orders.add(key);
          if (kind === "lease") leases.add(key);
        }
      });
      scope.task("orders", orders.run);
      scope.task("leases", leases.run);
      const owner = chain.provider;
      const entry = { owner, hostUri: "https://provider.example.com:8443", attributes: [], info: undefined };
      const message = packMessage("createProvider", entry);
      await chain.outbox.file({ subject: owner, why: "a newcomer", message, priority: "account" });
      // Bids wait for the registration: both are about the same key and go out in the order of filing.
      await eventually("the registration", async () => (await chain.queries.provider(owner)).value);
      for (const order of chain.mirror.orders()) orders.add(formatOrderId(order.id));
      for (const lease of chain.mirror.leases()) leases.add(formatLeaseId(lease.id));
      onReady(chain);
    },
  };
}

function bidFor({ id, spec }: Order) {
  const known = MsgCreateBid.fromPartial({
    id: writeId(bidOn(id)),
    price,
    deposit,
    resourcesOffer: spec.resources.map(({ resource, count }) =>
      ResourceOffer.fromPartial({ resources: resource ?? {}, count }),
    ),
  });
  return { ...known, reclamationWindowNs: undefined };
}
