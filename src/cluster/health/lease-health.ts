/** The health of what a lease runs, with messages for its tenant. */
import { minute } from "../../runtime/durations.ts";

/** Problems of a lease that a condition names; `akash-provider leases` shows all. */
export const leaseProblemsNamed = 3;
/** Most images are pulled and started within this. */
export const healthStartingMs = 5 * minute;

/** The gravest first. */
export const healthReasons = [
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

export type HealthReason = (typeof healthReasons)[number];

export interface HealthProblem {
  readonly service: string;
  readonly reason: HealthReason;
  /** For the tenant: nothing about the provider's machines. */
  readonly message: string;
  /** How many of the service's replicas have it. */
  readonly replicas: number;
  readonly sinceMs: number;
  /** What the tenant sent is the cause beyond doubt. */
  readonly isTenantsFault?: boolean;
}

export interface ServiceHealth {
  readonly name: string;
  /** How many replicas the tenant wants. */
  readonly wanted: number;
  readonly ready: number;
  /** Not ready for a reason that is not the tenant's fault. */
  readonly unobserved: number;
}

export interface LeaseHealth {
  /** "unknown" while caches or mirror are not up to date. */
  readonly state: "healthy" | "unhealthy" | "unknown";
  readonly services: readonly ServiceHealth[];
  readonly troubles: readonly HealthProblem[];
  /** Every reason is the tenant's fault: only then time counts towards closing the lease. */
  readonly isTenantsFault?: boolean;
}

export interface HealthView {
  /** Undefined for a lease that has nothing to run. */
  get(leaseKey: string): LeaseHealth | undefined;
  onChange(listener: (leaseKey: string, now: LeaseHealth | undefined, before: LeaseHealth | undefined) => void): void;
}
