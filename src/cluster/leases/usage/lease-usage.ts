/** What a lease uses, beside what is leased: both of all its replicas together. */
import type { MirrorView } from "../../../chain/chain.ts";
import { type CountedUnit, ramClass, storageOf, totalOf } from "../../../market/group-totals.ts";
import { type LeaseId, parseLeaseId } from "../../../market/ids.ts";
import { promisedUnits } from "../../capacity/reservations/reservation.ts";
import type { UsageReading, UsageUnknown, Used } from "./usage-reading.ts";

/** By the chain: what the tenant pays for, whatever of it the manifest makes use of. */
export interface Leased {
  readonly cpuMilli: bigint;
  /** With the volumes that are memory: what is in them counts as memory of the pod. */
  readonly memoryBytes: bigint;
  readonly storageBytes: bigint;
}

export interface LeaseUsage {
  /** Undefined where the mirror does not know the lease any more. */
  readonly leased?: Leased;
  readonly usage: Used | { readonly unknown: UsageUnknown };
}

export function usageOf(
  lease: { readonly lease: string; readonly namespace: string },
  reading: UsageReading,
  mirror: Pick<MirrorView, "bid" | "deployment">,
): LeaseUsage {
  const leased = leasedOf(parseLeaseId(lease.lease), mirror);
  const usage =
    "unknown" in reading ? reading : (reading.used.get(lease.namespace) ?? { unknown: "not measured" as const });
  return { ...(leased && { leased }), usage };
}

function leasedOf(id: LeaseId, mirror: Pick<MirrorView, "bid" | "deployment">): Leased | undefined {
  const units = promisedUnits(mirror, id);
  return units && sumOf(units);
}

function sumOf(units: readonly CountedUnit[]): Leased {
  const storage = storageOf(units);
  const ramBytes = storage.get(ramClass) ?? 0n;
  return {
    cpuMilli: totalOf(units, ({ cpu }) => cpu.milli),
    memoryBytes: totalOf(units, ({ memory }) => memory.bytes) + ramBytes,
    storageBytes: [...storage.values()].reduce((sum, bytes) => sum + bytes, 0n) - ramBytes,
  };
}
