/** How what a lease runs is doing, in words that its tenant can read. */

import { minute } from "../../runtime/durations.ts";

/** Troubles of one lease that a condition names; `akash-provider leases` has them all. */
export const leaseTroublesTold = 3;
/** Most images are there and started within this; what takes longer is told in other words. */
export const healthStartingMs = 5 * minute;

/** The gravest first: where a service has several, that is the order in which they are told. */
export const troubleReasons = [
  "NotCreated",
  "ImageError",
  "CannotStart",
  "OutOfMemory",
  "CrashLoop",
  "Evicted",
  "VolumeNotBound",
  "Unschedulable",
  "NodeLost",
  "NotReady",
] as const;

export type TroubleReason = (typeof troubleReasons)[number];

export interface Trouble {
  readonly service: string;
  readonly reason: TroubleReason;
  /** For the tenant: nothing of the provider's own that is not his business. */
  readonly message: string;
  /** How many of the service's replicas have it. */
  readonly replicas: number;
  readonly sinceMs: number;
  /** What its tenant sent is the cause, beyond doubt. */
  readonly isTenantsFault?: boolean;
}

export interface ServiceHealth {
  readonly name: string;
  /** How many replicas the tenant wants. */
  readonly wanted: number;
  readonly ready: number;
  /** Of those that are not: how many for a reason that is not the tenant's fault. */
  readonly unobserved: number;
}

export interface LeaseHealth {
  /** "unknown": nothing may be judged by what is known of the cluster now. */
  readonly state: "healthy" | "unhealthy" | "unknown";
  readonly services: readonly ServiceHealth[];
  readonly troubles: readonly Trouble[];
  /** It is unhealthy, and every reason for that is the tenant's fault: only then time counts towards closing the lease. */
  readonly isTenantsFault?: boolean;
}

/** What others may ask of leases' health. */
export interface HealthView {
  /** Undefined for a lease that has nothing to run. */
  get(leaseKey: string): LeaseHealth | undefined;
  /** Told after every change, with how it was before. */
  onChange(listener: (leaseKey: string, now: LeaseHealth | undefined, before: LeaseHealth | undefined) => void): void;
}
