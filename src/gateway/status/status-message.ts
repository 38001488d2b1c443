/** akash.provider.v1.Status. Every quantity in it is set, as consoles cannot read one that is missing. */
import type { ClusterSummary, PromisedAmounts } from "../../market/cluster-summary.ts";
import { formatBytes, formatCount, formatCpuMilli } from "../../market/quantity.ts";
import { type Clock, msToNs } from "../../runtime/clock.ts";
import {
  inventoryV1ResourcePair,
  providerV1BidEngineStatus,
  providerV1Leases,
  providerV1ManifestStatus,
  providerV1Reservations,
} from "../../runtime/grpc/akash-proto.ts";
import { memoizeFor } from "../../runtime/memoize.ts";
import { bytes, type Decoded, messageOf, nanoseconds, optional, repeated, text } from "../../runtime/protobuf.ts";
import { gatewayStatusMs, type ReportedStatus } from "./provider-status.ts";
import { byActivity } from "./status-document.ts";

interface StatusDeps {
  readonly publicHost: string | undefined;
  readonly status: () => ReportedStatus;
  readonly clock: Clock;
}

export interface StatusMessage {
  readonly message: Uint8Array;
  /** Without the timestamp: the same object while nothing has changed. */
  readonly content: Uint8Array;
}

/** akash.provider.v1.Inventory with the inventory operator's message as received: it may have a thousand nodes. */
const inventoryCodec = messageOf({
  cluster: optional(1, bytes),
  reservations: optional(2, providerV1Reservations),
  leasedIp: optional(3, inventoryV1ResourcePair),
});

/** akash.provider.v1.Status with such an inventory and without its timestamp. */
const contentCodec = messageOf({
  cluster: optional(2, messageOf({ leases: optional(1, providerV1Leases), inventory: optional(2, inventoryCodec) })),
  bidEngine: optional(3, providerV1BidEngineStatus),
  manifest: optional(4, providerV1ManifestStatus),
  publicHostnames: repeated(5, text),
  reclamationWindow: optional(7, nanoseconds),
});

/** Fields may come in any order; this one changes with each message. */
const timeCodec = messageOf({ timestamp: optional(6, nanoseconds) });

export function createStatusMessage({ publicHost, status, clock }: StatusDeps): () => StatusMessage {
  return memoizeFor<StatusMessage>(gatewayStatusMs, clock, (before) => {
    const { cluster, orders, deployments, reclamationWindowMs } = status();
    const content = contentCodec.encode({
      cluster: cluster && { leases: { active: cluster.leases }, inventory: inventoryOf(cluster) },
      bidEngine: orders === undefined ? undefined : { orders },
      manifest: deployments === undefined ? undefined : { deployments },
      publicHostnames: [publicHost ?? ""],
      reclamationWindow: reclamationWindowMs > 0 ? msToNs(reclamationWindowMs) : undefined,
    });
    const same = before && Buffer.compare(before.content, content) === 0 ? before.content : content;
    return { content: same, message: Buffer.concat([same, timeCodec.encode({ timestamp: msToNs(clock.now()) })]) };
  });
}

function inventoryOf(cluster: ClusterSummary): Decoded<typeof inventoryCodec> {
  const { total, left } = cluster.addresses;
  const { active, pending } = byActivity(cluster);
  const all = { string: formatCount(total) };
  return {
    cluster: cluster.inventoryMessage,
    reservations: { pending: sumOf(pending), active: sumOf(active) },
    leasedIp: { allocatable: all, allocated: { string: formatCount(total - left) }, capacity: all, attributes: [] },
  };
}

function sumOf(promised: readonly PromisedAmounts[]) {
  const sum = (amount: (each: PromisedAmounts) => bigint) => promised.reduce((sum, each) => sum + amount(each), 0n);
  const storage = new Map<string, bigint>();
  for (const [name, amount] of promised.flatMap((each) => [...each.storage]))
    storage.set(name, (storage.get(name) ?? 0n) + amount);
  const inBytes = (amount: bigint) => ({ string: formatBytes(amount, "DecimalSI") });
  const byName = [...storage].sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    count: promised.length,
    resources: {
      cpu: { string: formatCpuMilli(sum((each) => each.cpuMilli)) },
      memory: inBytes(sum((each) => each.memoryBytes)),
      gpu: { string: formatCount(sum((each) => each.gpus)) },
      ephemeralStorage: inBytes(sum((each) => each.ephemeralBytes)),
      storage: new Map(byName.map(([name, amount]) => [name, inBytes(amount)])),
    },
  };
}
