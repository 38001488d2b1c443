/**
 * The thinnest way through the whole: an order becomes a bid, the bid a lease, the lease a container, and the container
 * goes when the lease closes. Fixed price, no checks, the manifest handed over in process. It uses only the interfaces
 * that the services use, so that they can take its place one by one; where the bid engine runs, it leaves the bids to that. Like them it may end at any moment: the next
 * start finds out from chain, cluster and journal what is left to do.
 */

import { MsgCreateBid, ResourceOffer } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { Chain } from "../src/chain/chain.ts";
import { writeUnitResources } from "../src/chain/codec/group-spec.ts";
import { writeId } from "../src/chain/codec/wire64.ts";
import type { Order } from "../src/chain/records.ts";
import { packMessage } from "../src/chain/tx/messages.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../src/kube/kube.ts";
import type { Address } from "../src/market/address.ts";
import {
  type BidId,
  formatLeaseId,
  formatOrderId,
  type OrderId,
  parseLeaseId,
  parseOrderId,
} from "../src/market/ids.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import type { Foundation } from "../src/provider/provider.ts";
import { invariant } from "../src/runtime/invariant.ts";
import type { Service } from "../src/runtime/lifecycle.ts";
import { done, type Outcome, waiting } from "../src/runtime/outcome.ts";
import { createQueue } from "../src/runtime/queue.ts";

const price = { denom: "uact", amount: "10" };
const deposit = { amount: { denom: "uakt", amount: "500000" }, sources: [1] };

/** Says on a namespace whose it is. */
const leaseNote = "skeleton/lease";

export interface SkeletonOptions {
  readonly kube: Kube;
  /** Stands for the manifest of a lease. */
  readonly workloadOf: (lease: BidId) => KubeObject;
  readonly onReady?: (chain: Chain) => void;
  /** False where somebody else bids. */
  readonly bids?: boolean;
}

export function createSkeletonService(
  foundation: Foundation,
  { kube, workloadOf, onReady = () => undefined, bids = true }: SkeletonOptions,
): Service {
  async function bid(key: string): Promise<Outcome> {
    const [chain, journal] = await Promise.all([foundation.chain, foundation.journal]);
    const order = chain.mirror.order(parseOrderId(key));
    if (!order || journal.read.intents.about(key).length > 0) return done();
    const message = packMessage("createBid", bidFor(order, chain.provider));
    await chain.outbox.file({ subject: key, why: "an open order", message, priority: "bid" });
    return done();
  }

  async function serve(key: string): Promise<Outcome> {
    const { mirror, queries } = await foundation.chain;
    const id = parseLeaseId(key);
    const lease = mirror.lease(id);
    const name = leaseNamespace(id);
    if (lease?.state === "active") {
      await kube.apply(kinds.namespace, { metadata: { name, annotations: { [leaseNote]: key } } });
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

  async function register({ outbox, provider: owner }: Chain): Promise<void> {
    const entry = { owner, hostUri: "https://provider.example.com:8443", attributes: [], info: undefined };
    const message = packMessage("createProvider", entry);
    const [filed] = (await foundation.journal).read.intents.about(owner);
    const wish = { subject: owner, why: "a newcomer", message, priority: "account" } as const;
    const { state, result } = await outbox.wait(filed?.id ?? (await outbox.file(wish)));
    invariant(state === "done", "the provider could not be registered", { result });
  }

  return {
    name: "skeleton",
    waitsForOthers: true,
    async start(scope) {
      const chain = await foundation.chain;
      const orders = createQueue({ name: "orders", work: bid, ...foundation });
      const leases = createQueue({ name: "leases", work: serve, ...foundation });
      await register(chain);
      chain.onStep(({ changed }) => {
        for (const { kind, key } of changed) {
          if (kind === "order" && bids) orders.add(key);
          if (kind === "lease") leases.add(key);
        }
      });
      scope.task("orders", orders.run);
      scope.task("leases", leases.run);
      if (bids) for (const order of chain.mirror.orders()) orders.add(formatOrderId(order.id));
      for (const lease of chain.mirror.leases()) leases.add(formatLeaseId(lease.id));
      // What ended while nobody looked is in no mirror.
      for (const { metadata } of await kube.list(kinds.namespace)) {
        const lease = metadata.annotations?.[leaseNote];
        if (lease !== undefined) leases.add(lease);
      }
      onReady(chain);
    },
  };
}

export function bidOn(order: OrderId, provider: Address): BidId {
  return { ...order, provider, bseq: 0 };
}

function bidFor({ id, spec }: Order, provider: Address) {
  const known = MsgCreateBid.fromPartial({
    id: writeId(bidOn(id, provider)),
    price,
    deposit,
    resourcesOffer: spec.units.map((unit) =>
      ResourceOffer.fromPartial({ resources: writeUnitResources(unit), count: unit.count }),
    ),
  });
  return { ...known, reclamationWindowNs: undefined };
}
