/**
 * akash.provider.v1.Status, ready to be sent. As that of `/status` it is made when somebody asks and the one from before is a
 * moment old. Every quantity in it is set: the network's consoles cannot read one that is not.
 */
import { formatBytes, formatCount, formatCpuMilli } from "../../market/quantity.ts";
import { type Clock, msToNs } from "../../runtime/clock.ts";
import { goodFor } from "../../runtime/good-for.ts";
import {
  inventoryV1ResourcePair,
  providerV1BidEngineStatus,
  providerV1Leases,
  providerV1ManifestStatus,
  providerV1Reservations,
} from "../../runtime/grpc/akash-proto.ts";
import { bytes, type Decoded, messageOf, nanoseconds, optional, repeated, text } from "../../runtime/protobuf.ts";
import type { ClusterPart, Promised, StatusParts } from "./provider-status.ts";

/** For so long the bytes of `/status` are shown: a change is to be seen within a second, and making them takes a millisecond or two. */
export const gatewayStatusMs = 250;

interface StatusDeps {
  readonly publicHost: string | undefined;
  readonly parts: StatusParts;
  readonly clock: Clock;
}

export interface StatusMessage {
  /** The whole of it. */
  readonly message: Uint8Array;
  /** The same without its time: another where anything has changed. */
  readonly content: Uint8Array;
}

/** akash.provider.v1.Inventory with what the inventory operator said as it said it: it may tell of a thousand nodes. */
const inventoryCodec = messageOf({
  cluster: optional(1, bytes),
  reservations: optional(2, providerV1Reservations),
  leasedIp: optional(3, inventoryV1ResourcePair),
});
type Inventory = Decoded<typeof inventoryCodec>;

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

export async function createStatusMessage({ publicHost, parts, clock }: StatusDeps): Promise<() => StatusMessage> {
  const [cluster, orders, deployments] = await Promise.all([parts.cluster, parts.orders, parts.deployments]);
  const { reclamationWindowMs } = parts;

  function make(before: StatusMessage | undefined): StatusMessage {
    const content = contentCodec.encode({
      cluster: cluster && { leases: { active: cluster.leases }, inventory: inventoryOf(cluster) },
      bidEngine: orders && { orders: orders() },
      manifest: deployments && { deployments: deployments() },
      publicHostnames: [publicHost ?? ""],
      reclamationWindow: reclamationWindowMs > 0 ? msToNs(reclamationWindowMs) : undefined,
    });
    // What has not changed stays the same bytes, so that nobody need compare them twice.
    const same = before && Buffer.compare(before.content, content) === 0 ? before.content : content;
    return { content: same, message: Buffer.concat([same, timeCodec.encode({ timestamp: msToNs(clock.now()) })]) };
  }

  return goodFor(gatewayStatusMs, clock, make);
}

function inventoryOf(view: ClusterPart): Inventory {
  const sums = { active: createSum(), pending: createSum() };
  for (const { isActive, promised } of view.reservations()) (isActive ? sums.active : sums.pending).add(promised);
  const { total, left } = view.addresses;
  const inAll = { string: formatCount(total) };
  return {
    cluster: view.inventoryMessage,
    reservations: { pending: sums.pending.metric(), active: sums.active.metric() },
    leasedIp: {
      allocatable: inAll,
      allocated: { string: formatCount(total - left) },
      attributes: [],
      capacity: inAll,
    },
  };
}

function createSum() {
  let count = 0;
  const sums = { cpuMilli: 0n, memoryBytes: 0n, gpus: 0n, ephemeralBytes: 0n };
  const storage = new Map<string, bigint>();
  return {
    add(promised: Promised): void {
      count += 1;
      sums.cpuMilli += promised.cpuMilli;
      sums.memoryBytes += promised.memoryBytes;
      sums.gpus += promised.gpus;
      sums.ephemeralBytes += promised.ephemeralBytes;
      for (const [name, bytes] of promised.storage) storage.set(name, (storage.get(name) ?? 0n) + bytes);
    },
    metric() {
      const inBytes = (amount: bigint) => ({ string: formatBytes(amount, "DecimalSI") });
      return {
        count,
        resources: {
          cpu: { string: formatCpuMilli(sums.cpuMilli) },
          memory: inBytes(sums.memoryBytes),
          gpu: { string: formatCount(sums.gpus) },
          ephemeralStorage: inBytes(sums.ephemeralBytes),
          storage: new Map(
            [...storage].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, sum]) => [name, inBytes(sum)]),
          ),
        },
      };
    },
  };
}
