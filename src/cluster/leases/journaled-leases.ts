/** What the journal knows of leases by itself: which there were when it was last written to, and what they were to run. */
import { manifestDeadline } from "../../journal/deadlines.ts";
import { groupIn, type ManifestRow } from "../../journal/manifests.ts";
import type { TableReads } from "../../journal/tables.ts";
import { parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { hostsWanted } from "./hostnames/hosts-wanted.ts";
import type { LeaseLine } from "./lease-lines.ts";

export function readLeases({ manifests, deadlines }: Pick<TableReads, "manifests" | "deadlines">): LeaseLine[] {
  const sent = manifests.leaseIds();
  const unsent = deadlines.subjects(manifestDeadline).filter((lease) => !sent.includes(lease));
  return [...sent, ...unsent].sort().map((lease) => lineOf(lease, manifests.get(lease)));
}

function lineOf(lease: string, row: ManifestRow | undefined): LeaseLine {
  const id = parseLeaseId(lease);
  const deployed = row?.withdrawnAtMs === undefined ? row?.deployed : undefined;
  // The names that we gave are not in it: they follow from settings.
  const given = { staticHostDomain: undefined };
  const wanted = deployed ? hostsWanted({ lease: id, group: groupIn(deployed.body) }, given) : [];
  const hosts = wanted.map(({ host }) => host).sort();
  return { lease, namespace: leaseNamespace(id), ...stateOf(row), hosts, ageMs: undefined };
}

function stateOf(row: ManifestRow | undefined): Pick<LeaseLine, "state" | "why"> {
  if (!row) return { state: "waiting for manifest" };
  if (row.withdrawnAtMs !== undefined) return { state: "withdrawn" };
  if (row.refusal !== undefined) return { state: "refused", why: row.refusal };
  return { state: row.deployed?.version === row.version ? "deployed" : "deploying" };
}
