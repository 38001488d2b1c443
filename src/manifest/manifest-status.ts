/** The state of every lease's manifest in memory, for status and metrics. */
import { deploymentOf, formatDeploymentId, parseLeaseId } from "../market/ids.ts";
import { formatTime } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";

/** Leases without a manifest that the status names. */
const manifestWaitsShown = 20;

type ManifestState = "received" | "withdrawn" | "waiting";

export type ManifestStates = ReturnType<typeof createManifestStates>;

export type ManifestStatus = ReturnType<ManifestStates["status"]>;

export function createManifestStates(onChange: () => void) {
  const leases = new Map<string, { readonly state: ManifestState; readonly dueAtMs: number | undefined }>();
  const count = (wanted: ManifestState) => [...leases.values()].filter(({ state }) => state === wanted).length;
  const counts = { accepted: 0, replayed: 0, refused: 0, failed: 0, withdrawn: 0, restored: 0, timedOut: 0 };
  return {
    counts,
    note(key: string, state: ManifestState, dueAtMs?: number): void {
      const before = leases.get(key);
      leases.set(key, { state, dueAtMs });
      if (before?.state !== state || before.dueAtMs !== dueAtMs) onChange();
    },
    forget(key: string): void {
      if (leases.delete(key)) onChange();
    },
    get deployments(): number {
      return new Set(Array.from(leases.keys(), (key) => formatDeploymentId(deploymentOf(parseLeaseId(key))))).size;
    },
    /** Leases that are closed when their time comes. */
    get watched(): number {
      return [...leases.values()].filter(({ dueAtMs }) => dueAtMs !== undefined).length;
    },
    status() {
      const waits = [...leases].filter(([, { state }]) => state === "waiting");
      const dueOf = (dueAtMs: number | undefined) => dueAtMs ?? Number.POSITIVE_INFINITY;
      waits.sort(([, left], [, right]) => Math.sign(dueOf(left.dueAtMs) - dueOf(right.dueAtMs)) || 0);
      return {
        /** With a lease of ours. */
        deployments: this.deployments,
        leases: leases.size,
        received: count("received"),
        withdrawn: count("withdrawn"),
        waiting: waits.length,
        /** Those that wait for their manifest and until when, the most urgent first. */
        waits: waits.slice(0, manifestWaitsShown).map(([lease, { dueAtMs }]) => {
          return { lease, until: dueAtMs === undefined ? null : formatTime(dueAtMs) };
        }),
      };
    },
  };
}

export function measureManifests(metrics: Metrics, states: ManifestStates): void {
  metrics.readEach("gauge", "provider", [
    ["manifest_manager", "Deployments with a lease of ours", () => states.deployments],
    ["order_watchdog", "Leases that are closed unless their manifest comes in time", () => states.watched],
  ]);
  metrics.readEach("counter", "akash_provider_manifest", [
    ["restored", "Manifests restored from the cluster", () => states.counts.restored],
    ["timeouts", "Leases closed because no manifest came", () => states.counts.timedOut],
  ]);
  const [name, help] = ["akash_provider_manifest_requests_total", "Manifests sent by tenants, by what came of them"];
  metrics.read({ name, help, kind: "counter", labels: ["result"] }, () => {
    const { restored: _, timedOut: __, ...requests } = states.counts;
    return Object.entries(requests).map(([result, count]) => [{ result }, count]);
  });
}
