/** What is promised to one order: by a bid at first, by the lease when it is won, under the same key all the time. */

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
  /** Of its persistent volumes, all of them together, what no picture counts yet. */
  readonly volumes: CapacityHolding;
  /** How many IP addresses it leases. */
  readonly addresses: number;
  /** When whoever reserved must have come back to it, at the latest. */
  expiresAtMs: number;
}

/** One replica takes of a node and, where it has persistent volumes, of the cluster: these outlive the pods that use them. */
export interface Replica {
  /** The id of its unit. */
  readonly unit: number;
  /** By these its pod is known. */
  readonly requests: PodRequests;
  readonly onNode: CapacityHolding;
  /** Bytes of its persistent volumes, by storage class. */
  readonly classes: ReadonlyMap<string, bigint>;
}

type Placed = Pick<Fits, "replicas" | "offer">;

export function reservationOf(
  orderId: string,
  { replicas, offer }: Placed,
  overcommit: Overcommit,
  expiresAtMs: number,
): Reservation {
  const units = new Map(offer.map((unit) => [unit.id, unit]));
  const claims = claimsOf({ replicas, offer }, overcommit);
  return {
    orderId,
    offer,
    replicas: claims.map((claim, at) => {
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

/** RAM volumes are in no request of a pod, so this is less than what the replica takes. */
function requestsOf(unit: UnitResources | undefined, { cpuPercent, memoryPercent }: Overcommit) {
  return {
    cpuMilli: committed(unit?.cpu.milli ?? 0n, cpuPercent),
    memoryBytes: committed(unit?.memory.bytes ?? 0n, memoryPercent),
    gpus: unit?.gpu.count ?? 0n,
  };
}

/** What is offered, each unit as often as it is wanted. */
export function unitsOf({ offer, replicas }: Reservation): CountedUnit[] {
  return offer.map((unit) => ({ ...unit, count: replicas.filter(({ unit: id }) => id === unit.id).length }));
}

/** Bytes of all its persistent volumes, by storage class. */
export function promisedVolumes({ replicas }: Pick<Reservation, "replicas">): Map<string, bigint> {
  const volumes = new Map<string, bigint>();
  for (const { classes } of replicas) for (const [name, bytes] of classes) addTo(volumes, name, bytes);
  return volumes;
}

/** Of the row in the journal, which has what was set aside, whatever the settings say later. */
const version = 1;

const amount = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform((text) => BigInt(text));
const attributes = z.array(z.strictObject({ key: z.string(), value: z.string() }));

const unit = z.strictObject({
  id: z.int(),
  cpu: z.strictObject({ milli: amount, attributes }),
  memory: z.strictObject({ bytes: amount, attributes }),
  gpu: z.strictObject({ count: amount, attributes }),
  storage: z.array(z.strictObject({ name: z.string(), bytes: amount, attributes })),
  endpoints: z.array(
    z.strictObject({
      kind: z.enum(["shared-http", "random-port", "leased-ip", "unknown"]),
      sequenceNumber: z.int(),
    }),
  ),
});

const cards = z.strictObject({
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
  cards: cards.optional(),
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
  const rows = replicas.map(({ unit, requests: { volumes: _counted, ...requests }, onNode, classes: volumes }) => {
    const { node, amounts, cards } = onNode.claim;
    const classes = [...volumes];
    return { unit, node, amounts, classes, ...(cards && { cards }), requests };
  });
  return JSON.parse(jsonText({ version, expiresAtMs, addresses, offer, replicas: rows }));
}

/** Undefined where it makes no sense. */
export function readBody(orderId: string, json: unknown): Reservation | undefined {
  const read = body.safeParse(json).data;
  if (!read) return undefined;
  const { version: _, replicas, ...rest } = read;
  return {
    orderId,
    ...rest,
    replicas: replicas.map(({ unit, requests, classes, cards, ...claim }) =>
      replicaOf(unit, { ...claim, classes: new Map(classes), cards }, requests),
    ),
    volumes: holding({}),
  };
}

/** What the chain says we promised: the offer of the bid, in which GPUs have their model; else what the tenant asked for. */
export function promisedUnits(
  mirror: Pick<MirrorView, "bid" | "deployment">,
  id: BidId,
): readonly ResourceUnit[] | undefined {
  const offer = mirror.bid(id)?.offer ?? [];
  const resources = offer.map(({ resources, count }) => ({ resource: resources, count, price: undefined }));
  if (resources.length > 0) return decodeGroupSpec({ name: "", requirements: undefined, resources }).units;
  return mirror.deployment(deploymentOf(id))?.groups.find((group) => group.id.gseq === id.gseq)?.spec.units;
}
