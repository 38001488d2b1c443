/** What is promised to one order: first for the bid, then for the lease, under the same key. */

import { z } from "zod";
import type { JsonObject } from "../../../bus/topics.ts";
import type { MirrorView } from "../../../chain/chain.ts";
import { decodeGroupSpec } from "../../../chain/codec/group-spec.ts";
import type { Fits } from "../../../market/fit.ts";
import { committed, type Overcommit } from "../../../market/fit.ts";
import type { ResourceUnit, UnitResources } from "../../../market/group-spec.ts";
import { addTo, type CountedUnit, leasedAddressesOf } from "../../../market/group-totals.ts";
import { type BidId, deploymentOf } from "../../../market/ids.ts";
import { jsonText } from "../../../runtime/json-text.ts";
import type { ReplicaClaim } from "../placement/room.ts";
import { volumesAt } from "../placement/room.ts";
import { claimsOf } from "../placement/task.ts";
import { type CapacityHolding, holding } from "./accounting.ts";
import type { PodRequests } from "./lease-watches.ts";

export interface Reservation {
  readonly orderId: string;
  readonly offer: Fits["offer"];
  readonly replicas: readonly Replica[];
  /** Of all its persistent volumes, what no snapshot counts yet. */
  readonly volumes: CapacityHolding;
  /** How many IP addresses it leases. */
  readonly addresses: number;
  /** Renewed by the holder before this time. */
  expiresAtMs: number;
}

/** A replica takes from a node and, for its persistent volumes, which outlive its pods, from the cluster. */
export interface Replica {
  /** The id of its unit. */
  readonly unit: number;
  /** Its pod is recognised by these. */
  readonly requests: PodRequests;
  readonly onNode: CapacityHolding;
  /** Bytes of its persistent volumes, by storage class. */
  readonly classes: ReadonlyMap<string, bigint>;
}

export function reservationOf(
  orderId: string,
  { replicas, offer }: Pick<Fits, "replicas" | "offer">,
  overcommit: Overcommit,
  expiresAtMs: number,
): Reservation {
  const units = new Map(offer.map((unit) => [unit.id, unit]));
  return {
    orderId,
    offer,
    replicas: claimsOf({ replicas, offer }, overcommit).map((claim, at) => {
      const unit = replicas[at]?.unit ?? 0;
      return replicaOf(unit, claim, requestsOf(units.get(unit), overcommit));
    }),
    volumes: holding({}),
    addresses: leasedAddressesOf(offer),
    expiresAtMs,
  };
}

function replicaOf(unit: number, claim: ReplicaClaim, requests: Omit<PodRequests, "volumes">): Replica {
  return {
    unit,
    requests: { ...requests, volumes: claim.amounts[volumesAt] ?? 0n },
    onNode: holding({ ...claim, classes: new Map() }),
    classes: claim.classes,
  };
}

/** RAM volumes are not in the requests of a pod, so this is less than what the replica takes. */
function requestsOf(unit: UnitResources | undefined, { cpuPercent, memoryPercent }: Overcommit) {
  return {
    cpuMilli: committed(unit?.cpu.milli ?? 0n, cpuPercent),
    memoryBytes: committed(unit?.memory.bytes ?? 0n, memoryPercent),
    gpus: unit?.gpu.count ?? 0n,
  };
}

/** What is offered, each unit with its number of replicas. */
export function unitsOf({ offer, replicas }: Reservation): CountedUnit[] {
  return offer.map((unit) => ({ ...unit, count: replicas.filter(({ unit: id }) => id === unit.id).length }));
}

/** Bytes of all its persistent volumes, by storage class. */
export function promisedVolumes({ replicas }: Pick<Reservation, "replicas">): Map<string, bigint> {
  const volumes = new Map<string, bigint>();
  for (const { classes } of replicas) for (const [name, bytes] of classes) addTo(volumes, name, bytes);
  return volumes;
}

/** Of the journal's row, which keeps what was set aside even if the settings change. */
const version = 1;

const amount = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform((text) => BigInt(text));
const attributes = z.array(z.strictObject({ key: z.string(), value: z.string() }));
const endpoint = z.strictObject({
  kind: z.enum(["shared-http", "random-port", "leased-ip", "unknown"]),
  sequenceNumber: z.int(),
});
const unit = z.strictObject({
  id: z.int(),
  cpu: z.strictObject({ milli: amount, attributes }),
  memory: z.strictObject({ bytes: amount, attributes }),
  gpu: z.strictObject({ count: amount, attributes }),
  storage: z.array(z.strictObject({ name: z.string(), bytes: amount, attributes })),
  endpoints: z.array(endpoint),
});
const gpuDemand = z.strictObject({
  vendor: z.string(),
  model: z.string(),
  memoryGi: z.exactOptional(amount),
  interface: z.exactOptional(z.string()),
});
const replica = z.strictObject({
  unit: z.int(),
  node: z.string(),
  amounts: z.array(amount),
  classes: z.array(z.tuple([z.string(), amount])),
  cards: gpuDemand.optional(),
  requests: z.strictObject({ cpuMilli: amount, memoryBytes: amount, gpus: amount }),
});
const body = z.strictObject({
  version: z.literal(version),
  expiresAtMs: z.number(),
  addresses: z.int(),
  offer: z.array(unit),
  replicas: z.array(replica),
});

export function reservationBody({ expiresAtMs, addresses, offer, replicas }: Reservation): JsonObject {
  const rows = replicas.map(({ unit, requests: { volumes: _volumes, ...requests }, onNode, classes }) => {
    const { node, amounts, gpus } = onNode.claim;
    return { unit, node, amounts, classes: [...classes], ...(gpus && { cards: gpus }), requests };
  });
  return JSON.parse(jsonText({ version, expiresAtMs, addresses, offer, replicas: rows }));
}

/** Undefined where it is invalid. */
export function readBody(orderId: string, json: unknown): Reservation | undefined {
  const read = body.safeParse(json).data;
  if (!read) return undefined;
  const { version: _, replicas, ...rest } = read;
  return {
    ...{ orderId, ...rest, volumes: holding({}) },
    replicas: replicas.map(({ unit, requests, classes, cards: gpus, ...claim }) =>
      replicaOf(unit, { ...claim, classes: new Map(classes), gpus }, requests),
    ),
  };
}

/** By the chain: the offer of the bid, in which GPUs have their model; otherwise the group of the deployment. */
export function promisedUnits(
  mirror: Pick<MirrorView, "bid" | "deployment">,
  id: BidId,
): readonly ResourceUnit[] | undefined {
  const offer = mirror.bid(id)?.offer ?? [];
  const resources = offer.map(({ resources, count }) => ({ resource: resources, count, price: undefined }));
  if (resources.length > 0) return decodeGroupSpec({ name: "", requirements: undefined, resources }).units;
  return mirror.deployment(deploymentOf(id))?.groups.find((group) => group.id.gseq === id.gseq)?.spec.units;
}
