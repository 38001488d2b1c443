/** akash.provider.v1.Status. Every quantity in it is set: the network's consoles cannot read one that is not. */
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
import {
  type ClusterPart,
  createProviderStatus,
  gatewayStatusMs,
  type Promised,
  type StatusParts,
} from "./provider-status.ts";

interface StatusDeps {
  readonly publicHost: string | undefined;
  readonly parts: StatusParts;
  readonly clock: Clock;
}

export interface StatusMessage {
  readonly message: Uint8Array;
  /** Without its time: the same bytes while nothing has changed. */
  readonly content: Uint8Array;
}

/** akash.provider.v1.Inventory with the inventory operator's message as it came: it may tell of a thousand nodes. */
const inventoryCodec = messageOf({
  cluster: optional(1, bytes),
  reservations: optional(2, providerV1Reservations),
  leasedIp: optional(3, inventoryV1ResourcePair),
});

/** akash.provider.v1.Status with such an inventory and without its time. */
const contentCodec = messageOf({
  cluster: optional(2, messageOf({ leases: optional(1, providerV1Leases), inventory: optional(2, inventoryCodec) })),
  bidEngine: optional(3, providerV1BidEngineStatus),
  manifest: optional(4, providerV1ManifestStatus),
  publicHostnames: repeated(5, text),
  reclamationWindow: optional(7, nanoseconds),
});

/** Fields may come in any order, and this one changes with each message. */
const timeCodec = messageOf({ timestamp: optional(6, nanoseconds) });

export function createStatusMessage({ publicHost, parts, clock }: StatusDeps): () => StatusMessage {
  const statusOf = createProviderStatus(parts);

  function make(before: StatusMessage | undefined): StatusMessage {
    const { cluster, orders, deployments, reclamationWindowMs } = statusOf();
    const content = contentCodec.encode({
      cluster: cluster && { leases: { active: cluster.leases }, inventory: inventoryOf(cluster) },
      bidEngine: orders === undefined ? undefined : { orders },
      manifest: deployments === undefined ? undefined : { deployments },
      publicHostnames: [publicHost ?? ""],
      reclamationWindow: reclamationWindowMs > 0 ? msToNs(reclamationWindowMs) : undefined,
    });
    const same = before && Buffer.compare(before.content, content) === 0 ? before.content : content;
    return { content: same, message: Buffer.concat([same, timeCodec.encode({ timestamp: msToNs(clock.now()) })]) };
  }

  return memoizeFor(gatewayStatusMs, clock, make);
}

function inventoryOf(cluster: ClusterPart): Decoded<typeof inventoryCodec> {
  const { total, left } = cluster.addresses;
  const all = [...cluster.reservations()];
  const of = (isActive: boolean) => all.filter((each) => each.isActive === isActive).map(({ promised }) => promised);
  const inAll = { string: formatCount(total) };
  return {
    cluster: cluster.inventoryMessage,
    reservations: { pending: sumOf(of(false)), active: sumOf(of(true)) },
    leasedIp: {
      ...{ allocatable: inAll, allocated: { string: formatCount(total - left) }, capacity: inAll, attributes: [] },
    },
  };
}

function sumOf(promised: readonly Promised[]) {
  const sums = { cpuMilli: 0n, memoryBytes: 0n, gpus: 0n, ephemeralBytes: 0n };
  const storage = new Map<string, bigint>();
  for (const each of promised) {
    sums.cpuMilli += each.cpuMilli;
    sums.memoryBytes += each.memoryBytes;
    sums.gpus += each.gpus;
    sums.ephemeralBytes += each.ephemeralBytes;
    for (const [name, amount] of each.storage) storage.set(name, (storage.get(name) ?? 0n) + amount);
  }
  const inBytes = (amount: bigint) => ({ string: formatBytes(amount, "DecimalSI") });
  const byName = [...storage].sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    count: promised.length,
    resources: {
      cpu: { string: formatCpuMilli(sums.cpuMilli) },
      memory: inBytes(sums.memoryBytes),
      gpu: { string: formatCount(sums.gpus) },
      ephemeralStorage: inBytes(sums.ephemeralBytes),
      storage: new Map(byName.map(([name, sum]) => [name, inBytes(sum)])),
    },
  };
}
