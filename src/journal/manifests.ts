/** What tenants sent us to run. It holds their secrets: never logged, never exported, overwritten when deleted. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

interface NewManifest {
  readonly leaseId: string;
  /** The hash that the chain knows it by. */
  readonly version: string;
  /** The text exactly as it was hashed. */
  readonly body: string;
}

export interface Manifest extends NewManifest {
  readonly receivedAtMs: number;
  /** Set once the lease is closed; only then may it ever be forgotten. */
  readonly closedAtMs?: number;
}

type Row = Omit<Manifest, "closedAtMs"> & { readonly closedAtMs: number | null };

export type Manifests = ReturnType<typeof createManifests>;

export function createManifests(sql: Sql, clock: Clock) {
  const columns = "lease_id AS leaseId, version, body, received_at AS receivedAtMs, closed_at AS closedAtMs";
  const get = sql.one<Row>(`SELECT ${columns} FROM manifests WHERE lease_id = ?`);
  const open = sql.all<{ leaseId: string }>(
    "SELECT lease_id AS leaseId FROM manifests WHERE closed_at IS NULL ORDER BY id",
  );
  const put = sql.run(
    `INSERT INTO manifests (lease_id, version, body, received_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (lease_id) DO UPDATE SET
       version = excluded.version, body = excluded.body, received_at = excluded.received_at, closed_at = NULL`,
  );
  const close = sql.run("UPDATE manifests SET closed_at = ? WHERE lease_id = ? AND closed_at IS NULL");
  const remove = sql.run("DELETE FROM manifests WHERE lease_id = ?");
  return {
    get(leaseId: string): Manifest | undefined {
      const { closedAtMs = null, ...manifest } = get(leaseId) ?? {};
      return "leaseId" in manifest ? { ...manifest, ...(closedAtMs !== null && { closedAtMs }) } : undefined;
    },
    /** Leases not closed that have a manifest, the earliest first. */
    openLeaseIds: () => open().map(({ leaseId }) => leaseId),
    /** The tenant's newest manifest takes the place of the one before. */
    put: ({ leaseId, version, body }: NewManifest) => void put(leaseId, version, body, clock.now()),
    close: (leaseId: string) => void close(clock.now(), leaseId),
    remove: (leaseId: string) => void remove(leaseId),
  };
}
