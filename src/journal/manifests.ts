/** Manifests of tenants, one per lease. They hold secrets: never logged or exported, overwritten when removed. */
import type { ManifestGroup } from "../market/manifest.ts";
import type { Clock } from "../runtime/clock.ts";
import { invariant } from "../runtime/invariant.ts";
import type { Sql } from "./connection.ts";

interface NewManifest {
  readonly leaseId: string;
  /** The hash that the chain knows it by, in lower-case hexadecimal digits. */
  readonly version: string;
  /** A manifest with the one group of this lease, as JSON: `bodyOf`, and back `groupIn`. */
  readonly body: string;
}

export interface ManifestRow extends NewManifest {
  readonly receivedAtMs: number;
  /** When the owner took it back: nothing runs until the next one comes. */
  readonly withdrawnAtMs?: number;
  /** Why the cluster would not have it; what ran before goes on. */
  readonly refusal?: string;
  /** What was last brought to the cluster as a whole: this one, or one from before it. */
  readonly deployed?: { readonly version: string; readonly body: string };
}

/** What is known of a manifest without what is in it: a list of these is small. */
export interface ManifestHead extends Omit<ManifestRow, "body" | "deployed" | "refusal"> {
  readonly isRefused: boolean;
  readonly deployedVersion: string | undefined;
}

type Row = Omit<ManifestRow, "deployed"> & { readonly deployedVersion?: string; readonly deployedBody?: string };

export type ManifestRows = ReturnType<typeof createManifests>;

export function createManifests(sql: Sql, clock: Clock) {
  const get = sql.one<Row>(
    `SELECT lease_id AS leaseId, version, body, received_at AS receivedAtMs, withdrawn_at AS withdrawnAtMs, refusal,
       deployed_version AS deployedVersion, deployed_body AS deployedBody
     FROM manifests WHERE lease_id = ?`,
  );
  const ids = sql.all<{ leaseId: string }>("SELECT lease_id AS leaseId FROM manifests ORDER BY lease_id");
  const heads = sql.all<Omit<ManifestHead, "deployedVersion"> & { readonly deployedVersion?: string }>(
    `SELECT lease_id AS leaseId, version, received_at AS receivedAtMs, withdrawn_at AS withdrawnAtMs,
       refusal IS NOT NULL AS isRefused, deployed_version AS deployedVersion
     FROM manifests`,
    { boolean: ["isRefused"] },
  );
  const put = sql.run(
    `INSERT INTO manifests (lease_id, version, body, received_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (lease_id) DO UPDATE SET version = excluded.version, body = excluded.body,
       received_at = max(excluded.received_at, received_at + 1, coalesce(withdrawn_at, 0) + 1),
       withdrawn_at = NULL, refusal = NULL`,
  );
  const restore = sql.run(
    `INSERT OR REPLACE INTO manifests
       (lease_id, version, body, received_at, withdrawn_at, refusal, deployed_version, deployed_body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const withdraw = sql.run(
    `UPDATE manifests SET withdrawn_at = max(?, received_at + 1), deployed_version = NULL, deployed_body = NULL
     WHERE lease_id = ? AND withdrawn_at IS NULL`,
  );
  const reject = sql.run("UPDATE manifests SET refusal = ? WHERE lease_id = ? AND version = ?");
  const deploy = sql.run(
    `UPDATE manifests SET deployed_version = version, deployed_body = body, refusal = NULL
     WHERE lease_id = ? AND version = ? AND withdrawn_at IS NULL`,
  );
  const remove = sql.run("DELETE FROM manifests WHERE lease_id = ?");
  return {
    get(leaseId: string): ManifestRow | undefined {
      const row = get(leaseId);
      return row && fromRow(row);
    },
    /** Of every lease that has one: there are never more than the cluster has room for. */
    leaseIds: () => ids().map(({ leaseId }) => leaseId),
    heads: () => heads().map(({ deployedVersion, ...head }): ManifestHead => ({ ...head, deployedVersion })),
    /** The newest replaces the one before. Times only grow, also where the clock was set back: other readers compare them. */
    put: ({ leaseId, version, body }: NewManifest) => void put(leaseId, version, body, clock.now()),
    /** One that the journal had lost, as it was found elsewhere. */
    restore: ({ leaseId, version, body, receivedAtMs, withdrawnAtMs, refusal, deployed }: ManifestRow) =>
      void restore(
        leaseId,
        version,
        body,
        receivedAtMs,
        withdrawnAtMs ?? null,
        refusal ?? null,
        deployed?.version ?? null,
        deployed?.body ?? null,
      ),
    /** What ran before is not to come back either. */
    withdraw: (leaseId: string) => void withdraw(clock.now(), leaseId),
    /** Neither this nor the next says anything of a newer one that came meanwhile, nor the next of one taken back meanwhile. */
    noteRejection: (leaseId: string, version: string, reason: string) => void reject(reason, leaseId, version),
    noteDeployed: (leaseId: string, version: string) => void deploy(leaseId, version),
    remove: (leaseId: string) => void remove(leaseId),
  };
}

function fromRow({ deployedVersion: version, deployedBody: body, ...manifest }: Row): ManifestRow {
  return { ...manifest, ...(version !== undefined && body !== undefined && { deployed: { version, body } }) };
}

/** What should run by it: the newest that the cluster takes; undefined where nothing should, or there is none. */
export function manifestToRun(row: ManifestRow | undefined) {
  if (!row || row.withdrawnAtMs !== undefined) return undefined;
  const { version, body, refusal, deployed } = row;
  return refusal === undefined ? { version, body } : deployed;
}

/** What its tenant wants to run: also what the cluster rejects, where nothing ran before. */
export function manifestWanted(row: ManifestRow | undefined) {
  return manifestToRun(row) ?? (row?.withdrawnAtMs === undefined ? row : undefined);
}

/** Of one that the journal lost, or never had, as the cluster has it: it runs there, or was taken back. */
export function restoredRow(
  leaseId: string,
  { version, group, receivedAtMs, withdrawnAtMs }: FoundManifest,
): ManifestRow {
  const body = manifestBody(group);
  const found = { leaseId, version, body, receivedAtMs };
  return { ...found, ...(withdrawnAtMs === undefined ? { deployed: { version, body } } : { withdrawnAtMs }) };
}

interface FoundManifest extends Pick<ManifestRow, "version" | "receivedAtMs"> {
  readonly group: ManifestGroup;
  readonly withdrawnAtMs?: number | undefined;
}

export function manifestBody(group: ManifestGroup): string {
  return JSON.stringify([group]);
}

export function groupIn(body: string): ManifestGroup {
  const [group] = JSON.parse(body) as ManifestGroup[];
  invariant(group, "a manifest in the journal has the group of its lease");
  return group;
}
