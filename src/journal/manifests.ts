/** What tenants sent us to run. It holds their secrets: never logged, never exported, overwritten when deleted. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

export interface NewManifest {
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

export interface ManifestReads {
  get(leaseId: string): Manifest | undefined;
  /** Leases not closed that have a manifest, the earliest first. */
  openLeaseIds(): string[];
}

export interface Manifests extends ManifestReads {
  /** The tenant's newest manifest takes the place of the one before. */
  put(manifest: NewManifest): void;
  close(leaseId: string): void;
  remove(leaseId: string): void;
}

interface Row {
  lease_id: string;
  version: string;
  body: string;
  received_at: number;
  closed_at: number | null;
}

export function createManifests(sql: Sql, clock: Clock): Manifests {
  const get = sql.one<Row>("SELECT * FROM manifests WHERE lease_id = ?");
  const open = sql.all<{ lease_id: string }>("SELECT lease_id FROM manifests WHERE closed_at IS NULL ORDER BY id");
  const put = sql.run(
    `INSERT INTO manifests (lease_id, version, body, received_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (lease_id) DO UPDATE SET
       version = excluded.version, body = excluded.body, received_at = excluded.received_at, closed_at = NULL`,
  );
  const close = sql.run("UPDATE manifests SET closed_at = ? WHERE lease_id = ? AND closed_at IS NULL");
  const remove = sql.run("DELETE FROM manifests WHERE lease_id = ?");
  return {
    get(leaseId) {
      const row = get(leaseId);
      return row && fromRow(row);
    },
    openLeaseIds: () => open().map((row) => row.lease_id),
    put({ leaseId, version, body }) {
      put(leaseId, version, body, clock.now());
    },
    close(leaseId) {
      close(clock.now(), leaseId);
    },
    remove(leaseId) {
      remove(leaseId);
    },
  };
}

function fromRow({ lease_id, version, body, received_at, closed_at }: Row): Manifest {
  return {
    leaseId: lease_id,
    version,
    body,
    receivedAtMs: received_at,
    ...(closed_at !== null && { closedAtMs: closed_at }),
  };
}
