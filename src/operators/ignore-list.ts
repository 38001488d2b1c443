/**
 * Leases that fail repeatedly. The network's operators give up on them; ours retry, and a success removes the lease.
 */
import { formatLeaseId, type LeaseId } from "../market/ids.ts";
import { leaseNamespace } from "../market/lease-namespace.ts";
import { type Clock, formatGoTime } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";

export interface IgnoreListOptions {
  /** Failures without a success in between that put a lease on the list. */
  readonly failureLimit: number;
  readonly entryLimit: number;
  /** Entries older than this are removed first, once there are too many. */
  readonly ageLimitMs: number;
}

interface Entry {
  readonly lease: LeaseId;
  readonly count: number;
  readonly failedAtMs: number;
  readonly last: ProviderError;
  /** What failed of it: host names, or sharing keys. */
  readonly subjects: Set<string>;
}

export type IgnoreList = ReturnType<typeof createIgnoreList>;

export function createIgnoreList({ failureLimit, entryLimit, ageLimitMs }: IgnoreListOptions, clock: Clock) {
  const entries = new Map<string, Entry>();

  return {
    failed(lease: LeaseId, thrown: unknown, subject: string): void {
      const id = formatLeaseId(lease);
      const { count, subjects } = entries.get(id) ?? { count: 0, subjects: [] };
      // Moved to the end, so that entries stay in the order of their age.
      entries.delete(id);
      entries.set(id, {
        ...{ lease, count: count + 1, subjects: new Set([...subjects, subject]) },
        ...{ failedAtMs: clock.now(), last: ProviderError.from(thrown) },
      });
    },
    /** A lease with nothing left that fails is forgotten. */
    succeeded(lease: LeaseId, subject: string): void {
      const id = formatLeaseId(lease);
      const entry = entries.get(id);
      entry?.subjects.delete(subject);
      if (entry?.subjects.size === 0) entries.delete(id);
    },
    /** Removes the subject from all leases but these. */
    forget(subject: string, except: Iterable<LeaseId>): void {
      const kept = new Set(Array.from(except, formatLeaseId));
      for (const [id, { lease, subjects }] of entries) {
        if (subjects.has(subject) && !kept.has(id)) this.succeeded(lease, subject);
      }
    },
    clear: () => entries.clear(),
    isFlagged: (lease: LeaseId): boolean => (entries.get(formatLeaseId(lease))?.count ?? 0) >= failureLimit,
    prune(): void {
      for (const [id, { failedAtMs }] of entries) {
        if (entries.size <= entryLimit) return;
        if (clock.now() - failedAtMs > ageLimitMs) entries.delete(id);
      }
      for (const id of entries.keys()) {
        if (entries.size <= entryLimit) return;
        entries.delete(id);
      }
    },
    get size(): number {
      return entries.size;
    },
    /** In the network's fields, where what failed is called `hostnames` whatever it is; undefined while nothing has failed. */
    view(): Readonly<Record<string, object>> | undefined {
      if (entries.size === 0) return undefined;
      return Object.fromEntries(Array.from(entries, ([id, entry]) => [id, viewOf(entry)]));
    },
  };
}

function viewOf({ lease, count, failedAtMs, last, subjects }: Entry): object {
  return {
    hostnames: [...subjects],
    "last-error": last.message,
    "last-error-type": last.code,
    "failed-at": formatGoTime(failedAtMs),
    "failure-count": count,
    namespace: leaseNamespace(lease),
  };
}
