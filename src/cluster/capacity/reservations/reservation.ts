/** What is promised to one order: by a bid at first, by the lease when it is won, under the same key all the time. */
import type { Fits } from "../../../market/fit.ts";
import type { UnitResources } from "../../../market/group-spec.ts";
import { addTo, type CountedUnit, leasedAddressesOf } from "../../../market/group-totals.ts";
import { committed, type Overcommit } from "../../../market/overcommit.ts";
import { type Claim, claimsOf } from "../placement/demand.ts";
import { volumesAt } from "../placement/room.ts";
import type { PodRequests } from "./lease-pods.ts";

export interface Reservation {
  readonly orderId: string;
  readonly offer: Fits["offer"];
  readonly replicas: readonly Replica[];
  /** Of its persistent volumes, all of them together, what no picture counts yet. */
  readonly volumes: Holding;
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
  readonly onNode: Holding;
  /** Bytes of its persistent volumes, by storage class. */
  readonly classes: ReadonlyMap<string, bigint>;
}

/** Part of a promise: taken from the room until the snapshot counts the object that it became. */
export interface Holding {
  claim: Claim;
  /** What stands for it in the cluster. */
  carrier: Carrier | undefined;
  /** The snapshot counts it, so we do not. */
  inPicture: boolean;
}

/** An object of the cluster that takes what was promised: a bound pod, or a claim that has its volume. */
export interface Carrier {
  readonly kind: "pod" | "volume";
  readonly uid: string;
  readonly version: string;
  /** When it became known that it is bound, by the clock that only grows; below zero if before our start. */
  readonly seenAtMs: number;
}

/** The name of no node, of what has none. */
export const nowhere = "";

export type Placed = Pick<Fits, "replicas" | "offer">;

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
    volumes: noVolumes(),
    addresses: leasedAddressesOf(offer),
    expiresAtMs,
  };
}

const noClasses: ReadonlyMap<string, bigint> = new Map();

export function replicaOf(unit: number, claim: Claim, requests: Omit<PodRequests, "volumes">): Replica {
  return {
    unit,
    requests: { ...requests, volumes: claim.amounts[volumesAt] ?? 0n },
    onNode: holding({ ...claim, classes: noClasses }),
    classes: claim.classes,
  };
}

/** To begin with; the book knows which there are. */
export function noVolumes(): Holding {
  return holding({ node: nowhere, amounts: [], cards: undefined, classes: noClasses });
}

export function holding(claim: Claim): Holding {
  return { claim, carrier: undefined, inPicture: false };
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
